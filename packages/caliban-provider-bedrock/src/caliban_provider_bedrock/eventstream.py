"""The framing of AWS event streams (`application/vnd.amazon.eventstream`): bytes to frames.

A frame is a prelude (its length and that of its headers, with a CRC-32), typed headers, a payload, and a
CRC-32 of all before. Frames do not align with reads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple, TypeAlias
from zlib import crc32

from caliban_provider.errors import BadResponse

MAX_HEADER_BYTES = 128 * 1024
"""The most that the headers of a frame may take."""

MAX_PAYLOAD_BYTES = 24 * 1024 * 1024
"""The most that a payload may take."""

HeaderValue: TypeAlias = bool | int | bytes | str
"""What a header holds: timestamps are milliseconds since the epoch, UUIDs their 16 bytes."""

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_FIXED_BYTES = _PRELUDE.size + _CRC.size
_INTEGERS = MappingProxyType(
    {kind: struct.Struct(form) for kind, form in ((2, ">b"), (3, ">h"), (4, ">i"), (5, ">q"), (8, ">q"))}
)
_LENGTH = struct.Struct(">H")


class Frame(NamedTuple):
    """One message of the stream."""

    headers: Mapping[str, HeaderValue]
    payload: bytes


class FrameDecoder:
    """Cuts bytes into frames; the result does not depend on where the chunks end.

    Raises `BadResponse` for a wrong checksum, an impossible or excessive length and broken headers, after the
    frames before it were given out.
    """

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._held_bytes = 0
        self._wanted_bytes = _PRELUDE.size
        self._last_block = b""
        self._last_headers: Mapping[str, HeaderValue] = {}

    def feed(self, chunk: bytes) -> Iterator[Frame]:
        """The frames that `chunk` completes; read the iterator to its end before feeding again."""
        self._pieces.append(chunk)
        self._held_bytes += len(chunk)
        if self._held_bytes < self._wanted_bytes:
            return
        data = b"".join(self._pieces)
        view = memoryview(data)
        size_bytes = len(data)
        at = 0
        wanted_bytes = _PRELUDE.size
        try:
            while size_bytes - at >= _PRELUDE.size:
                total_bytes, header_bytes = _prelude(data, at)
                if size_bytes - at < total_bytes:
                    wanted_bytes = total_bytes
                    break
                end = at + total_bytes - _CRC.size
                if crc32(view[at:end]) != _CRC.unpack_from(data, end)[0]:
                    raise _garbled("a frame's checksum is wrong")
                split = at + _PRELUDE.size + header_bytes
                yield Frame(self._headers(data[at + _PRELUDE.size : split]), data[split:end])
                at += total_bytes
        finally:
            self._pieces = [data[at:]] if at else [data]
            self._held_bytes = size_bytes - at
            self._wanted_bytes = wanted_bytes

    def _headers(self, block: bytes) -> Mapping[str, HeaderValue]:
        """The headers in `block`; nearly all frames of a stream have the same."""
        if block != self._last_block:
            self._last_headers = parse_headers(block)
            self._last_block = block
        return self._last_headers


def parse_headers(block: bytes) -> dict[str, HeaderValue]:
    """The headers of one frame. Raises `BadResponse` when they are broken or one comes twice."""
    headers: dict[str, HeaderValue] = {}
    at = 0
    try:
        while at < len(block):
            name, at = _text(block, at + 1, block[at])
            value, at = _value(block, at)
            if name in headers:
                raise _garbled("a frame has one header twice")
            headers[name] = value
    except (IndexError, struct.error, UnicodeDecodeError) as error:
        raise _garbled("the headers of a frame are broken") from error
    return headers


def _value(block: bytes, at: int) -> tuple[HeaderValue, int]:
    """The typed value at `at`, and where the next header begins."""
    kind, at = block[at], at + 1
    if kind in (0, 1):
        return kind == 0, at
    if integer := _INTEGERS.get(kind):
        return int(integer.unpack_from(block, at)[0]), at + integer.size
    if kind in (6, 7):
        size_bytes = _LENGTH.unpack_from(block, at)[0]
        at += _LENGTH.size
        return _text(block, at, size_bytes) if kind == 7 else _bytes(block, at, size_bytes)
    if kind == 9:
        return _bytes(block, at, 16)
    raise _garbled(f"a header of a frame has the unknown type {kind}")


def _text(block: bytes, at: int, size_bytes: int) -> tuple[str, int]:
    value, end = _bytes(block, at, size_bytes)
    return value.decode(), end


def _bytes(block: bytes, at: int, size_bytes: int) -> tuple[bytes, int]:
    end = at + size_bytes
    if end > len(block):
        raise _garbled("the headers of a frame are broken")
    return block[at:end], end


def _prelude(data: bytes, at: int) -> tuple[int, int]:
    """The length of the frame at `at` and of its headers, checked."""
    total_bytes, header_bytes, crc = _PRELUDE.unpack_from(data, at)
    if crc32(data[at : at + 8]) != crc:
        raise _garbled("a frame's beginning is not one")
    payload_bytes = total_bytes - header_bytes - _FIXED_BYTES
    if header_bytes > MAX_HEADER_BYTES or not 0 <= payload_bytes <= MAX_PAYLOAD_BYTES:
        raise _garbled(f"a frame of {total_bytes} bytes with {header_bytes} of headers cannot be")
    return total_bytes, header_bytes


def _garbled(why: str) -> BadResponse:
    return BadResponse(
        f"the answer is no AWS event stream: {why}",
        hint="check the base URL: something that is not Bedrock answers there, or altered the answer",
    )
