"""Reads one file of memory, or says why not: a pipe, a device, a link that leads out, what is no text."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec import Struct

from caliban_common.decoding import decode_text
from caliban_common.errors import CalibanError
from caliban_common.files import read_canonical
from caliban_common.text import clean
from caliban_memory.errors import MemoryFileRefused
from caliban_memory.values import MAX_FILE_BYTES

MAX_TOTAL_BYTES = 8 << 20
"""Of all files of one session: more than any budget lets through."""


class ReadFence(Struct, frozen=True, kw_only=True):
    """The canonical directories that a file may lie in, links resolved; `open` ones may lead anywhere."""

    roots: tuple[Path, ...] = ()
    open: bool = False

    def admits(self, canonical: Path) -> bool:
        """Whether the path lies within."""
        return self.open or any(canonical == root or canonical.is_relative_to(root) for root in self.roots)


class MemoryReader:
    """Reads the files of one session, up to a size of all together."""

    def __init__(self) -> None:
        self._left_bytes = MAX_TOTAL_BYTES

    def read(self, path: Path, fence: ReadFence) -> tuple[Path, str]:
        """The canonical path and the text, without a byte order mark. Raises `MemoryFileRefused`."""
        canonical = canonical_of(path)
        if not fence.admits(canonical):
            raise MemoryFileRefused(f"it is a link that leads out of the project, to {canonical}")
        try:
            data = read_canonical(canonical, max_bytes=min(MAX_FILE_BYTES, self._left_bytes))
            text = decode_text(data)
        except CalibanError as error:
            raise MemoryFileRefused(
                error.message.removeprefix(f"{canonical} ").removeprefix("is ")
            ) from error
        if canonical_of(path) != canonical:
            raise MemoryFileRefused("it changed while it was read")
        if "\0" in text:
            raise MemoryFileRefused("not text: it has NUL bytes")
        self._left_bytes -= len(data)
        return canonical, clean(text.replace("\r\n", "\n"))


def canonical_of(path: Path) -> Path:
    """`path` without links. Raises `MemoryFileRefused` for a loop of them, and for what is no path."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise MemoryFileRefused(reason) from error


def is_there(path: Path) -> bool:
    """Whether anything has this name, a broken link included."""
    try:
        path.lstat()
    except (OSError, ValueError):
        return False
    return True


def is_foreign(path: Path) -> bool:
    """Whether somebody else owns it, other than the system: what they write is not this user's."""
    if os.name != "posix":
        return False
    try:
        return path.stat().st_uid not in (0, os.geteuid())
    except OSError:
        return False
