"""Server-sent events out of bytes (WHATWG HTML, section 9.2), whatever the chunks.

Two leniencies beyond the standard, because gateways need them: an event that the end of the stream leaves
without its blank line is still given out, and the bytes of `data` are not decoded here.
"""

from __future__ import annotations

from msgspec import Struct

from caliban_provider.errors import BadResponse

MAX_EVENT_BYTES = 64 * 1024 * 1024

_BOM = b"\xef\xbb\xbf"


class SSEEvent(Struct, frozen=True):
    """One event: `event` is `message` unless the stream named it; `data` is UTF-8, its lines joined by LF."""

    event: str
    data: bytes


class SSEDecoder:
    """Cuts a stream of bytes into events; the result does not depend on where the chunks end.

    Lines end at LF, CRLF or CR and nowhere else. Comments, `id` and `retry` are skipped; an event without a
    `data` field is none. An event of more than `max_event_bytes` raises `BadResponse`.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._head: bytes | None = b""
        self._after_cr = False
        self._pieces: list[bytes] = []
        self._pending_bytes = 0
        self._ends_line = False

    def feed(self, chunk: bytes) -> list[SSEEvent]:
        """The events that `chunk` completes, in order."""
        chunk = self._normalise(chunk)
        if not chunk:
            return []
        closes = b"\n\n" in chunk or (self._ends_line and chunk[0] == 0x0A)
        self._ends_line = chunk[-1] == 0x0A
        self._pieces.append(chunk)
        self._pending_bytes += len(chunk)
        if not closes:
            self._check_size(self._pending_bytes - self._ends_line)
            return []
        *blocks, rest = b"".join(self._pieces).split(b"\n\n")
        if self._pending_bytes > self._max_event_bytes:
            for block in (*blocks, rest.removesuffix(b"\n")):
                self._check_size(len(block))
        self._pieces = [rest] if rest else []
        self._pending_bytes = len(rest)
        self._ends_line = rest.endswith(b"\n")
        return [event for block in blocks if (event := _parse(block)) is not None]

    def close(self) -> list[SSEEvent]:
        """The event that the end of the stream leaves open, if any: its data may be cut anywhere."""
        pending = (self._head or b"") + b"".join(self._pieces)
        self._head, self._pieces, self._pending_bytes, self._ends_line = None, [], 0, False
        event = _parse(pending.removesuffix(b"\n"))
        return [] if event is None else [event]

    def _normalise(self, chunk: bytes) -> bytes:
        """`chunk` without a leading byte order mark and with every line end as LF."""
        if self._head is not None:
            self._head += chunk
            if len(self._head) < len(_BOM) and _BOM.startswith(self._head):
                return b""
            chunk, self._head = self._head.removeprefix(_BOM), None
        if self._after_cr and chunk:
            chunk, self._after_cr = chunk.removeprefix(b"\n"), False
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self._max_event_bytes:
            raise BadResponse(
                f"an event of the stream is larger than {self._max_event_bytes} bytes",
                hint="the server does not speak the expected protocol; check the base URL",
            )


def _parse(block: bytes) -> SSEEvent | None:
    """The event of the lines between two blank lines; the two common forms take no loop."""
    if block.startswith(b"data: ") and b"\n" not in block:
        return SSEEvent("message", block[6:])
    if block.startswith(b"event: "):
        name, _, data = block[7:].partition(b"\n")
        if data.startswith(b"data: ") and b"\n" not in data:
            return SSEEvent(_name(name), data[6:])
    return _parse_lines(block.split(b"\n"))


def _parse_lines(lines: list[bytes]) -> SSEEvent | None:
    event = b""
    data: list[bytes] = []
    for line in lines:
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value.removeprefix(b" "))
        elif field == b"event":
            event = value.removeprefix(b" ")
    return SSEEvent(_name(event), b"\n".join(data)) if data else None


def _name(event: bytes) -> str:
    return event.decode("utf-8", "replace") if event else "message"
