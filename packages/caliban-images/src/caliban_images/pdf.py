"""A PDF on its way to a model: itself where the model takes PDFs, what is written in it where it does not."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final

from msgspec import Struct

from caliban_common.message import Base64Source, DocumentBlock, TextBlock
from caliban_common.text import plural
from caliban_images.errors import MediaRefused
from caliban_images.limits import MediaLimits

MAX_SOURCE_BYTES = 50_000_000
"""So large a file is looked at."""
MAX_TEXT_PAGES = 100
HINT: Final = "`pip install caliban-images[pdf]` takes PDFs apart"

_MAGIC: Final = b"%PDF-"


class PdfWindow(Struct, frozen=True, kw_only=True):
    """A part of a document: `count` pages from page `first` on, from 1; `None` is all the rest."""

    first: int = 1
    count: int | None = None

    @property
    def is_whole(self) -> bool:
        """Whether that is the whole document."""
        return self.first == 1 and self.count is None


class PreparedPdf(Struct, frozen=True, kw_only=True):
    """What is sent of a PDF: itself or its text. `shown` says which part of it that is, in words."""

    block: DocumentBlock | TextBlock
    shown: str
    size_bytes: int


def is_pdf(data: bytes) -> bool:
    """Whether some bytes begin like a PDF."""
    return data.startswith(_MAGIC)


def prepare_pdf(
    data: bytes, limits: MediaLimits, *, title: str, window: PdfWindow | None = None
) -> PreparedPdf:
    """The PDF in `data`, or the part of it in `window`, as a model with these limits takes it.

    Blocks while it is taken apart: call it on a thread. Raises `MediaRefused`.
    """
    from caliban_images.pages import has_pypdf, opened

    window = window or PdfWindow()
    _check_ends(data)
    if not has_pypdf():
        return _as_it_is(data, limits, title, window)
    document = opened(data)
    first, last = _range(window, document.page_count)
    pages = f"{_span(first, last)} of {document.page_count}"
    if not limits.reads_pdf:
        last = min(last, first + MAX_TEXT_PAGES - 1)
        text = document.text(first, last)
        shown = f"the text of {_span(first, last)} of {document.page_count}"
        return PreparedPdf(block=TextBlock(text=text), shown=shown, size_bytes=len(text.encode()))
    if last - first + 1 > limits.pdf_pages:
        most = plural(limits.pdf_pages, "page")
        raise MediaRefused(
            f"the PDF has {plural(document.page_count, 'page')}, and the model takes at most {most} at once",
            hint="take a part of it",
        )
    made = data if window.is_whole else document.part(first, last)
    return PreparedPdf(block=_block(made, limits, title), shown=pages, size_bytes=len(made))


def _as_it_is(data: bytes, limits: MediaLimits, title: str, window: PdfWindow) -> PreparedPdf:
    """The whole PDF, of which nothing is known but its bytes."""
    if not limits.reads_pdf:
        raise MediaRefused(
            "the model takes no PDF, and there is nothing here that reads its text", hint=HINT
        ).with_remedy("pdf_extra")
    if not window.is_whole:
        raise MediaRefused(
            "a PDF is sent as a whole: there is nothing here that takes out pages", hint=HINT
        ).with_remedy("pdf_extra")
    if b"/Encrypt" in data:
        raise MediaRefused("the PDF is encrypted", hint="save a copy of it without its password")
    pages = len(re.findall(rb"/Type\s*/Page(?![A-Za-z])", data))  # not those in packed objects
    if pages > limits.pdf_pages:
        raise MediaRefused(
            f"the PDF has {pages:,} pages, and the model takes at most {limits.pdf_pages:,} at once",
            hint=HINT,
        ).with_remedy("pdf_extra")
    return PreparedPdf(block=_block(data, limits, title), shown="all pages", size_bytes=len(data))


def _check_ends(data: bytes) -> None:
    if not is_pdf(data):
        raise MediaRefused("it is no PDF")
    if b"%%EOF" not in data[-2048:]:
        raise MediaRefused("the PDF is cut off: its end is missing")


def _range(window: PdfWindow, page_count: int) -> tuple[int, int]:
    if not page_count:
        raise MediaRefused("the PDF has no pages")
    if window.first > page_count:
        raise MediaRefused(f"page {window.first} is past the end: the PDF has {plural(page_count, 'page')}")
    count = page_count if window.count is None else window.count
    return window.first, min(page_count, window.first + count - 1)


def _span(first: int, last: int) -> str:
    return f"page {first}" if first == last else f"pages {first}-{last}"


def _block(data: bytes, limits: MediaLimits, title: str) -> DocumentBlock:
    if len(data) > limits.pdf_bytes:
        raise MediaRefused(
            f"the PDF is too large to send: {len(data):,} bytes, and at most {limits.pdf_bytes:,} are taken",
            hint="take a part of it",
        )
    source = Base64Source(media_type="application/pdf", data=b64encode(data).decode("ascii"))
    return DocumentBlock(source=source, title=title)
