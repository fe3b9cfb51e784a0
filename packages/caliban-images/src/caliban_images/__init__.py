"""Images and PDF documents on their way to a model: the one road of every entrance."""

from __future__ import annotations

from caliban_images.errors import MediaRefused
from caliban_images.header import ImageFacts, check_image, image_type
from caliban_images.limits import MediaLimits
from caliban_images.pdf import PdfWindow, PreparedPdf, is_pdf, prepare_pdf
from caliban_images.picture import PreparedImage, prepare_image

__all__ = [
    "ImageFacts",
    "MediaLimits",
    "MediaRefused",
    "PdfWindow",
    "PreparedImage",
    "PreparedPdf",
    "check_image",
    "image_type",
    "is_pdf",
    "prepare_image",
    "prepare_pdf",
]
