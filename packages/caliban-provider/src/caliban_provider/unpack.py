"""Bodies that are compressed although nobody asked for that, in pieces of bounded size.

Few bytes may unpack to very many: what comes of them is handed on as it is made, so that whoever reads can
stop.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

PIECE_BYTES = 64 * 1024
"""How much is unpacked at a time."""

_CODINGS = frozenset({"gzip", "x-gzip", "deflate"})
_ANY_HEADER = zlib.MAX_WBITS | 32
_NO_HEADER = -zlib.MAX_WBITS


def is_packed(coding: str) -> bool:
    """Whether a body with this `content-encoding` is compressed."""
    return coding.strip().lower() not in ("", "identity")


class Unpacker:
    """Takes a body with the given `content-encoding`. Raises `ValueError` for one that is not known."""

    def __init__(self, coding: str) -> None:
        if coding.strip().lower() not in _CODINGS:
            raise ValueError(f"its coding is {coding[:40]!r}")
        self._may_be_bare = "deflate" in coding.lower()
        self._unpack = zlib.decompressobj(_ANY_HEADER)

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """What `chunk` unpacks to, at most `PIECE_BYTES` at a time. Raises `ValueError`."""
        while chunk and not self._unpack.eof:
            try:
                piece = self._unpack.decompress(chunk, PIECE_BYTES)
            except zlib.error as error:
                if not self._may_be_bare:
                    raise ValueError(str(error)) from error
                self._unpack = zlib.decompressobj(_NO_HEADER)
                self._may_be_bare = False
                continue
            self._may_be_bare = False
            chunk = self._unpack.unconsumed_tail
            if piece:
                yield piece
