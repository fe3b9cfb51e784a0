"""Links to files below a directory: the program that searches lists none, and people mean them by name.

Directories that hold a listed file are not ignored; of the others the ignore files decide, read only then.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path
from time import monotonic

from caliban_tools_builtin.search.engine import Query

MAX_SECONDS = 1.0


def linked_files(
    base: str, query: Query, listed: Collection[str], fits: Callable[[str], object]
) -> list[str]:
    """The links below `base` to regular files whose path `fits` and which no ignore file hides.

    `listed` are the files that the search found there. Linked directories are not entered. Stops after a
    second: a tree so large has been searched for files all the same.
    """
    live = {path[:at] for path in listed for at in _slashes(path)}
    found: list[str] = []
    open_ones = [""]
    deadline = monotonic() + MAX_SECONDS
    while open_ones and monotonic() < deadline:
        here = open_ones.pop()
        try:
            entries = list(os.scandir(f"{base}/{here}"))
        except OSError:
            continue
        for entry in entries:
            path = f"{here}{entry.name}"
            if entry.name == ".git" or (entry.name.startswith(".") and not query.hidden):
                continue
            if entry.is_symlink():
                if fits(path) and entry.is_file() and not _is_ignored(base, path, query, directory=False):
                    found.append(path)
                continue
            enters = entry.is_dir(follow_symlinks=False) and not _is_too_deep(path, query)
            if enters and (path in live or not _is_ignored(base, path, query, directory=True)):
                open_ones.append(f"{path}/")
    return found


def _slashes(path: str) -> list[int]:
    return [at for at, char in enumerate(path) if char == "/"]


def _is_too_deep(path: str, query: Query) -> bool:
    return query.depth is not None and path.count("/") + 1 >= query.depth


def _is_ignored(base: str, path: str, query: Query, *, directory: bool) -> bool:
    """Whether an ignore file of a directory between the outermost and `path` hides it."""
    from caliban_tools_builtin.search.scan import ignore_rules, is_ignored

    whole = os.path.normpath(f"{os.path.realpath(base)}/{path}")
    above = [str(parent) for parent in reversed(Path(whole).parents)]
    if not query.parents:
        root = os.path.realpath(base)
        above = [folder for folder in above if folder == root or folder.startswith(root + "/")]
    return is_ignored(whole, directory, tuple(ignore_rules(folder) for folder in above))
