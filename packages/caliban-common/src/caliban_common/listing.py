"""Files that people put into a folder for a program to find: by name, none read, and none outside of it.

A folder that is not there holds none. What is left out is named.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from caliban_common.text import one_line

MAX_FILES: Final = 256
"""Of one folder: each costs a read."""
MAX_ENTRIES: Final = 4096
"""So many names of a folder are looked at."""
PART: Final = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
"""A name that can be typed."""


class FoundFiles(Struct, frozen=True, kw_only=True):
    """Paths in the order of their names, and what was left out, each beginning with its place."""

    paths: tuple[Path, ...] = ()
    problems: tuple[str, ...] = ()


def files_in_folders(folder: Path, name: str) -> FoundFiles:
    """The files called `name` in the folders of `folder`."""
    paths: list[Path] = []
    problems: list[str] = []
    for entry in _names(folder, problems):
        path = folder / entry / name
        if os.path.lexists(path) and _is_inside(path, folder, problems):
            paths.append(path)
    return _bounded(paths, problems, folder)


def markdown_files(folder: Path, *, max_depth: int = 1) -> FoundFiles:
    """The files `*.md` in `folder` and its folders, down to `max_depth`; links to folders are not taken."""
    problems: list[str] = []
    return _bounded(list(_below(folder, folder, problems, max_depth)), problems, folder)


def _below(top: Path, folder: Path, problems: list[str], depth: int) -> Iterator[Path]:
    for name in _names(folder, problems):
        path = folder / name
        if name.endswith(".md"):
            if re.fullmatch(PART, name.removesuffix(".md")) is None:
                problems.append(f"{_shown(path)}: its name must be letters, digits, - and _")
            elif _is_inside(path, top, problems):
                yield path
        elif depth > 1 and re.fullmatch(PART, name) and path.is_dir() and not path.is_symlink():
            yield from _below(top, path, problems, depth - 1)


def _names(folder: Path, problems: list[str]) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_ENTRIES + 1), strict=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []  # most folders are not there
    except (OSError, ValueError) as error:
        problems.append(f"{_shown(folder)}: {getattr(error, 'strerror', None) or error}")
        return []
    if len(names) > MAX_ENTRIES:
        problems.append(f"{_shown(folder)}: it holds more than {MAX_ENTRIES:,} entries; the rest is left out")
    return sorted(name for name in names[:MAX_ENTRIES] if not name.startswith("."))


def _is_inside(path: Path, folder: Path, problems: list[str]) -> bool:
    """Whether no link leads out of `folder`; one that does is named."""
    try:
        if path.resolve().is_relative_to(folder.resolve()):
            return True
    except (OSError, RuntimeError, ValueError):
        pass
    problems.append(f"{_shown(path)}: it is a link to outside of {_shown(folder)}")
    return False


def _bounded(paths: list[Path], problems: list[str], folder: Path) -> FoundFiles:
    if len(paths) > MAX_FILES:
        more = len(paths) - MAX_FILES
        problems.append(f"{_shown(folder)}: {more} more than {MAX_FILES} files are left out")
    return FoundFiles(paths=tuple(paths[:MAX_FILES]), problems=tuple(problems))


def _shown(path: Path) -> str:
    return one_line(str(path), max_chars=200)
