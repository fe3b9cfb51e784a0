"""JSON lines out of bytes, whatever the chunks."""

from __future__ import annotations

from caliban_provider.errors import BadResponse

MAX_LINE_BYTES = 64 * 1024 * 1024


class NDJSONDecoder:
    """Cuts a stream of bytes into lines at LF and nowhere else; blank lines are skipped.

    The lines are not decoded. A line of more than `max_line_bytes` raises `BadResponse`.
    """

    def __init__(self, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self._max_line_bytes = max_line_bytes
        self._pieces: list[bytes] = []
        self._pending_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that `chunk` completes, in order and without their line ends."""
        self._pieces.append(chunk)
        self._pending_bytes += len(chunk)
        if b"\n" not in chunk:
            self._check_size(self._pending_bytes)
            return []
        *lines, rest = b"".join(self._pieces).split(b"\n")
        if self._pending_bytes > self._max_line_bytes:
            for line in (*lines, rest):
                self._check_size(len(line))
        self._pieces = [rest] if rest else []
        self._pending_bytes = len(rest)
        return [line for line in lines if line and not line.isspace()]

    def close(self) -> list[bytes]:
        """The line that the end of the stream leaves open, if any: it may be cut anywhere."""
        line = b"".join(self._pieces)
        self._pieces, self._pending_bytes = [], 0
        return [line] if line and not line.isspace() else []

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self._max_line_bytes:
            raise BadResponse(
                f"a line of the stream is larger than {self._max_line_bytes} bytes",
                hint="the server does not speak the expected protocol; check the base URL",
            )
