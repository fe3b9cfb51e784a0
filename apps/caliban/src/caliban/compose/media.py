"""What the model of a run takes of images and PDFs, as far as settings do not ask for less."""

from __future__ import annotations

from caliban.compose.resolved import ResolvedModel
from caliban_images import MediaLimits
from caliban_settings import Settings

MAX_BYTES = 5_242_880
"""What the guide has for every model."""


def media_limits(model: ResolvedModel, settings: Settings) -> MediaLimits:
    """The bridge from a model's capabilities and the settings `images.*` to the limits of what is sent."""
    able, base = model.provider.capabilities(model.model), MediaLimits()
    return MediaLimits(
        sees=able.vision,
        image_types=able.image_types,
        max_bytes=min(able.image_bytes, settings.get("images.max_bytes", MAX_BYTES)),
        max_side=able.image_side,
        target_side=min(able.image_side, settings.get("images.downscale_target", base.target_side)),
        stills_only=able.stills_only,
        reads_pdf=able.documents,
        pdf_bytes=able.document_bytes,
        pdf_pages=able.document_pages,
    )
