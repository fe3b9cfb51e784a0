"""The text in the bytes of a page, whatever its server says of them.

A byte order mark counts most; then UTF-8, where the bytes are that beyond doubt; then what the answer, or the
page itself, names. Names mean what browsers take them for (the Encoding Standard): many more pages say
`iso-8859-1`, `gb2312` or `shift_jis` than keep to it. A few bytes that are wrong spoil themselves and not the
page.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping
from typing import Final

from caliban_common.decoding import MARKS, windows_1252

_LATIN: Final = "windows-1252"
_MEANT: Final[Mapping[str, str]] = {
    "ascii": _LATIN,
    "iso8859-1": _LATIN,
    "cp1252": _LATIN,
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""What browsers read under a name, by the names that Python has for encodings."""
_NO_CHARSETS: Final = ("punycode", "idna", "unicode-escape", "raw-unicode-escape", "undefined")
"""Encodings that no page is in; the first takes time that grows with the square of the length."""
_HEAD_BYTES: Final = 2048
_SNIFFED_BYTES: Final = 1445
_META: Final = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?([\w-]{1,40})", re.IGNORECASE)
_XML: Final = re.compile(rb"\s*<\?xml[^>]{0,200}?\sencoding=[\"']([\w.:-]{1,40})")
_CONTROLS: Final = bytes(code for code in range(0x20) if code not in b"\t\n\f\r\x1b")
_LEAST_CHARS: Final = 3
"""Fewer characters beyond ASCII prove no UTF-8 where another encoding than that of the west is named."""
_SPOILED: Final = 2
"""At most one in so many characters beyond ASCII may be wrong in the encoding that a page is read in."""


def said_inside(body: bytes) -> str | None:
    """The encoding that a page names itself, in its declaration of XML or its `meta`."""
    head = body[:_HEAD_BYTES]
    match = _XML.match(head) or _META.search(head)
    if match is None:
        return None
    name = match[1].decode("ascii")
    return "utf-8" if name.lower().startswith("utf-16") else name  # it was read as ASCII up to here


def is_binary(body: bytes, charset: str | None) -> bool:
    """Whether the beginning of `body` is nothing that a text begins with."""
    is_wide = (_codec(charset) or "").startswith(("utf-16", "utf-32"))
    if is_wide or any(body.startswith(mark) for mark, _ in MARKS):
        return False
    head = body[:_SNIFFED_BYTES]
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return b"\0" in head or controls * 20 > len(head)


def text_of(body: bytes, charset: str | None) -> str:
    """`body` as text; `charset` is what somebody calls its encoding."""
    for mark, encoding in MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(encoding, "replace")
    named = _codec(charset)
    plain = _strictly(body, "utf-8")
    least = 1 if named == _LATIN else _LEAST_CHARS
    if plain is not None and (named is None or _beyond_ascii(plain) >= least):
        return plain
    names = [name for name in (named, "utf-8") if name is not None]
    for name in names:
        if (text := _strictly(body, name)) is not None:
            return text
    for name in names:
        text = body.decode(name, "replace")
        if text.count("\ufffd") * _SPOILED <= _beyond_ascii(text):
            return text
    return windows_1252(body)


def _codec(charset: str | None) -> str | None:
    """The encoding that is meant by a name; `None` for no encoding of text."""
    given = (charset or "").lower()
    for name in (given, given.removeprefix("x-")):
        try:
            codec = codecs.lookup(name).name
            b"a".decode(name)
        except LookupError:
            continue  # not known, or something that unpacks, such as zlib
        except ValueError:
            pass  # an encoding in which that is no text
        return None if codec in _NO_CHARSETS else _MEANT.get(codec, codec)
    return None


def _strictly(body: bytes, name: str) -> str | None:
    if name == _LATIN:
        return windows_1252(body)
    try:
        return body.decode(name)
    except ValueError:
        return None


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))
