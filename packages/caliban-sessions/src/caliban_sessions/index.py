"""The index of a directory of sessions: the heads of all files as they were when they were last looked at.

It is a cache. One that is lost, damaged or older than the files costs a look at these, and nothing else: each
entry counts only while both files have the times, sizes and numbers that it was made from.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular, write_atomic
from caliban_sessions.files import SessionFiles
from caliban_sessions.head import read_head
from caliban_sessions.name import is_name
from caliban_sessions.state import SessionHead

NAME: Final = ".index"
"""No name of a session: these have no dot."""
VERSION: Final = 2
WORTH: Final = 100
"""From so many sessions on, the index is quicker than the files."""
STALE: Final = 200
"""What part of the files may have changed before the index is written anew: one in so many."""
MAX_BYTES: Final = 1 << 28

Mark: TypeAlias = tuple[int, int, int]
"""Of a file: when it was written (ns), its size in bytes, its number."""
Marks: TypeAlias = tuple[Mark | None, Mark | None]
"""Of the session file and of its journal."""


class IndexEntry(Struct, frozen=True, kw_only=True, array_like=True):
    """A head, and what its files were when it was read."""

    marks: Marks
    head: SessionHead


class IndexFile(Struct, frozen=True, kw_only=True):
    """What is in the file of an index."""

    version: int
    entries: tuple[IndexEntry, ...]


def heads_in(directory: Path) -> list[SessionHead]:
    """The heads of all sessions in `directory`; those of damaged files have a `problem`.

    What the index knows comes first, the one used last in front: who sorts it finds it sorted.
    """
    known = _read(directory / NAME)
    marks = _marks(directory, known)
    entries: list[IndexEntry] = []
    changed = 0
    for name, entry in known.items():
        if marks.get(name) == entry.marks:
            del marks[name]
            entries.append(entry)
        else:
            changed += name not in marks
    for name, of_files in marks.items():
        head = read_head(SessionFiles(directory, name))
        if head is not None:
            entries.append(IndexEntry(marks=of_files, head=head))
            changed += 1
    if len(entries) >= WORTH and changed > len(entries) // STALE:
        entries.sort(key=lambda entry: (entry.head.updated_at, entry.head.name), reverse=True)
        _write(directory / NAME, entries)
    return [entry.head for entry in entries]


def _marks(directory: Path, known: Mapping[str, IndexEntry]) -> dict[str, Marks]:
    marks: dict[str, Marks] = {}
    try:
        with os.scandir(directory) as files:
            for file in files:
                stem, _, suffix = file.name.rpartition(".")
                if suffix == "json" and (stem in known or is_name(stem)):
                    before = marks.get(stem)
                    marks[stem] = (_mark(file), None if before is None else before[1])
                elif suffix == "journal" and is_name(stem):
                    before = marks.get(stem)
                    marks[stem] = (None if before is None else before[0], _mark(file))
    except OSError:
        pass  # there is none yet, or nobody may look: the first session that is opened says which
    return marks


def _mark(file: os.DirEntry[str]) -> Mark:
    try:
        status = file.stat(follow_symlinks=False)
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)


def _read(path: Path) -> Mapping[str, IndexEntry]:
    if path.is_symlink():
        return {}
    try:
        index = msgspec.msgpack.decode(read_regular(path, max_bytes=MAX_BYTES), type=IndexFile)
    except (CalibanError, msgspec.DecodeError, ValueError, RecursionError):
        return {}
    return {entry.head.name: entry for entry in index.entries} if index.version == VERSION else {}


def _write(path: Path, entries: list[IndexEntry]) -> None:
    index = IndexFile(version=VERSION, entries=tuple(entries))
    try:
        write_atomic(path, msgspec.msgpack.encode(index), mode=0o600, durable=False)
    except (CalibanError, ValueError):
        pass  # the next list reads the files again
