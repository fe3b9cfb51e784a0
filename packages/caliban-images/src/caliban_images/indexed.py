"""A picture by the numbers of a few colours, for terminals that draw so."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from caliban_images.errors import MediaRefused
from caliban_images.pixels import has_pillow, reduced

CLEAR: Final = 255
"""The number of a pixel that has no colour."""


class IndexedPicture(Struct, frozen=True, kw_only=True):
    """`pixels` row by row, each a place in `palette` of red, green and blue, or `CLEAR`."""

    width: int
    height: int
    palette: tuple[tuple[int, int, int], ...]
    pixels: bytes


def indexed_picture(data: bytes, width: int, height: int, colours: int) -> IndexedPicture | None:
    """The picture in `data` within `width` by `height` pixels, in at most `colours` (1 to 255) of them.

    It keeps its shape and is not made larger. `None` where nothing decodes pictures here, or not this one.
    """
    if width < 1 or height < 1 or not has_pillow():
        return None
    try:
        size, palette, pixels = reduced(data, (width, height), min(max(colours, 1), CLEAR), CLEAR)
    except MediaRefused:
        return None
    return IndexedPicture(width=size[0], height=size[1], palette=palette, pixels=pixels)
