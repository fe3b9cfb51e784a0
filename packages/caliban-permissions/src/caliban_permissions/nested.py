"""Protected names below the top of a directory: those of repositories and projects within, for a sandbox."""

from __future__ import annotations

import os
from collections import deque
from typing import Final

from msgspec import Struct

from caliban_permissions.protected import READ_BY_THEMSELVES

MAX_DIRECTORIES: Final = 2000
"""How many are looked into, the highest first: some 30 ms."""
MAX_DEPTH: Final = 8
MAX_PATHS: Final = 64
"""Each of them is a mount of every call."""
_REPOSITORY: Final = ".git"
_NAMES: Final = frozenset(name for name in READ_BY_THEMSELVES if "/" not in name)
_OF_A_PROJECT: Final = (".caliban", ".claude", ".mcp.json", ".envrc", ".caliban.toml", "caliban.toml")
"""What would take effect as soon as somebody works in a repository within: not to be made there either."""
NOT_OURS: Final = frozenset(
    ("node_modules", "site-packages", "__pycache__", ".venv", "venv", ".tox", ".nox", "target", ".cache")
)
"""Not looked into: what package managers and compilers fill."""


class NestedEntries(Struct, frozen=True, kw_only=True):
    """The protected `paths` below `root`; `cut` says why there may be more, and is else empty."""

    root: str
    paths: tuple[str, ...]
    cut: str = ""


def nested_entries(root: str) -> NestedEntries:
    """Look below the directory `root`, which is canonical, and not at its own entries.

    Links are not followed, and none of them is among the paths: nothing can be mounted on one.
    """
    paths: dict[str, None] = {}
    waiting: deque[tuple[str, int]] = deque([(root, 0)])
    looked = 0
    deeper = False
    while waiting and looked < MAX_DIRECTORIES and len(paths) <= MAX_PATHS:
        folder, depth = waiting.popleft()
        looked += 1
        for name, is_folder in _entries(folder):
            if depth and name.lower() in _NAMES:
                paths[f"{folder}/{name}"] = None
                if name == _REPOSITORY:
                    paths.update((f"{folder}/{other}", None) for other in _OF_A_PROJECT)
            elif is_folder and name.lower() not in _NAMES and name not in NOT_OURS:
                deeper = deeper or depth >= MAX_DEPTH
                if depth < MAX_DEPTH:
                    waiting.append((f"{folder}/{name}", depth + 1))
    cut = _cut(len(paths), bool(waiting) or deeper)
    return NestedEntries(root=root, paths=tuple(paths)[:MAX_PATHS], cut=cut)


def _cut(count: int, is_left: bool) -> str:
    if count > MAX_PATHS:
        return f"there are more than {MAX_PATHS}"
    return (
        f"more than {MAX_DIRECTORIES} directories, or more than {MAX_DEPTH} levels of them" if is_left else ""
    )


def _entries(folder: str) -> list[tuple[str, bool]]:
    """The names in a directory that are no links, and whether each is a directory."""
    try:
        with os.scandir(folder) as entries:
            plain = [entry for entry in entries if not entry.is_symlink()]
            return sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in plain)
    except OSError:
        return []
