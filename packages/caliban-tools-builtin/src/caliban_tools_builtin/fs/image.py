"""Which image a file holds, by its first bytes: a name says nothing about content."""

from __future__ import annotations

MAX_BYTES = 3_750_000
"""Encoded as base64 this is the 5 MB that providers take of one image."""

_SENDABLE = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
)
_OTHER = (
    (b"BM", "a BMP image"),
    (b"II*\0", "a TIFF image"),
    (b"MM\0*", "a TIFF image"),
    (b"\0\0\1\0", "an ICO image"),
    (b"%PDF-", "a PDF document"),
    (b"PK\3\4", "a ZIP archive"),
    (b"\x1f\x8b", "a gzip archive"),
)


def media_type(data: bytes) -> str | None:
    """The media type of an image that every provider takes, or `None`."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((name for magic, name in _SENDABLE if data.startswith(magic)), None)


def other_kind(data: bytes) -> str | None:
    """What a file is that is neither such an image nor text, as far as its first bytes say."""
    return next((name for magic, name in _OTHER if data.startswith(magic)), None)
