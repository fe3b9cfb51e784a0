"""Ignore files that are no files: a pipe or a device of such a name, which ripgrep would read without end.

A repository can bring one along: `.ignore` as a link to `/dev/zero` fills the memory, and one that is a pipe
is waited for. Where there is one, the search in Python answers, which opens no such thing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

NAMES: Final = (".gitignore", ".ignore", ".rgignore")
EXCLUDE: Final = ".git/info/exclude"
_VIEWS: Final = ("/proc/", "/sys/", "/dev/")


class RulesAround(Struct, frozen=True, kw_only=True):
    """What ignore files there are in a directory, and above it.

    `odd` is the first that must not be read; `above` says whether there may be one in a directory above.
    """

    odd: str | None = None
    above: bool = True


def rules_around(base: str, *, parents: bool) -> RulesAround:
    """The ignore files of `base`, and with `parents` of the directories above it."""
    try:
        whole = Path(os.path.realpath(base))
    except OSError:  # a link that vanished between two looks at it: there is nothing to look at
        return RulesAround()
    above = False
    for folder in (whole, *(whole.parents if parents else ())):
        for name in (*NAMES, EXCLUDE):
            mode = _mode(path := f"{folder}/{name}")
            if mode is not None and _is_odd(path, mode):
                return RulesAround(odd=path)
            above = above or (mode is not None and folder is not whole)
    return RulesAround(above=above)


def odd_rules_below(base: str, is_over: Callable[[], bool]) -> str | None:
    """Likewise for all directories below `base`; gives up once `is_over` says so."""
    folders = [base]
    while folders and not is_over():
        folder = folders.pop()
        for entry in _entries(folder):
            if entry.is_dir(follow_symlinks=False):
                if entry.name == ".git" and _is_odd(f"{folder}/{EXCLUDE}"):
                    return f"{folder}/{EXCLUDE}"
                folders.append(entry.path)
            elif entry.name in NAMES and _is_odd(entry.path):
                return entry.path
    return None


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from entries
    except OSError:
        return


def _mode(path: str) -> int | None:
    """What is there; 0 where nobody can tell, and `None` where there is nothing."""
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    except OSError:  # a directory that is closed to us, or a `.git` that is a file and leads elsewhere
        return 0


def _is_odd(path: str, mode: int | None = None) -> bool:
    """Whether what is there, of that `mode`, is neither a file nor a directory, or only looks like a file."""
    mode = _mode(path) if mode is None else mode
    if not mode or stat.S_ISREG(mode):
        return False
    if not stat.S_ISLNK(mode):
        return not stat.S_ISDIR(mode)
    try:
        place = Path(path).resolve(strict=True)
        return not (place.is_file() or place.is_dir()) or str(place).startswith(_VIEWS)
    except (OSError, RuntimeError):  # it leads nowhere, or in a circle
        return False
