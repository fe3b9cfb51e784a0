"""Folders in which plugins are: a person's own, those of a workspace, and the administrator's."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from caliban_common.errors import CalibanError
from caliban_common.paths import data_dir
from caliban_plugins import (
    PluginStore,
    capabilities,
    read_plugin,
    read_tree,
    tree_digest,
)
from caliban_plugins.capability import Capability

OWN: Final = "plugins"
"""The folder of the administrator's plugins, beside the managed settings."""
MAX_PLUGINS: Final = 64
"""Folders of plugins that are looked at in one place."""
OWN_NAMES: Final = ("trees", "marketplaces", "data")
"""What else lies in the folder of a person's plugins."""


def plugin_store() -> PluginStore:
    """The plugins of this person."""
    return PluginStore(data_dir() / "plugins")


def folders_in(folder: Path, within: Path, problems: list[str]) -> tuple[Path, ...]:
    """The folders in `folder`, which no link may lead out of `within`."""
    try:
        if not folder.resolve().is_relative_to(within.resolve()):
            problems.append(f"{folder} is a link to outside of {within}: its plugins are left out")
            return ()
        paths = sorted(path for path in folder.iterdir() if path.is_dir() and path.name[:1] != ".")
    except (OSError, RuntimeError) as error:
        problems.append(f"the plugins in {folder} are left out: {error}")
        return ()
    if len(paths) > MAX_PLUGINS:
        problems.append(f"{len(paths) - MAX_PLUGINS} more plugins in {folder} are left out")
    return tuple(paths[:MAX_PLUGINS])


def folder_digest(path: Path) -> str:
    """The digest of all of a plugin. Raises `CalibanError`."""
    return tree_digest(read_tree(path))


def folder_words(path: Path) -> str:
    """What a plugin would do, for a person."""
    try:
        return "\n".join(part_lines(capabilities(read_plugin(path), read_tree(path))))
    except CalibanError as error:
        return error.message


def part_lines(parts: tuple[Capability, ...]) -> list[str]:
    """The parts of a plugin in lines, what acts by itself first and whole."""
    lines: list[str] = []
    for part in parts:
        mark = "! " if part.acts else "  "
        words = part.shown.splitlines() or [""]
        first = f" {words[0]}" if words[0] and len(words) == 1 else ""
        lines.append(f"{mark}{part.kind} {part.name}{':' if first else ''}{first}".rstrip())
        lines += (f"      {line}" for line in (words if not first else ()) if line)
    return lines
