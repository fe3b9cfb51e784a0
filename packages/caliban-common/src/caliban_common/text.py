"""Small laws about text that every package needs alike."""

from __future__ import annotations


def clean(text: str) -> str:
    """`text` with every lone surrogate replaced by U+FFFD, so that it can be encoded as UTF-8.

    The two halves of a pair that were cut apart and joined again become the character they are.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def one_line(text: str, *, max_chars: int = 500) -> str:
    """`text` as one line without control characters, at most `max_chars` ≥ 1 long."""
    line = " ".join(text.split())
    line = "".join(char if char.isprintable() else "\ufffd" for char in line)
    return line if len(line) <= max_chars else line[: max_chars - 1] + "…"


def plural(count: int, noun: str) -> str:
    """`count` and `noun`, with an s where English wants one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
