"""Bytes of a program as lines, with an end to how long one may be."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

HEAD_BYTES = 512


class LongLine(Struct, frozen=True, kw_only=True):
    """A line that was dropped: its first bytes, and how long it was when it was given up or ended."""

    head: bytes
    size_bytes: int


class LineReader:
    """Takes bytes and gives lines without their ends; one beyond `max_bytes` is read past and named.

    `overrun_bytes` is how long the line is that is being read past, zero where there is none.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._pieces: list[bytes] = []
        self._size_bytes = 0
        self._dropped: bytes | None = None
        self.overrun_bytes: int = 0

    def feed(self, chunk: bytes) -> Iterator[bytes | LongLine]:
        """The lines that `chunk` completes, in order."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._add(line)
            yield self._taken()
        if rest:
            self._add(rest)

    def close(self) -> Iterator[bytes | LongLine]:
        """What stands there without an end."""
        if self._pieces or self._dropped is not None:
            yield self._taken()

    def _add(self, piece: bytes) -> None:
        if self._dropped is not None:
            self.overrun_bytes += len(piece)
            return
        self._pieces.append(piece)
        self._size_bytes += len(piece)
        if self._size_bytes > self._max_bytes:
            self._dropped = b"".join(self._pieces)[:HEAD_BYTES]
            self.overrun_bytes = self._size_bytes
            self._pieces, self._size_bytes = [], 0

    def _taken(self) -> bytes | LongLine:
        if self._dropped is not None:
            line = LongLine(head=self._dropped, size_bytes=self.overrun_bytes)
            self._dropped, self.overrun_bytes = None, 0
            return line
        whole = b"".join(self._pieces)
        self._pieces, self._size_bytes = [], 0
        return whole
