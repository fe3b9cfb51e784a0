"""The last bytes of an endless stream, each under the number that it has had since the beginning."""

from __future__ import annotations

from caliban_common.text import whole_characters


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

    def read(self, since: int, max_bytes: int, *, complete: bool = False) -> tuple[int, bytes]:
        """At most `max_bytes` from number `since` on, or from the oldest that is kept; and their number.

        A character that is cut in two, by the bound or because its rest is still to come, stays for the next
        look; where the stream is `complete`, no rest comes.
        """
        start = min(max(since, self.first), self.total_bytes)
        place = start - self.first
        data = bytes(self._kept[place : place + max_bytes])
        is_end = complete and start + len(data) == self.total_bytes
        return start, data if is_end else whole_characters(data)
