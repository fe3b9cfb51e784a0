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
_HEADER_BYTES = 2
_MEMBER = b"\x1f\x8b"
"""How each part of a body in gzip begins."""


def is_packed(coding: str) -> bool:
    """Whether a body with this `content-encoding` is compressed."""
    return coding.strip().lower() not in ("", "identity")


class Unpacker:
    """Takes a body with the given `content-encoding`. Raises `ValueError` for one that is not known."""

    def __init__(self, coding: str) -> None:
        if coding.strip().lower() not in _CODINGS:
            raise ValueError(f"its coding is {coding[:40]!r}")
        self._unpack = zlib.decompressobj(_ANY_HEADER)
        self._may_be_bare = "deflate" in coding.lower()
        self._head = b""  # of the next part, too short to tell what it is
        self._is_first = True
        self._is_over = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """What `chunk` unpacks to, at most `PIECE_BYTES` at a time. Raises `ValueError`.

        Compressed parts may follow each other (RFC 1952); what else comes behind the last one is no content.
        """
        while chunk and not self._is_over:
            if self._is_first or self._unpack.eof:
                chunk = self._head + chunk
                self._head = chunk[: _HEADER_BYTES - 1] if len(chunk) < _HEADER_BYTES else b""
                if self._head or not self._begin(chunk):
                    return
            try:
                piece = self._unpack.decompress(chunk, PIECE_BYTES)
            except zlib.error as error:
                raise ValueError(str(error)) from error
            chunk = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail
            if piece:
                yield piece

    def _begin(self, chunk: bytes) -> bool:
        """Make ready for the part that begins with `chunk`; false where it is none."""
        is_bare = self._may_be_bare and not chunk.startswith(_MEMBER) and not _is_header(chunk)
        self._is_over = not self._is_first and not chunk.startswith(_MEMBER)
        self._is_first = False
        self._unpack = zlib.decompressobj(_NO_HEADER if is_bare else _ANY_HEADER)
        return not self._is_over

    def end(self) -> Iterator[bytes]:
        """What is left when the body is over. Raises `ValueError` for one that was cut off."""
        if self._is_over or (self._is_first and not self._head):
            return
        try:
            piece = self._unpack.flush()
        except zlib.error as error:
            raise ValueError(str(error)) from error
        if piece:
            yield piece
        if self._is_first or not self._unpack.eof:
            raise ValueError("it is cut off")


def _is_header(data: bytes) -> bool:
    """Whether `data` begins as what is called deflate should (RFC 1950): some servers leave that out."""
    return data[0] & 15 == zlib.DEFLATED and int.from_bytes(data[:_HEADER_BYTES], "big") % 31 == 0
