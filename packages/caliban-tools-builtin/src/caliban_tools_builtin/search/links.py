"""Links to files below a directory: the program that searches lists none, and people mean them by name.

They are looked for while that program runs, in whatever may hold some; what ignore files hide is sorted out
afterwards, when it is known which directories hold a listed file and so are not ignored.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct, field

from caliban_tools_builtin.search.engine import Query

if TYPE_CHECKING:
    from caliban_tools_builtin.search.scan import IgnoreRules

MAX_SECONDS = 1.0
MAX_ENTRIES = 20_000
"""Of a larger tree the part is looked through that is nearest to its root."""

MANY = 500
"""A directory with more entries may be one that is ignored: that is looked up before it is gone through."""


def links(base: str, query: Query, fits: Callable[[str], object]) -> list[str]:
    """The links below `base` to regular files whose path `fits`, ignored ones among them.

    Linked directories are not entered. Level by level, at most `MAX_ENTRIES`, and for a second: a tree so
    large has been searched for files all the same.
    """
    paths: list[str] = []
    ignores = _Ignores(base, query)
    open_ones = deque([""])
    deadline = monotonic() + MAX_SECONDS
    looked_at = 0
    while open_ones and looked_at < MAX_ENTRIES and monotonic() < deadline:
        here = open_ones.popleft()
        inside = _inside(f"{base}/{here}")
        looked_at += inside.count
        is_first = here.count("/") == 1
        if here and (is_first or inside.count > MANY) and ignores.hide(here[:-1], directory=True):
            continue
        for name in inside.links:
            path = f"{here}{name}"
            if _is_shown(name, query) and fits(path) and _leads_to_file(f"{base}/{path}"):
                paths.append(path)
        if not _is_too_deep(here, query):
            open_ones += [f"{here}{name}/" for name in inside.folders if _is_shown(name, query)]
    return paths


def not_ignored(
    base: str, query: Query, found: Iterable[str], listed: Callable[[], Collection[str]]
) -> list[str]:
    """Those of the links that no ignore file hides; the directories that are `listed` are not hidden."""
    ignores = _Ignores(base, query)
    live = listed()
    hidden: dict[str, bool] = {}

    def is_hidden(folder: str) -> bool:
        if folder not in hidden:
            hidden[folder] = folder not in live and ignores.hide(folder, directory=True)
        return hidden[folder]

    kept = []
    for path in found:
        if any(is_hidden(path[:at]) for at in _slashes(path)):
            continue
        if not ignores.hide(path, directory=False):
            kept.append(path)
    return kept


class Inside(Struct, frozen=True, kw_only=True):
    """What is in one directory: how many entries, the names of its links and of its directories."""

    count: int = 0
    links: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)


def _inside(folder: str) -> Inside:
    """What is in a directory; nothing where it cannot be read.

    By a handle, where that can be: to make a whole path for each entry is a third of the work.
    """
    by_handle = os.scandir in os.supports_fd
    try:
        place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) if by_handle else folder
    except OSError:
        return Inside()
    try:
        with os.scandir(place) as scan:
            entries = list(scan)
        links = [entry.name for entry in filter(os.DirEntry.is_symlink, entries)]
        folders = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        return Inside(count=len(entries), links=links, folders=folders)
    except OSError:
        return Inside()
    finally:
        if isinstance(place, int):  # not before: some file systems have each entry asked about by it
            os.close(place)


def _leads_to_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # it leads nowhere, in a loop, or through what is no directory
        return False


def _is_shown(name: str, query: Query) -> bool:
    return name != ".git" and (query.hidden or not name.startswith("."))


def _slashes(path: str) -> list[int]:
    return [at for at, char in enumerate(path) if char == "/"]


def _is_too_deep(here: str, query: Query) -> bool:
    """Whether what lies in the directories in `here` is deeper than was asked for."""
    return query.depth is not None and here.count("/") + 1 >= query.depth


def _real(base: str) -> str:
    try:
        return os.path.realpath(base)
    except OSError:  # a link that vanished between two looks at it: what is found is looked at again
        return base


class _Ignores:
    """The ignore files of the directories from the outermost to those below `base`, each read once."""

    def __init__(self, base: str, query: Query) -> None:
        self._root = _real(base)
        self._parents = query.parents
        self._rules: dict[str, IgnoreRules] = {}

    def hide(self, path: str, *, directory: bool) -> bool:
        """Whether one of them hides `path`."""
        from caliban_tools_builtin.search.scan import is_ignored

        whole = os.path.normpath(f"{self._root}/{path}")
        above = [str(parent) for parent in reversed(Path(whole).parents)]
        if not self._parents:
            above = [
                folder for folder in above if folder == self._root or folder.startswith(self._root + "/")
            ]
        return is_ignored(whole, directory, tuple(map(self._rules_of, above)))

    def _rules_of(self, folder: str) -> IgnoreRules:
        from caliban_tools_builtin.search.scan import ignore_rules

        if folder not in self._rules:
            self._rules[folder] = ignore_rules(folder)
        return self._rules[folder]
