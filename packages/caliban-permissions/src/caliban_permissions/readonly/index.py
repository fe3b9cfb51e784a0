"""The names in the index of a repository, as far as its format is one that is known."""

from __future__ import annotations

import struct
from pathlib import Path

_HEADER = struct.Struct(">4sLL")
_VERSIONS = (2, 3)
_STAT_BYTES = 40
_MODE_AT = 24
_HASH_BYTES = (20, 32)
_MODES = frozenset({0o100644, 0o100755, 0o120000, 0o100664})
_LONGER = 0x4000
"""The flag of an entry that has two bytes of flags more."""

_MAX_BYTES = 4_000_000
_MAX_ENTRIES = 20_000


def index_names(index: Path) -> tuple[str, ...] | None:
    """The names in an index, none where there is no index; `None` for one that cannot be read in full."""
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
        names = _entries(data, count, size)
        if names is not None:
            return names
    return None


def _entries(data: bytes, count: int, size: int) -> tuple[str, ...] | None:
    names: list[str] = []
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
        names.append(data[start:end].decode("utf-8", "surrogateescape"))
        at += (end - at + 8) & ~7
    return tuple(names)
