"""Which kind of image some bytes are, and whether they are one at all, by the standard library alone.

A corrupt image is refused by the server together with the whole conversation, so it is found out before it is
sent. Sizes are read from the header before anything is unpacked. Sources: PNG (ISO 15948), JPEG (ITU T.81),
GIF89a, WebP (RFC 9649).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from caliban_common.errors import DataError

if TYPE_CHECKING:
    import zlib

MAX_PIXELS: Final = 80_000_000
"""An image with more is refused by its header: 65,000 × 65,000 pixels of one color fit into 13 MB."""

MAX_UNPACKED_BYTES: Final = 64_000_000
"""So far a PNG is unpacked to see whether its data is whole."""
_PIECE_BYTES: Final = 1 << 20
_MAGIC: Final = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_CHANNELS: Final[Mapping[int, int]] = MappingProxyType({0: 1, 2: 3, 3: 1, 4: 2, 6: 4})
_DEPTHS: Final[Mapping[int, tuple[int, ...]]] = MappingProxyType(
    {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
)
_ADAM7: Final = (
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
)


class ImageFacts(Struct, frozen=True, kw_only=True):
    """What an image is; sizes in pixels. `is_animated` says that it has several frames."""

    media_type: str
    width: int
    height: int
    is_animated: bool = False

    @property
    def side(self) -> int:
        """The longer side."""
        return max(self.width, self.height)


def image_type(data: bytes) -> str | None:
    """The media type that the first bytes speak of; `None` for no image that every provider takes."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _MAGIC if data.startswith(magic)), None)


def check_image(data: bytes) -> ImageFacts:
    """The image in `data`, looked at to its end. Raises `DataError` for one that is corrupt or a bomb."""
    media_type = image_type(data)
    readers = {"image/png": _png, "image/jpeg": _jpeg, "image/gif": _gif, "image/webp": _webp}
    if media_type is None:
        raise DataError("it is no PNG, JPEG, GIF or WebP image")
    try:
        width, height, frames = readers[media_type](data)
    except (IndexError, ValueError) as error:
        raise DataError("the image is cut off") from error
    _check_size(width, height)
    return ImageFacts(media_type=media_type, width=width, height=height, is_animated=frames > 1)


def _check_size(width: int, height: int) -> None:
    if not width or not height:
        raise DataError("the image has no size")
    if width * height > MAX_PIXELS:
        most = MAX_PIXELS // 1_000_000
        raise DataError(f"the image has {width:,} × {height:,} pixels; at most {most} million are taken")


def _number(data: bytes, at: int, size: int, *, little: bool = False) -> int:
    piece = data[at : at + size]
    if len(piece) < size:
        raise IndexError
    return int.from_bytes(piece, "little" if little else "big")


def _png(data: bytes) -> tuple[int, int, int]:
    import zlib

    width = height = 0
    raw_bytes = 0
    unpacker = zlib.decompressobj()
    for kind, at, size in _png_chunks(data):
        if kind == b"IHDR":
            width, height = _number(data, at, 4), _number(data, at + 4, 4)
            _check_size(width, height)
            raw_bytes = min(MAX_UNPACKED_BYTES, _png_raw_bytes(width, height, data[at + 8 : at + 13]))
        elif kind == b"IDAT":
            if not width:
                raise DataError("the image is corrupt: its header is missing")
            raw_bytes -= _unpacked_bytes(unpacker, data[at : at + size], raw_bytes)
    if raw_bytes > 0 or not width:
        raise DataError("the image is corrupt: its data is missing")
    return width, height, 1


