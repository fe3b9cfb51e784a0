"""What is kept of an endless stream: its head and its tail, and a count of the rest."""

from __future__ import annotations

from msgspec import Struct


class OutputLimit(Struct, frozen=True, kw_only=True):
    """How many bytes of each stream are kept. With `refuse`, a program that prints more is ended."""

    head_bytes: int = 15 * 1024
    tail_bytes: int = 15 * 1024
    refuse: bool = False


class CapturedOutput(Struct, frozen=True, kw_only=True):
    """One output stream as it was kept: the whole of it, or its head and tail."""

    head: bytes = b""
    tail: bytes = b""
    total_bytes: int = 0

    @property
    def kept(self) -> bytes:
        return self.head + self.tail

    @property
    def omitted_bytes(self) -> int:
        return self.total_bytes - len(self.head) - len(self.tail)

    def text(self) -> str:
        """The stream as text: bytes that are not UTF-8 become U+FFFD, NUL becomes U+2400.

        A stream that is no text at all is named by its size only.
        """
        head, tail = self.kept, b""
        if self.omitted_bytes:
            head, tail = _whole_characters(self.head, self.tail)
        if _is_binary(head + tail):
            return f"(binary output, {self.total_bytes} bytes)"
        if not self.omitted_bytes:
            return _decoded(head)
        omitted_bytes = self.total_bytes - len(head) - len(tail)
        return f"{_decoded(head)}\n[… {omitted_bytes} bytes left out …]\n{_decoded(tail)}"


class Capture:
    """Takes one output stream and keeps what `limit` allows."""

    def __init__(self, limit: OutputLimit) -> None:
        self._limit = limit
        self._head = bytearray()
        self._tail = bytearray()
        self._total_bytes = 0

    def feed(self, chunk: bytes) -> bool:
        """The next bytes of the stream; False once there were more than may be."""
        limit = self._limit
        self._total_bytes += len(chunk)
        room = limit.head_bytes - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk and limit.tail_bytes:
            self._tail += chunk[-limit.tail_bytes :]
            del self._tail[: -limit.tail_bytes]
        return not self.is_refused

    @property
    def is_refused(self) -> bool:
        limit = self._limit
        return limit.refuse and self._total_bytes > limit.head_bytes + limit.tail_bytes

    @property
    def output(self) -> CapturedOutput:
        return CapturedOutput(head=bytes(self._head), tail=bytes(self._tail), total_bytes=self._total_bytes)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\0", "\u2400")


def _whole_characters(head: bytes, tail: bytes) -> tuple[bytes, bytes]:
    """Both sides of a cut without the halves of a character that the cut has split."""
    for back in range(1, min(4, len(head)) + 1):
        byte = head[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            if length > back:
                head = head[:-back]
            break
        if byte < 0x80:
            break
    skip = 0
    while skip < min(3, len(tail)) and 0x80 <= tail[skip] < 0xC0:
        skip += 1
    return head, tail[skip:]


def _is_binary(data: bytes) -> bool:
    """NUL, and either mostly that or more than a tenth that is neither text nor white space."""
    nuls = data.count(b"\0")
    if not nuls:
        return False
    text = data.decode("utf-8", "replace")
    odd = sum(1 for char in text if char == "\ufffd" or (char < " " and char not in "\0\n\r\t\x1b\b\f"))
    return odd * 10 > len(text) or nuls * 2 > len(text)
