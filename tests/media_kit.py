"""Images and PDFs for tests, made here: pictures that do not pack well, and pages that say something."""

from __future__ import annotations

import random
from io import BytesIO
from typing import Any

from PIL import Image
from pypdf import PdfWriter
from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject


def picture(width: int, height: int, form: str = "PNG", *, seed: int = 1, **options: Any) -> bytes:
    """An image of noise, which no format makes small."""
    noise = random.Random(seed).randbytes(width * height * 3)
    return saved(Image.frombytes("RGB", (width, height), noise), form, **options)


def plain(width: int, height: int, form: str = "PNG", color: str = "teal", **options: Any) -> bytes:
    """An image of one color."""
    return saved(Image.new("RGB", (width, height), color), form, **options)


def animation(width: int, height: int, form: str = "GIF") -> bytes:
    """Three frames of different colors."""
    frames = [Image.new("RGB", (width, height), color) for color in ("red", "green", "blue")]
    return saved(frames[0], form, save_all=True, append_images=frames[1:], duration=100)


def saved(image: Image.Image, form: str, **options: Any) -> bytes:
    """The bytes of a file."""
    out = BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def pdf(*texts: str, password: str = "") -> bytes:
    """A PDF with a page for each text."""
    writer = PdfWriter()
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
        }
    )
    for text in texts:
        page = writer.add_blank_page(200, 200)
        content = DecodedStreamObject()
        content.set_data(f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET".encode())
        page[NameObject("/Contents")] = writer._add_object(content)
        fonts = DictionaryObject({NameObject("/F1"): font})
        page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    if password:
        writer.encrypt(password)
    out = BytesIO()
    writer.write(out)
    return out.getvalue()
