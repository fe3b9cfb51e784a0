"""The door to Pillow: pictures are decoded and scaled behind it, and nothing else knows the library.

It is not there in every installation, and costs 20 ms where it is: it is loaded with the first picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Final

from caliban_images.errors import MediaRefused
from caliban_images.header import MAX_PIXELS
from caliban_images.limits import MediaLimits

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS: Final = ("PNG", "JPEG", "GIF", "WEBP")
QUALITIES: Final = (85, 70, 50)
SHARE: Final = 0.7
"""Of the side, where an image is still too many bytes."""
MIN_SIDE: Final = 64


def has_pillow() -> bool:
    """Whether pictures can be decoded here."""
    try:
        import PIL.Image  # noqa: F401
    except ImportError:
        return False
    return True


def decode(data: bytes) -> None:
    """Decode the picture, of an animation its first frame. Raises `MediaRefused` where that fails."""
    _opened(data)


def shrink(data: bytes, limits: MediaLimits) -> bytes:
    """The picture within `limits`, upright, of an animation its first frame, and without metadata.

    Raises `MediaRefused` where it cannot be decoded, or made small enough.
    """
    try:
        for made in _attempts(_opened(data, limits.target_side), limits):
            if len(made) <= limits.max_bytes:
                return made
    except MediaRefused:
        raise
    except Exception as error:
        raise MediaRefused(f"the image cannot be scaled down: {type(error).__name__}") from error
    raise MediaRefused(f"the image cannot be made as small as {limits.max_bytes:,} bytes")


def reduced(
    data: bytes, within: tuple[int, int], colours: int, clear: int
) -> tuple[tuple[int, int], tuple[tuple[int, int, int], ...], bytes]:
    """The picture within a size, in so many colours: its size, the colours, a place in them for each pixel.

    `clear` stands for a pixel that is more than half transparent. Raises `MediaRefused`.
    """
    image = _opened(data, max(within))
    try:
        from PIL.Image import Dither, Quantize, Resampling

        plain = _plain(image)
        share = min(1.0, within[0] / plain.width, within[1] / plain.height)
        size = (max(1, int(plain.width * share)), max(1, int(plain.height * share)))
        scaled = plain if size == plain.size else plain.resize(size, Resampling.BILINEAR)
        flat = _opaque(scaled).convert("RGB")
        few = flat.quantize(colours, Quantize.MEDIANCUT, dither=Dither.NONE)
        numbers, pixels = few.getpalette("RGB") or [], bytes(few.tobytes())
        if scaled.mode == "RGBA":
            alpha = scaled.getchannel("A").tobytes()
            pixels = bytes(pixel if seen > 127 else clear for pixel, seen in zip(pixels, alpha, strict=True))
    except Exception as error:
        raise MediaRefused(f"the image cannot be drawn: {type(error).__name__}") from error
    used = max((pixel for pixel in set(pixels) if pixel != clear), default=-1) + 1
    palette = tuple((numbers[3 * n], numbers[3 * n + 1], numbers[3 * n + 2]) for n in range(used))
    return size, palette, pixels


def _opened(data: bytes, side: int | None = None) -> Image:
    """The first frame, decoded; a JPEG may be decoded in a smaller size that is still above `side`."""
    import PIL.Image

    try:
        image = PIL.Image.open(BytesIO(data), formats=FORMATS)
        if image.width * image.height > MAX_PIXELS:
            raise MediaRefused("the image has too many pixels")
        if side is not None:
            image.draft(None, (side, side))
        image.load()
        return image
    except MediaRefused:
        raise
    except Exception as error:
        raise MediaRefused("the image is corrupt: it cannot be decoded") from error


def _attempts(image: Image, limits: MediaLimits) -> Iterator[bytes]:
    """The picture in ever fewer bytes; photographs stay JPEG, what has sharp edges stays PNG while it can."""
    import PIL.ImageOps
    from PIL.Image import Resampling

    drawn = image.format != "JPEG" and "image/png" in limits.image_types
    upright = PIL.ImageOps.exif_transpose(image)
    plain = _plain(upright)
    side = min(limits.target_side, limits.max_side, max(plain.size))
    while True:
        share = side / max(plain.size)
        size = (max(1, round(plain.width * share)), max(1, round(plain.height * share)))
        scaled = plain if size == plain.size else plain.resize(size, Resampling.LANCZOS)
        if drawn:
            yield _saved(scaled, "PNG", optimize=True)
        opaque = _opaque(scaled)
        for quality in QUALITIES:
            yield _saved(opaque, "JPEG", quality=quality)
        side = int(side * SHARE)
        if side < MIN_SIDE:
            return


def _plain(image: Image) -> Image:
    """The picture in a mode that can be scaled and written as PNG."""
    if image.mode in ("RGB", "RGBA", "L"):
        return image
    if image.mode.startswith(("I", "F")):  # 16 bits a channel and more
        return image.convert("I").point(lambda value: value / 256).convert("L")
    is_clear = image.mode in ("LA", "PA", "RGBa", "La") or "transparency" in image.info
    return image.convert("RGBA" if is_clear else "RGB")


def _opaque(image: Image) -> Image:
    """The picture on white: JPEG has no transparency."""
    import PIL.Image

    if image.mode != "RGBA":
        return image
    ground = PIL.Image.new("RGB", image.size, "white")
    ground.paste(image, mask=image.getchannel("A"))
    return ground


def _saved(image: Image, form: str, **options: int) -> bytes:
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()
