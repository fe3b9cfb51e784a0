"""What is refused or distrusted before any grammar looks at it: bytes and characters.

An argument that the kernel cannot carry, or that no shell would read as we do, is refused. Text that shows
differently from what it is stays readable for deny rules, and no wildcard allow rule applies to it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

from caliban_common.lazy import lazy_pattern

MAX_ARGUMENT_BYTES = 131_071
"""Linux carries one argument of at most 128 KiB, its closing NUL included."""

MAX_CHECKED_CHARS = 10_000
"""A longer command is never allowed by a wildcard."""

MAX_DEPTH = 64
"""A tool input nested deeper is refused."""

_EXCERPT_CHARS = 40
_HIDDEN = lazy_pattern(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# `isascii` stands before each search: 0.04 µs for text of any length, where a search takes 19 µs per KB.
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_SHELL_SYNTAX = frozenset(" \t\n;|&<>()$`\\\"'*?[]{}~#!=-")


def refused_text(text: str) -> str | None:
    """Why no program can be given this text, or `None`."""
    if "\x00" in text:
        return "it contains a NUL byte"
    if not text.isascii() and _SURROGATE.search(text):
        return "it contains half of a surrogate pair, which is not text"
    return None


def refused_command(command: str) -> str | None:
    """Why this shell command cannot be run at all, or `None`."""
    reason = refused_text(command)
    if reason is not None:
        return reason
    size = len(command) if command.isascii() else len(command.encode())
    if size > MAX_ARGUMENT_BYTES:
        return f"it is too long: {size} bytes, and a program takes at most {MAX_ARGUMENT_BYTES}"
    return None


def refused_input(value: object) -> str | None:
    """Why a tool input is not valid text all through, or `None`. Iterative: depth costs no stack."""
    pending: list[tuple[object, int]] = [(value, 0)]
    while pending:
        item, depth = pending.pop()
        if depth > MAX_DEPTH:
            return f"it is nested more than {MAX_DEPTH} levels deep"
        if isinstance(item, str):
            if not item.isascii() and _SURROGATE.search(item):
                return "it contains half of a surrogate pair, which is not text"
        elif isinstance(item, Mapping):
            pending.extend((part, depth + 1) for pair in item.items() for part in pair)
        elif isinstance(item, Sequence) and not isinstance(item, (bytes, bytearray)):
            pending.extend((part, depth + 1) for part in item)
    return None


@lru_cache(maxsize=256)
def hidden_character(text: str) -> str | None:
    """The first control, zero-width, bidi, tag or filler character, as `U+202E`, or `None`."""
    if text.isascii() and text.isprintable():  # most: the pattern takes half a millisecond to make
        return None
    character = _HIDDEN.search(text)
    return None if character is None else f"U+{ord(character.group()):04X}"


def disguised(char: str) -> bool:
    """Whether a non-ASCII character stands for shell syntax or a blank once it is normalised."""
    return char.isspace() or any(part in _SHELL_SYNTAX for part in unicodedata.normalize("NFKC", char))


def lookalike(text: str) -> str | None:
    """The first non-ASCII character that folds to an ASCII one, as `U+FF0E`, or `None`."""
    if text.isascii():
        return None
    for char in text:
        if not char.isascii() and any(part.isascii() for part in fold(char)):
            return f"U+{ord(char):04X}"
    return None


def fold(text: str) -> str:
    """The text as the most forgiving file system would compare it: compatibility and case folded."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def excerpt(text: str) -> str:
    """The text on one line and at most 40 characters long, hidden characters escaped."""
    beginning = text[: _EXCERPT_CHARS + 1]
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in beginning
    )
    return shown if len(shown) <= _EXCERPT_CHARS else shown[: _EXCERPT_CHARS - 3] + "..."
