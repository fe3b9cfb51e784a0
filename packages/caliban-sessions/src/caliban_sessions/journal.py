"""The journal: JSON lines that only grow, each durable before `append` returns, or `sync` after it.

A reader takes every line that is a record and passes over what is not: the torn end of a killed process, what
a power loss left as zero bytes, a line cut in the middle. It never needs a repair before it can be read.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

from msgspec.json import decode as _decode

from caliban_common.codec import dumps, nearest
from caliban_common.errors import DataError
from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK

_sync = getattr(os, "fdatasync", os.fsync)

_BLANK = b"\0 \t\r"
_APART = b"\n\n"
"""Ends the fragment that an earlier write may have left, and says that its loss is known."""


class Journal:
    """One file of JSON lines. Opened by the first append, by one process at a time.

    With `defers_sync` an append returns once the system has its lines, which outlive this process then, and
    `sync` waits for the disk, in whatever thread: only that may be called beside the others.
    """

    def __init__(self, path: Path, *, defers_sync: bool = False) -> None:
        self.path = path
        self.unsynced = False
        self._defers = defers_sync
        self._descriptor: int | None = None
        self._named = False
        self._owed = b""

    def append(self, lines: bytes, *, durable: bool = True) -> None:
        """Write `lines` (each ended) and wait for the disk, unless `sync` does. Raises `OSError`.

        What is not `durable` goes to the disk with what follows: it outlives its process, and may not outlive
        the system. What failed is owed: the next append writes it first. A part that got through is then in
        the file twice, which readers forgive.
        """
        data = self._owed + lines
        self._owed = _APART + data.lstrip(b"\n")
        if self._descriptor is None:
            self._descriptor, used = _open_to_append(self.path)
            self._named = used
            data = _APART + data if used else data
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        if durable:
            self.unsynced = True
            if not self._defers:
                self.sync()
        self._owed = b""

    def sync(self) -> None:
        """Wait until the disk has what was to be durable. Raises `OSError`."""
        descriptor = self._descriptor
        if not self.unsynced or descriptor is None:
            return
        self.unsynced = False  # before: what is appended meanwhile may come too late for this one
        try:
            _sync(descriptor)
        except OSError:
            if (
                self._descriptor is None
            ):  # closed meanwhile: to wait for another file in its place hurts nobody
                return
            self.unsynced = True
            raise
        if not self._named:  # after the file: on most systems that has done it already
            sync_directory(self.path.parent)
            self._named = True

    def close(self) -> None:
        """Let go of the file."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def line_of(record: dict[str, Any]) -> bytes:
    """`record` as one line."""
    return dumps(record) + b"\n"


def records_in(data: bytes) -> tuple[list[tuple[int, dict[str, Any]]], list[int]]:
    """The records in a journal's bytes, in order and with their lines' numbers, and those of damaged lines.

    A fragment at the end, or before a blank line, does not count as damaged: it is what was being written
    when a process died or the disk was full, and its `append` never returned. Lines count from 1.
    """
    records: list[tuple[int, dict[str, Any]]] = []
    damaged: list[int] = []
    lines = data.split(b"\n")
    for number, line in enumerate(lines, 1):
        line = line.strip(_BLANK)
        if not line:
            continue
        of_line, whole = _records_of(line)
        records.extend((number, record) for record in of_line)
        if not whole and any(lines[number : number + 1]):
            damaged.append(number)
    return records, damaged


def values_in(text: str) -> tuple[list[Any], bool]:
    """The JSON values in `text`, more than one where lines were glued, and whether that was all of it."""
    decoder = json.JSONDecoder()
    values: list[Any] = []
    place, end = _past_blanks(text, 0), len(text)
    while place < end:
        try:
            value, place = decoder.raw_decode(text, place)
            values.append(nearest(value))
        except (ValueError, RecursionError, DataError):
            return values, False
        place = _past_blanks(text, place)
    return values, True


def _past_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def sync_directory(path: Path) -> None:
    """Make a new or a removed name in `path` durable, where the system can."""
    if os.name != "posix":
        return
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # some network file systems refuse it; the files themselves are synced
    finally:
        os.close(descriptor)


def _records_of(line: bytes) -> tuple[list[dict[str, Any]], bool]:
    """The records of one line, and whether that was all of it."""
    try:
        values, whole = [_decode(line)], True  # three times as fast as the way below, which every line can go
    except (ValueError, RecursionError):
        values, whole = values_in(line.decode("utf-8", "replace"))
    for position, value in enumerate(values):
        sequence = value.get("seq") if isinstance(value, dict) else None
        if isinstance(sequence, bool) or not isinstance(sequence, int):
            return values[:position], False
    return values, whole


def _open_to_append(path: Path) -> tuple[int, bool]:
    flags = (
        os.O_WRONLY | os.O_APPEND | os.O_CREAT | NOFOLLOW | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0)
    )
    descriptor = os.open(path, flags, 0o600)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise OSError(f"{path} is not a regular file")
    return descriptor, status.st_size > 0
