"""What the package of memory is told: loaded with it, where there is any."""

from __future__ import annotations

from caliban.compose.memoryplaces import MemoryPlaces
from caliban_memory import MemoryCaps, MemoryOptions
from caliban_memory.values import MAX_COMBINED_TOKENS


def memory_options(places: MemoryPlaces) -> MemoryOptions:
    """The options of `caliban_memory`."""
    combined = places.cap_combined
    caps = MemoryCaps(
        auto=places.cap_auto,
        claude_md=places.cap_claude_md,
        combined=MAX_COMBINED_TOKENS if combined is None else combined,
    )
    return MemoryOptions(
        workspace=places.workspace,
        of_project=places.of_project,
        config_dir=places.config_dir,
        managed_dir=places.managed_dir,
        auto_dir=places.auto_dir,
        walks=places.walks,
        excludes=places.excludes,
        additional=places.additional,
        caps=caps,
        approve=lambda importer, target: places.approves,
    )