def _png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Kind, place and size of each chunk up to the last; the checksums are right."""
    import zlib

    at = 8
    while True:
        size, kind = _number(data, at, 4), data[at + 4 : at + 8]
        start = at + 8
        if _number(data, start + size, 4) != zlib.crc32(data[at + 4 : start + size]):
            raise DataError("the image is corrupt: a checksum is wrong")
        if (at == 8) != (kind == b"IHDR"):
            raise DataError("the image is corrupt: its header is missing")
        yield kind, start, size
        if kind == b"IEND":
            return
        at = start + size + 4


def _unpacked_bytes(unpacker: zlib._Decompress, packed: bytes, wanted: int) -> int:
    """How many bytes `packed` unpacks to, as far as they are `wanted`; a piece at a time."""
    import zlib

    total = 0
    while packed and total < wanted:
        try:
            total += len(unpacker.decompress(packed, _PIECE_BYTES))
        except zlib.error as error:
            raise DataError("the image is corrupt: its data cannot be unpacked") from error
        packed = unpacker.unconsumed_tail
    return total


def _png_raw_bytes(width: int, height: int, rest: bytes) -> int:
    """How many bytes the unpacked rows have."""
    depth, color, packing, filtering, interlace = rest
    if depth not in _DEPTHS.get(color, ()) or packing or filtering or interlace > 1:
        raise DataError("the image is corrupt: its header is wrong")
    bits = depth * _CHANNELS[color]
    passes = _ADAM7 if interlace else ((0, 0, 1, 1),)
    total = 0
    for left, top, right_step, down_step in passes:
        columns = -(-(width - left) // right_step) if width > left else 0
        rows = -(-(height - top) // down_step) if height > top else 0
        total += rows * (1 + -(-columns * bits // 8)) if columns else 0
    return total


def _jpeg(data: bytes) -> tuple[int, int, int]:
    width = height = 0
    at, scanned = 2, False
    while True:
        if data[at] != 0xFF:
            raise DataError("the image is corrupt: a marker is missing")
        kind = data[at + 1]
        if kind == 0xFF:  # a fill byte
            at += 1
        elif kind == 0xD9:
            break
        elif kind == 0x01 or 0xD0 <= kind <= 0xD8:
            at += 2
        else:
            size = _number(data, at + 2, 2)
            if size < 2:
                raise DataError("the image is corrupt: a segment has no length")
            if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):
                height, width = _number(data, at + 5, 2), _number(data, at + 7, 2)
                _check_size(width, height)
            at += 2 + size
            if kind == 0xDA:
                at, scanned = _after_scan(data, at), True
    if not scanned or not width:
        raise DataError("the image is corrupt: it holds no picture")
    return width, height, 1


def _after_scan(data: bytes, at: int) -> int:
    """The marker behind the coded data, in which some markers may stand."""
    marker = re.compile(rb"\xff[^\x00\xd0-\xd7\xff]", re.DOTALL).search(data, at)
    if marker is None:
        raise DataError("the image is cut off")
    return marker.start()


def _gif(data: bytes) -> tuple[int, int, int]:
    width, height = _number(data, 6, 2, little=True), _number(data, 8, 2, little=True)
    _check_size(width, height)
    at = 13 + _color_table(data[10])
    frames = 0
    while data[at] != 0x3B:
        if data[at] == 0x21:
            at = _after_blocks(data, at + 2)
        elif data[at] == 0x2C:
            _number(data, at + 8, 1)
            at = _after_blocks(data, at + 11 + _color_table(data[at + 9]))
            frames += 1
        else:
            raise DataError("the image is corrupt: it holds something unknown")
    if not frames:
        raise DataError("the image is corrupt: it holds no picture")
    return width, height, frames


def _color_table(flags: int) -> int:
    return 3 << ((flags & 7) + 1) if flags & 0x80 else 0


def _after_blocks(data: bytes, at: int) -> int:
    while data[at]:
        at += 1 + data[at]
    return at + 1


def _webp(data: bytes) -> tuple[int, int, int]:
    end = 8 + _number(data, 4, 4, little=True)
    if end > len(data):
        raise DataError("the image is cut off")
    width = height = frames = 0
    shown = False
    at = 12
    while at < end:
        kind, size = data[at : at + 4], _number(data, at + 4, 4, little=True)
        start = at + 8
        if start + size > end:
            raise DataError("the image is cut off")
        if kind == b"VP8X":
            width, height = (1 + _number(data, start + place, 3, little=True) for place in (4, 7))
        elif kind == b"VP8 ":
            if data[start + 3 : start + 6] != b"\x9d\x01\x2a":
                raise DataError("the image is corrupt: its frame has no beginning")
            width, height = (_number(data, start + place, 2, little=True) & 0x3FFF for place in (6, 8))
            shown = True
        elif kind == b"VP8L":
            if data[start] != 0x2F:
                raise DataError("the image is corrupt: its frame has no beginning")
            bits = _number(data, start + 1, 4, little=True)
            width, height = 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
            shown = True
        frames += kind == b"ANMF"
        at = start + size + (size & 1)
    if not shown and not frames:
        raise DataError("the image is corrupt: it holds no picture")
    return width, height, frames
