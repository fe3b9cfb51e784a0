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

NAMES: Final = (".gitignore", ".ignore", ".rgignore")
EXCLUDE: Final = ".git/info/exclude"
_VIEWS: Final = ("/proc/", "/sys/", "/dev/")


def odd_rules_at(base: str, *, parents: bool) -> str | None:
    """The first ignore file in `base`, or with `parents` in a directory above it, that must not be read."""
    try:
        whole = Path(os.path.realpath(base))
    except OSError:  # a link that vanished between two looks at it: there is nothing to look at
        return None
    for folder in (whole, *(whole.parents if parents else ())):
        for name in (*NAMES, EXCLUDE):
            if _is_odd(path := f"{folder}/{name}"):
                return path
    return None


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


def _is_odd(path: str) -> bool:
    """Whether something is there that is neither a file nor a directory, or only looks like a file."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISREG(mode):
            return False
        if not stat.S_ISLNK(mode):
            return not stat.S_ISDIR(mode)
        place = Path(path).resolve(strict=True)
        return not (place.is_file() or place.is_dir()) or str(place).startswith(_VIEWS)
    except (OSError, RuntimeError):  # it leads nowhere, or in a circle
        return False
