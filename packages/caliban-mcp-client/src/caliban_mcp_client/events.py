"""Streams of server-sent events, in bytes: JSON may hold what text calls the end of a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from caliban_mcp_client.lines import LineReader, LongLine

_BOM: Final = b"\xef\xbb\xbf"
_MOST_WAIT_S: Final = 60.0


class ServerEvent(Struct, frozen=True, kw_only=True):
    """One event; `size_bytes` is said of one that was too long, whose `data` is its beginning."""

    name: str
    data: bytes
    size_bytes: int = 0


class EventReader:
    """Takes pieces of a stream and gives events.

    `last_id` is where the stream can be taken up again, `retry_s` when, if the server said so.
    """

    def __init__(self, max_bytes: int) -> None:
        self._lines = LineReader(max_bytes)
        self._max_bytes = max_bytes
        self._name = b""
        self._data: list[bytes] = []
        self._size_bytes = 0
        self._after_cr = False
        self._is_first = True
        self.last_id: str | None = None
        self.retry_s: float | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that `chunk` completes, in order."""
        if self._after_cr and chunk:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        for line in self._lines.feed(chunk):
            if line == b"":
                yield from self._taken()
            else:
                self._take(line)

    def close(self) -> Iterator[ServerEvent]:
        """The event that the end of the stream leaves open: its data may be cut anywhere."""
        for line in self._lines.close():
            self._take(line)
        yield from self._taken()

    @property
    def overrun_bytes(self) -> int:
        return self._lines.overrun_bytes

    def _take(self, line: bytes | LongLine) -> None:
        if isinstance(line, LongLine):
            self._data.append(line.head.removeprefix(b"data:").lstrip())
            self._size_bytes += line.size_bytes
            return
        if self._is_first:
            line, self._is_first = line.removeprefix(_BOM), False
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._size_bytes += len(value)
            if self._size_bytes <= self._max_bytes or not self._data:
                self._data.append(value)
        elif field == b"event":
            self._name = value[:100]
        elif field == b"id" and b"\0" not in value and len(value) <= 4096:
            self.last_id = value.decode("utf-8", "replace") or None
        elif field == b"retry" and value.isdigit() and len(value) < 9:
            self.retry_s = min(_MOST_WAIT_S, int(value) / 1000)

    def _taken(self) -> Iterator[ServerEvent]:
        name, data, size = self._name.decode("utf-8", "replace") or "message", self._data, self._size_bytes
        self._name, self._data, self._size_bytes = b"", [], 0
        if data:
            is_long = size > self._max_bytes
            yield ServerEvent(name=name, data=b"\n".join(data), size_bytes=size if is_long else 0)
