"""Bytes of text that a person wrote, whatever their editor or shell put in front of them."""

from __future__ import annotations

from typing import Final

from caliban_common.errors import DataError

MARKS: Final = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8"),
)
"""Byte order marks, those that begin like a shorter one first."""


def decode_text(data: bytes) -> str:
    """The text in `data`: UTF-8, or what its byte order mark says, which is taken away.

    Raises `DataError` that says at which byte it is no text.
    """
    mark, encoding = next(((mark, name) for mark, name in MARKS if data.startswith(mark)), (b"", "utf-8"))
    try:
        return data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        at = len(mark) + error.start
        shown = encoding.upper().replace("-LE", "").replace("-BE", "")
        raise DataError(
            f"not {shown} text: byte 0x{data[at]:02x} at offset {at:,}", hint="save or send it as UTF-8"
        ) from error
