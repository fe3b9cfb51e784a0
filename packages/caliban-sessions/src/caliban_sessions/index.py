"""The index of a directory of sessions: the heads of all files as they were when they were last looked at.

It is a cache. One that is lost, damaged or older than the files costs a look at these, and nothing else: a
head counts only while its files are what it was made from, and the index only while it is what was written.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular, write_atomic
from caliban_sessions.errors import SessionUnreadable
from caliban_sessions.files import SessionFiles
from caliban_sessions.head import read_head
from caliban_sessions.name import is_name
from caliban_sessions.state import SessionHead

NAME: Final = ".index"
"""No name of a session: these have no dot."""
VERSION: Final = 3
WORTH: Final = 100
"""From so many sessions on, the index is quicker than the files."""
STALE: Final = 200
"""What part of the files may have changed before the index is written anew: one in so many."""
MAX_BYTES: Final = 1 << 28
SUM_BYTES: Final = 4
SETTLED_NS: Final = 2_000_000_000
"""How long a file must have been as it is: a second change within one tick of its clock leaves no trace."""
LAST_64_BITS: Final = (1 << 64) - 1

Mark: TypeAlias = tuple[str, int, int, int, int]
"""Of a file: its name, when its content and when anything of it changed last (ns, the first as the last 64
bits of it, for anybody may set it to any year), its size in bytes, its number."""


class IndexFile(Struct, frozen=True, kw_only=True, array_like=True):
    """What is in the file of an index: `marks` as `_packed` gives them, and `heads` as JSON, newest first.

    While one comparison says that all marks are as they were, nobody takes them apart.
    """

    version: int
    marks: bytes
    heads: memoryview


def heads_in(directory: Path, *, at_ns: int) -> list[SessionHead]:
    """The heads of all sessions in `directory`, the one used last first; damaged files have a `problem`.

    `at_ns` is the time by the clock of the files: what changed just before it is looked at again next time.
    Raises `SessionUnreadable` where the system lets nobody look.
    """
    packed = _packed(_marks(directory))
    known, heads = _read(directory / NAME)
    if packed == known:
        return heads
    marks = _unpacked(packed)
    differing = {_session(mark) for mark in set(_unpacked(known)).symmetric_difference(marks)}
    changed = {name for name in differing if is_name(name)}
    if not changed:
        return heads
    fresh = (read_head(SessionFiles(directory, name)) for name in changed)
    heads = [head for head in heads if head.name not in changed]
    heads += (head for head in fresh if head is not None)
    heads.sort(key=attrgetter("updated_at", "name"), reverse=True)
    moving = {_session(mark) for mark in marks if max(mark[1:3]) > at_ns - SETTLED_NS}
    if len(heads) >= WORTH and len(changed - moving) > len(heads) // STALE:
        settled = _packed(mark for mark in marks if _session(mark) not in moving)
        _write(directory / NAME, settled, [head for head in heads if head.name not in moving])
    return heads


def _marks(directory: Path) -> Iterator[Mark]:
    """What each file is now that may be one of a session. No link is followed. Raises `SessionUnreadable`."""
    try:
        with os.scandir(directory) as files:
            for file in files:
                name = file.name
                if name.endswith((".json", ".journal")) and name.isascii():
                    try:
                        status = file.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue  # it went meanwhile
                    modified_ns = status.st_mtime_ns & LAST_64_BITS
                    yield name, modified_ns, status.st_ctime_ns, status.st_size, status.st_ino
    except PermissionError as error:
        raise SessionUnreadable(
            f"cannot look at {directory}: permission denied",
            hint="look whose it is, and each folder above it",
            path=directory,
        ) from error
    except OSError:
        pass  # there is none yet: the first session that is opened says why there cannot be one


def _session(mark: Mark) -> str:
    return mark[0].rpartition(".")[0]


def _packed(marks: Iterable[Mark]) -> bytes:
    return msgspec.msgpack.encode(tuple(marks))


def _unpacked(packed: bytes) -> list[Mark]:
    return msgspec.msgpack.decode(packed, type=list[Mark])


def _read(path: Path) -> tuple[bytes, list[SessionHead]]:
    """The marks of the index, packed, and its heads; none of either where it is not what was written."""
    nothing = _packed(()), list[SessionHead]()
    if os.path.islink(path):  # noqa: PTH114 - says nothing of what nobody may look at
        return nothing
    try:
        data = memoryview(read_regular(path, max_bytes=MAX_BYTES))
        if _sum(data[SUM_BYTES:]) != data[:SUM_BYTES]:
            return nothing
        index = msgspec.msgpack.decode(data[SUM_BYTES:], type=IndexFile)
        if index.version != VERSION:
            return nothing
        return index.marks, msgspec.json.decode(index.heads, type=list[SessionHead])
    except (CalibanError, msgspec.DecodeError, ValueError, RecursionError):
        return nothing


def _write(path: Path, marks: bytes, heads: list[SessionHead]) -> None:
    try:
        index = IndexFile(version=VERSION, marks=marks, heads=memoryview(msgspec.json.encode(heads)))
        data = msgspec.msgpack.encode(index)
        write_atomic(path, _sum(data) + data, mode=0o600, durable=False)
    except (CalibanError, ValueError):
        pass  # the next list reads the files again


def _sum(data: bytes | memoryview) -> bytes:
    from binascii import crc32

    return crc32(data).to_bytes(SUM_BYTES, "big")
