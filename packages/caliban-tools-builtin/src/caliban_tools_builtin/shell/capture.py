"""What is kept of an endless stream: its head and its tail, and a count of the rest."""

from __future__ import annotations

HEAD_BYTES = 15 * 1024
TAIL_BYTES = 15 * 1024


class Capture:
    """The head and tail of one output stream, at most 30 KiB together."""

    def __init__(self) -> None:
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def feed(self, chunk: bytes) -> None:
        """The next bytes of the stream."""
        self.total_bytes += len(chunk)
        room = HEAD_BYTES - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if chunk:
            self._tail += chunk[-TAIL_BYTES:]
            del self._tail[:-TAIL_BYTES]

    def text(self) -> str:
        """The stream as text: bytes that are not UTF-8 become U+FFFD, NUL becomes U+2400.

        A stream that is no text at all is named by its size only.
        """
        omitted = self.total_bytes - len(self._head) - len(self._tail)
        if omitted:
            head, tail = _whole_characters(bytes(self._head), bytes(self._tail))
        else:
            head, tail = bytes(self._head + self._tail), b""
        if _is_binary(head + tail):
            return f"(binary output, {self.total_bytes} bytes)"
        text = _shown(head)
        if not omitted:
            return text
        left_out = self.total_bytes - len(head) - len(tail)
        return f"{text}\n[… {left_out} bytes left out …]\n{_shown(tail)}"


def _shown(data: bytes) -> str:
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
