"""What a model takes of pictures and documents."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What is looked at as a picture at all."""


class MediaLimits(Struct, frozen=True, kw_only=True):
    """Bounds of one image and one PDF; bytes are counted before base64, sides in pixels.

    An image whose longer side is above `target_side` is scaled down where that is possible; one above
    `max_side` or `max_bytes`, or of none of the `image_types`, has to be made another. `stills_only` says the
    same of one with several frames. `sees` and `reads_pdf` say whether the model takes them at all; `None` is
    not known.
    """

    sees: bool | None = True
    image_types: tuple[str, ...] = IMAGE_TYPES
    max_bytes: int = 3_750_000
    max_side: int = 8000
    target_side: int = 1568
    stills_only: bool = False
    reads_pdf: bool | None = True
    pdf_bytes: int = 20_000_000
    pdf_pages: int = 100
