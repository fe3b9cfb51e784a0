"""An image on its way to a model: looked at, decoded, and made smaller where it has to be."""

from __future__ import annotations

from base64 import b64encode

from msgspec import Struct

from caliban_common.errors import DataError
from caliban_common.message import ImageBlock
from caliban_images.errors import MediaRefused
from caliban_images.header import ImageFacts, check_image
from caliban_images.limits import MediaLimits
from caliban_images.pixels import decode, has_pillow, shrink

MAX_SOURCE_BYTES = 50_000_000
"""So large a file is looked at; what is sent of it is bounded by the limits of the model."""

HINT = "`pip install caliban-images[images]` scales it down and converts it"


class PreparedImage(Struct, frozen=True, kw_only=True):
    """What is sent of an image. `facts` are those of the block, `note` is what was done to it, in words."""

    block: ImageBlock
    facts: ImageFacts
    size_bytes: int
    note: str = ""


def prepare_image(data: bytes, limits: MediaLimits) -> PreparedImage:
    """The image in `data` as a model with these limits takes it; bytes that fit stay as they are.

    Blocks while it decodes: call it on a thread. Raises `MediaRefused`.
    """
    try:
        facts = check_image(data)
    except DataError as error:
        raise MediaRefused(error.message) from error
    wrong = _misfit(facts, len(data), limits)
    if not has_pillow():
        if wrong:
            raise MediaRefused(wrong, hint=HINT).with_remedy("images_extra")
        return _prepared(data, facts)
    still = limits.stills_only and facts.is_animated
    if not wrong and not still and facts.side <= limits.target_side:
        decode(data)
        return _prepared(data, facts)
    made = shrink(data, limits)
    after = check_image(made)
    done = "scaled down" if after.side < facts.side else "converted"
    whole = ", of which this is the first frame" if facts.is_animated else ""
    note = f"{done} from {facts.width}×{facts.height} pixels, {facts.media_type}{whole}"
    return _prepared(made, after, note)


def _misfit(facts: ImageFacts, size_bytes: int, limits: MediaLimits) -> str:
    """Why an image cannot be sent as it is; empty where it can."""
    if facts.media_type not in limits.image_types:
        return f"the model takes no {facts.media_type}"
    if facts.side > limits.max_side:
        size = f"{facts.width:,} × {facts.height:,} pixels, and at most {limits.max_side:,} a side are taken"
        return f"the image is too large to send as it is: {size}"
    if size_bytes > limits.max_bytes:
        size = f"{size_bytes:,} bytes, and at most {limits.max_bytes:,} are taken"
        return f"the image is too large to send as it is: {size}"
    return ""


def _prepared(data: bytes, facts: ImageFacts, note: str = "") -> PreparedImage:
    block = ImageBlock.of(media_type=facts.media_type, data=b64encode(data).decode("ascii"))
    return PreparedImage(block=block, facts=facts, size_bytes=len(data), note=note)
