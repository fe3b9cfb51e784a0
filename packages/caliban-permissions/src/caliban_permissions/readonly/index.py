"""The names in the index of a repository, as far as its format is one that is known."""

from __future__ import annotations

import os
import struct
from pathlib import Path

from msgspec import Struct

_HEADER = struct.Struct(">4sLL")
_VERSIONS = (2, 3)
_STAT_BYTES = 40
_STATED = struct.Struct(">8xLL")
_SIZED = struct.Struct(">36xL")
_MODE_AT = 24
_HASH_BYTES = (20, 32)
_MODES = frozenset({0o100644, 0o100755, 0o120000, 0o100664})
_LINK = 0o120000
_LONGER = 0x4000
"""The flag of an entry that has two bytes of flags more."""

_MAX_BYTES = 4_000_000
_MAX_ENTRIES = 20_000


class IndexEntry(Struct, frozen=True):
    """A file of an index: its name, its content, and the state in which it was last found to be the same."""

    name: str
    id: bytes
    link: bool
    seconds: int
    nanoseconds: int
    size: int

    def differs(self, path: str) -> bool:
        """Whether the file at `path` may be another by now: by its size or its time, as git looks first."""
        try:
            status = os.lstat(path)
        except (OSError, ValueError):
            return True
        seconds, nanoseconds = divmod(status.st_mtime_ns, 1_000_000_000)
        same_time = (self.seconds, self.nanoseconds) == (seconds & 0xFFFFFFFF, nanoseconds)
        return not same_time or self.size != status.st_size & 0xFFFFFFFF


def index_names(index: Path) -> tuple[str, ...] | None:
    """The names in an index, none where there is no index; `None` for one that cannot be read in full."""
    entries = index_entries(index)
    return None if entries is None else tuple(entry.name for entry in entries)


def index_entries(index: Path) -> tuple[IndexEntry, ...] | None:
    """The files in an index, as `index_names`."""
    try:
        if index.stat().st_size > _MAX_BYTES:
            return None
        data = index.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError:
        return None
    if len(data) < _HEADER.size:
        return None
    signature, version, count = _HEADER.unpack_from(data)
    if signature != b"DIRC" or version not in _VERSIONS or count > _MAX_ENTRIES:
        return None
    for size in _HASH_BYTES:
        entries = _entries(data, count, size)
        if entries is not None:
            return entries
    return None


def _entries(data: bytes, count: int, size: int) -> tuple[IndexEntry, ...] | None:
    entries: list[IndexEntry] = []
    at = _HEADER.size
    fixed = _STAT_BYTES + size + 2
    for _ in range(count):
        if at + fixed >= len(data):
            return None
        (mode,) = struct.unpack_from(">L", data, at + _MODE_AT)
        (flags,) = struct.unpack_from(">H", data, at + fixed - 2)
        if mode not in _MODES:
            return None
        start = at + fixed + (2 if flags & _LONGER else 0)
        end = data.find(b"\0", start)
        if end <= start:
            return None
        name = data[start:end].decode("utf-8", "surrogateescape")
        entries.append(
            IndexEntry(
                name,
                data[at + _STAT_BYTES : at + _STAT_BYTES + size],
                mode == _LINK,
                *_STATED.unpack_from(data, at),
                *_SIZED.unpack_from(data, at),
            )
        )
        at += (end - at + 8) & ~7
    return tuple(entries)
