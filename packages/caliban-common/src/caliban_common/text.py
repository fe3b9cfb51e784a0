"""Small laws about text that every package needs alike."""

from __future__ import annotations

from typing import Final

from caliban_common.lazy import lazy_pattern

_ESCAPE: Final = lazy_pattern(r"(?s)\\(?:u([0-9a-fA-F]{4})|.)")


def clean(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD, so that it can be encoded as UTF-8.

    The two halves of a pair that were cut apart and joined again become the character they are.
    """
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def half_pair(text: str) -> int | None:
    """Where in JSON text an escape stands for half a character (`\\ud83d`); `None` where none does.

    JSON's grammar lets it by, and no file, pipe or server takes the text that comes of it.
    """
    if "\\u" not in text:
        return None
    open_at, end = None, -1
    for escape in _ESCAPE.finditer(text):
        code = int(escape[1], 16) if escape[1] else 0
        is_low = 0xDC00 <= code < 0xE000
        if open_at is not None:
            if not is_low or escape.start() != end:
                return open_at
            open_at = None
        elif is_low:
            return escape.start()
        elif 0xD800 <= code < 0xDC00:
            open_at, end = escape.start(), escape.end()
    return open_at


def one_line(text: str, *, max_chars: int = 500) -> str:
    """`text` as one line without control characters, at most `max_chars` ≥ 1 long."""
    line = " ".join(text.split())
    line = "".join(char if char.isprintable() else "\ufffd" for char in line)
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def plural(count: int, noun: str) -> str:
    """`count` and `noun`, with an s where English wants one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def whole_characters(data: bytes) -> bytes:
    """`data`, taken for UTF-8, without the beginning of a character whose end is missing."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return data[:-back] if length > back else data
        if byte < 0x80:
            break
    return data
