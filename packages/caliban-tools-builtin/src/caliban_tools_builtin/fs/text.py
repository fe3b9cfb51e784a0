"""How a file says its text: encoding, byte order mark and line ends, as one value.

Decoding and encoding with the same format gives the same bytes for every input, so that an edit can touch
its span and nothing else. Bytes that are not UTF-8 are never replaced: a file with a few stray bytes keeps
them as escapes, any other file is read as windows-1252, in which every byte has one character (the five
unassigned ones as in the WHATWG encoding standard).
"""

from __future__ import annotations

import codecs
from typing import Literal, TypeAlias, assert_never

from msgspec import Struct

from caliban_common.decoding import WINDOWS_1252, mostly_utf8, windows_1252
from caliban_common.text import clean
from caliban_tools_builtin.errors import FileRefused

Encoding: TypeAlias = Literal["utf-8", "utf-8 with stray bytes", "utf-16-le", "utf-16-be", "windows-1252"]
LineEnd: TypeAlias = Literal["\n", "\r\n", "\r"]

_UTF32 = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)


class TextFormat(Struct, frozen=True, kw_only=True):
    """`bom` is kept apart from the text. `eol` is the most frequent line end, `uniform` if the only one."""

    encoding: Encoding = "utf-8"
    bom: bytes = b""
    eol: LineEnd = "\n"
    uniform: bool = True


class Decoded(Struct, frozen=True, kw_only=True):
    """The text of a file, line ends as they are, and the format that encodes it again."""

    text: str
    format: TextFormat


def decode(data: bytes, shown: str) -> Decoded:
    """The text in `data`. Raises `FileRefused`, naming the file as `shown`, when it is not text."""
    encoding, bom = _encoding(data, shown)
    text = _decode(data[len(bom) :], encoding)
    if text is None or "\0" in text:
        raise FileRefused(f"{shown} is a binary file ({len(data):,} bytes), not text")
    eol, uniform = line_end(text)
    form = TextFormat(encoding=encoding, bom=bom, eol=eol, uniform=uniform)
    if encode(text, form, shown) != data:
        raise FileRefused(f"{shown} is in an encoding that cannot be kept byte for byte")
    return Decoded(text=text, format=form)


def readable(data: bytes) -> str:
    """A piece of a file as people read it, by the same rules as the whole file; nothing is refused."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        encoding: Encoding = "utf-8 with stray bytes" if mostly_utf8(data) else "windows-1252"
        return clean(_decode(data, encoding) or "")


def encode(text: str, form: TextFormat, shown: str) -> bytes:
    """`text` as the bytes of a file in that format. Raises `FileRefused` for what it cannot express."""
    try:
        return form.bom + _encode(text, form.encoding)
    except UnicodeEncodeError as error:
        raise FileRefused(
            f"{shown} is encoded as {form.encoding}, which has no {text[error.start]!r}",
            hint="use other characters, or convert the file to UTF-8 first",
        ) from error


def from_windows_1252(text: str) -> bytes | None:
    """The bytes of `text` in windows-1252; `None` where it has a character that is not in there."""
    try:
        return _encode(text, "windows-1252")
    except UnicodeEncodeError:
        return None


def line_end(text: str) -> tuple[LineEnd, bool]:
    """The most frequent line end of `text` and whether it is the only one; LF for a single line.

    A lone CR counts only where there is no LF at all: elsewhere it is a character.
    """
    pairs = text.count("\r\n")
    feeds = text.count("\n") - pairs
    if pairs:
        return ("\r\n" if pairs >= feeds else "\n"), feeds == 0
    if feeds or "\r" not in text:
        return "\n", True
    return "\r", True


def with_line_end(text: str, eol: LineEnd) -> str:
    """`text` with each of its line ends, LF or CRLF, turned into `eol`."""
    text = text.replace("\r\n", "\n")
    return text if eol == "\n" else text.replace("\n", eol)


def with_feeds(text: str) -> str:
    """`text`, as long as it is, with LF where lone CRs are its line ends."""
    return text if "\n" in text else text.replace("\r", "\n")


def lines_of(text: str, eol: LineEnd) -> list[str]:
    """The lines of `text` without their ends; a final line end opens no further line."""
    if not text:
        return []
    if eol == "\r":
        return text.removesuffix("\r").split("\r")
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines


def _encoding(data: bytes, shown: str) -> tuple[Encoding, bytes]:
    if data.startswith(_UTF32):
        raise FileRefused(f"{shown} is UTF-32 text, which is not supported", hint="convert it to UTF-8 first")
    if data.startswith(codecs.BOM_UTF16_LE):
        return "utf-16-le", codecs.BOM_UTF16_LE
    if data.startswith(codecs.BOM_UTF16_BE):
        return "utf-16-be", codecs.BOM_UTF16_BE
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return ("utf-8 with stray bytes" if bom or mostly_utf8(data) else "windows-1252"), bom
    return "utf-8", bom


def _decode(data: bytes, encoding: Encoding) -> str | None:
    match encoding:
        case "utf-8":
            return data.decode("utf-8")
        case "utf-8 with stray bytes":
            return data.decode("utf-8", "surrogateescape")
        case "utf-16-le" | "utf-16-be":
            return data.decode(encoding, "surrogatepass") if len(data) % 2 == 0 else None
        case "windows-1252":
            return windows_1252(data)
        case _:
            assert_never(encoding)


def _encode(text: str, encoding: Encoding) -> bytes:
    match encoding:
        case "utf-8":
            return text.encode("utf-8")
        case "utf-8 with stray bytes":
            return text.encode("utf-8", "surrogateescape")
        case "utf-16-le" | "utf-16-be":
            return text.encode(encoding, "surrogatepass")
        case "windows-1252":
            return codecs.charmap_encode(text, "strict", codecs.charmap_build(WINDOWS_1252))[0]
        case _:
            assert_never(encoding)
