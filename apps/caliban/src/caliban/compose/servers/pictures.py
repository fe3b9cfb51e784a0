"""Images and documents that servers send, by the road that all of them go (ADR 0039)."""

from __future__ import annotations

from collections.abc import Callable

from caliban_common.message import ResultPart
from caliban_images import MediaLimits, MediaRefused, image_type, is_pdf, prepare_image, prepare_pdf


def shown_picture(data: bytes, limits: Callable[[], MediaLimits] | None) -> ResultPart | str | None:
    """What the model is shown of `data`, or why nothing of it is; `None` for what is no image and no PDF.

    The first bytes say what it is. Without `limits` there is no model, and the usual ones hold. Blocks.
    """
    if image_type(data) is None and not is_pdf(data):
        return None
    bounds = limits() if limits is not None else MediaLimits()
    try:
        if is_pdf(data):
            return prepare_pdf(data, bounds, title="document.pdf").block
        return prepare_image(data, bounds).block
    except MediaRefused as error:
        return f"which is not shown: {error.message}"
