"""What the package of memory is told: loaded with it, where there is any."""

from __future__ import annotations

from pathlib import Path

from caliban.compose.memory.places import MemoryPlaces
from caliban_memory import MemoryCaps, MemoryFailed, MemoryOptions, project_root
from caliban_memory.approvals import ImportApprovals
from caliban_memory.values import MAX_COMBINED_TOKENS, Approve


def memory_options(places: MemoryPlaces, problems: list[str] | None = None) -> MemoryOptions:
    """The options of `caliban_memory`; `problems` hears of approvals that cannot be read."""
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
        approve=_approve(places, [] if problems is None else problems),
    )


def _approve(places: MemoryPlaces, problems: list[str]) -> Approve:
    """Says what may be imported from outside: the file of approvals is read when somebody asks."""
    if places.approves or places.approvals is None:
        return lambda importer, target: places.approves
    file = places.approvals

    def approve(importer: Path, target: Path) -> bool | str:
        try:
            return ImportApprovals(file).find(project_root(places.workspace), target) or False
        except MemoryFailed as error:
            if error.message not in problems:
                problems.append(error.message)
            return False

    return approve
