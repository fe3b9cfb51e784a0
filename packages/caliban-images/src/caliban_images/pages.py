"""The door to pypdf: PDFs are taken apart behind it, and nothing else knows the library.

It is not there in every installation, and is loaded with the first PDF.
"""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

from caliban_common.text import clean
from caliban_images.errors import MediaRefused

if TYPE_CHECKING:
    from pypdf import PdfReader

MAX_TEXT_CHARS = 400_000
"""So much is read out of one document; a result has caps of its own."""
MAX_CONTENT_BYTES = 6_000_000
"""Of drawing commands that are gone through for it: a page of ten lines may have any number of them."""
CORRUPT = "the PDF is corrupt"


def has_pypdf() -> bool:
    """Whether PDFs can be taken apart here."""
    try:
        import pypdf  # noqa: F401
    except ImportError:
        return False
    return True


class OpenedPdf:
    """A PDF whose pages can be counted, read and taken out; they count from 1."""

    def __init__(self, reader: PdfReader, page_count: int) -> None:
        self._reader = reader
        self.page_count = page_count

    def text(self, first: int, last: int) -> str:
        """What is written on pages `first` to `last`, each under its number. Raises `MediaRefused`."""
        parts: list[str] = []
        left, commands_left = MAX_TEXT_CHARS, MAX_CONTENT_BYTES
        for number in range(first, last + 1):
            text, size_bytes = self._page_text(number, commands_left)
            if text is None:
                parts.append(f"[cut off here: page {number} takes too long to be read]")
                break
            commands_left -= size_bytes
            parts.append(f"--- page {number} ---\n{text or '(no text on this page)'}")
            left -= len(text)
            if left < 0:
                parts.append(f"[cut off here: the text is longer than {MAX_TEXT_CHARS:,} characters]")
                break
        return "\n\n".join(parts)

    def part(self, first: int, last: int) -> bytes:
        """Pages `first` to `last` as a PDF of their own. Raises `MediaRefused`."""
        import pypdf

        out = BytesIO()
        try:
            writer = pypdf.PdfWriter()
            for number in range(first, last + 1):
                writer.add_page(self._reader.pages[number - 1])
            writer.write(out)
        except Exception as error:
            raise MediaRefused(f"{CORRUPT}: its pages cannot be taken out") from error
        return out.getvalue()

    def _page_text(self, number: int, most_bytes: int) -> tuple[str | None, int]:
        """What is written on a page, and how many bytes of commands it has; nothing of one with more."""
        try:
            page = self._reader.pages[number - 1]
            content = page.get_contents()
            size_bytes = 0 if content is None else len(content.get_data())
            return clean(page.extract_text()).strip() if size_bytes <= most_bytes else None, size_bytes
        except Exception as error:
            raise MediaRefused(f"{CORRUPT}: page {number} cannot be read") from error


def opened(data: bytes) -> OpenedPdf:
    """The PDF in `data`. Raises `MediaRefused` for one that is corrupt or asks for a password."""
    import pypdf

    try:
        reader = pypdf.PdfReader(BytesIO(data))
        is_locked = reader.is_encrypted
        page_count = 0 if is_locked else len(reader.pages)
    except Exception as error:
        raise MediaRefused(f"{CORRUPT}: it cannot be opened") from error
    if is_locked:
        raise MediaRefused("the PDF is encrypted", hint="save a copy of it without its password")
    return OpenedPdf(reader, page_count)
