"""Bytes of text that a person wrote, whatever their editor or shell put in front of them."""

from __future__ import annotations

import codecs
from typing import Final

from caliban_common.errors import DataError
from caliban_common.text import clean

MARKS: Final = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8"),
)
"""Byte order marks, those that begin like a shorter one first."""

WINDOWS_1252: Final = (
    "".join(map(chr, range(0x80)))
    + "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ"
    + "".join(map(chr, range(0xA0, 0x100)))
)
"""The characters of its bytes, in order; the five unassigned ones as in the Encoding Standard."""


def decode_text(data: bytes) -> str:
    """The text in `data`: UTF-8, or what its byte order mark says, which is taken away.

    Raises `DataError` that says at which byte it is no text.
    """
    mark, encoding = _marked(data)
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        at = len(mark) + error.start
        shown = encoding.upper().replace("-LE", "").replace("-BE", "")
        raise DataError(
            f"not {shown} text: byte 0x{data[at]:02x} at offset {at:,}", hint="save or send it as UTF-8"
        ) from error


def readable_text(data: bytes) -> str:
    """The text in `data` as people read it, whatever it is; nothing is refused.

    As `decode_text` has it; without a mark, what is hardly UTF-8 is read as windows-1252.
    """
    mark, encoding = _marked(data)
    if mark or mostly_utf8(data):
        return clean(data[len(mark) :].decode(encoding, "replace"))
    return windows_1252(data)


def windows_1252(data: bytes) -> str:
    """`data` as windows-1252, in which every byte has a character."""
    return codecs.charmap_decode(data, "strict", WINDOWS_1252)[0]


def mostly_utf8(data: bytes) -> bool:
    """Whether all is UTF-8, or its well-formed multi-byte characters outnumber the bytes that fit none."""
    text = data.decode("utf-8", "surrogateescape")
    stray = len(text) - len(text.encode("utf-8", "ignore").decode("utf-8"))
    return not stray or len(text) - len(text.encode("ascii", "ignore")) > 2 * stray


def _marked(data: bytes) -> tuple[bytes, str]:
    """The byte order mark of `data`, and the encoding that it says."""
    return next(((mark, name) for mark, name in MARKS if data.startswith(mark)), (b"", "utf-8"))
