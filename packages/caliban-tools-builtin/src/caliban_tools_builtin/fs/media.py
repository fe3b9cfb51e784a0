"""Images and PDFs as Read shows them, and what a file is that is none of these and no text."""

from __future__ import annotations

from caliban_common.message import ResultPart, TextBlock
from caliban_common.tool import ToolOutput
from caliban_images import (
    MediaLimits,
    MediaRefused,
    PdfWindow,
    image_type,
    is_pdf,
    prepare_image,
    prepare_pdf,
)
from caliban_tools_builtin.errors import FileRefused
from caliban_tools_builtin.fence import AdmittedPath

MAX_BYTES = 50_000_000
"""So large an image or PDF is looked at; what is sent of it is what the model takes."""

_OTHER = (
    (b"BM", "a BMP image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\1\0", "an ICO image"),
    (b"PK\3\4", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
)


def other_kind(data: bytes) -> str | None:
    """What a file is that is neither shown nor text, as far as its first bytes say."""
    return next((name for magic, name in _OTHER if data.startswith(magic)), None)


def is_media(head: bytes) -> bool:
    """Whether a file with these first bytes may be an image or a PDF."""
    return image_type(head) is not None or is_pdf(head)


def shown_media(
    place: AdmittedPath, data: bytes, limits: MediaLimits, window: PdfWindow
) -> ToolOutput | None:
    """The image or PDF in a file, of the latter the pages in `window`; `None` for text that begins like one.

    Raises `FileRefused`.
    """
    try:
        return _pdf(place, data, limits, window) if is_pdf(data) else _image(place, data, limits)
    except MediaRefused as error:
        if _is_plain(data) and (not is_pdf(data) or b"%%EOF" not in data):
            return None
        hint = error.hint
        if is_pdf(data) and error.remedy is None and hint is not None and "part" in hint:
            hint = "read some of its pages with offset and limit"
        raise FileRefused(f"{place.shown} cannot be shown: {error.message}", hint=hint) from error


def _image(place: AdmittedPath, data: bytes, limits: MediaLimits) -> ToolOutput:
    prepared = prepare_image(data, limits)
    facts = prepared.facts
    note = f", {prepared.note}" if prepared.note else ""
    size = f"{facts.width}×{facts.height} pixels, {prepared.size_bytes} bytes{note}"
    title = TextBlock(text=f"→ Read {place.shown}, {facts.media_type}, {size}")
    return _output(place, (title, prepared.block), facts.media_type)


def _pdf(place: AdmittedPath, data: bytes, limits: MediaLimits, window: PdfWindow) -> ToolOutput:
    prepared = prepare_pdf(data, limits, title=place.path.name, window=window)
    title = f"→ Read {place.shown}, application/pdf, {prepared.shown}"
    block = prepared.block
    if isinstance(block, TextBlock):
        return _output(place, (TextBlock(text=f"{title}\n\n{block.text}"),), "text/plain")
    return _output(place, (TextBlock(text=title), block), "application/pdf")


def _output(place: AdmittedPath, content: tuple[ResultPart, ...], media_type: str) -> ToolOutput:
    return ToolOutput(content=content, details={"path": str(place.path), "media_type": media_type})


def _is_plain(data: bytes) -> bool:
    """Whether some bytes are text beyond doubt."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return not any(char < " " and char not in "\t\n\r\f\x1b" for char in text)
