"""Pictures as sixels: six rows at a time, a layer for each colour that they have, runs counted.

A layer is found by whole rows: each row of palette numbers becomes one of bits, and six of these are joined
as numbers, so that a picture of 600 by 320 takes some hundredths of a second.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_images.indexed import IndexedPicture, indexed_picture

ROWS: Final = 6
"""Of pixels in one band."""
MAX_COLOURS: Final = 64
_RUN: Final = lazy_pattern(r"(.)\1{3,}")
_SIGNS: Final = bytes(63 + bits if bits < 64 else 63 for bits in range(256))


def sixels(picture: IndexedPicture) -> str:
    """The whole sequence, from DCS to ST. A pixel without a colour stays what it was."""
    colours = "".join(
        f"#{number};2;{round(red / 2.55)};{round(green / 2.55)};{round(blue / 2.55)}"
        for number, (red, green, blue) in enumerate(picture.palette)
    )
    bands = "-".join(_band(picture, top) for top in range(0, picture.height, ROWS))
    return f'\x1bP0;1;0q"1;1;{picture.width};{picture.height}{colours}{bands}\x1b\\'


@lru_cache(maxsize=8)
def sixel_picture(data: bytes, width: int, height: int) -> str:
    """The picture in `data`, of any format, within so many pixels; empty where it cannot be drawn here."""
    picture = indexed_picture(data, width, height // ROWS * ROWS, MAX_COLOURS)
    return "" if picture is None else sixels(picture)


def _band(picture: IndexedPicture, top: int) -> str:
    width = picture.width
    rows = [
        picture.pixels[row * width : (row + 1) * width] for row in range(top, min(top + ROWS, picture.height))
    ]
    return "$".join(_layers(rows, len(picture.palette), width))


def _layers(rows: list[bytes], colours: int, width: int) -> Iterator[str]:
    """What each colour of a band puts into its columns; an empty end of a line is left out."""
    for colour in sorted(set().union(*rows)):
        if colour >= colours:
            continue  # clear
        joined = 0
        for place, row in enumerate(rows):
            bits = bytearray(256)
            bits[colour] = 1 << place
            joined |= int.from_bytes(row.translate(bytes(bits)), "big")
        signs = joined.to_bytes(width, "big").translate(_SIGNS).decode("ascii").rstrip("?")
        yield f"#{colour}{_RUN.sub(lambda run: f'!{len(run[0])}{run[1]}', signs)}"
