"""The last bytes of an endless stream, each under the number that it has had since the beginning."""

from __future__ import annotations


class OutputRing:
    """Keeps at least the last `max_bytes` of what it is fed, and never more than twice that."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._kept = bytearray()
        self.total_bytes: int = 0

    @property
    def first(self) -> int:
        """The number of the oldest byte that is kept."""
        return self.total_bytes - len(self._kept)

    def feed(self, chunk: bytes) -> None:
        """The next bytes."""
        self.total_bytes += len(chunk)
        self._kept += chunk
        if len(self._kept) > 2 * self._max_bytes:
            del self._kept[: -self._max_bytes]

    def read(self, since: int, max_bytes: int) -> tuple[int, bytes]:
        """At most `max_bytes` from number `since` on, or from the oldest that is kept; and their number.

        A character that the bound would cut in two stays for the next look.
        """
        start = min(max(since, self.first), self.total_bytes)
        place = start - self.first
        data = bytes(self._kept[place : place + max_bytes])
        return start, data if start + len(data) == self.total_bytes else _whole(data)


def _whole(data: bytes) -> bytes:
    """`data` without the beginning of a character whose end is missing."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
        if byte < 0x80:
            break
    return data
