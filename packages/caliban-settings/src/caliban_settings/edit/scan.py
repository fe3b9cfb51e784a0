"""Where the parts of a TOML text stand: headers, keys, and the elements of arrays.

For text that a TOML parser has taken: the scan looks for places and judges nothing. Its time is linear.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from caliban_common.lazy import lazy_pattern

_BLANK: Final = lazy_pattern(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_SPACES: Final = lazy_pattern(r"[ \t]*+")
_REST: Final = lazy_pattern(r"[ \t]*+(?:#[^\n]*+)?+(?:\r?\n|\Z)")
_PART: Final = lazy_pattern(r"""[A-Za-z0-9_-]++|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'""")
_STRING: Final = lazy_pattern(
    r'''"""(?:[^"\\]|\\[\s\S]|"{1,2}(?!"))*+"{3,5}|\'\'\'(?:[^']|'{1,2}(?!'))*+'{3,5}'''
    r"""|"(?:[^"\\\n]|\\.)*+"|'[^'\n]*+'"""
)
_PLAIN: Final = lazy_pattern(r"""[^"'\[\]{},#\r\n]++""")


class Block(Struct, frozen=True, kw_only=True):
    """What follows one `[table]` or `[[table]]`, from its header to the end of the line of its last key."""

    path: tuple[str, ...]
    is_array: bool
    start: int
    end: int


class TextSpan(Struct, frozen=True, kw_only=True):
    """Where something stands in a text."""

    start: int
    end: int


class Array(Struct, frozen=True, kw_only=True):
    """A static array: its brackets, and its elements without commas."""

    path: tuple[str, ...]
    start: int
    end: int
    items: tuple[TextSpan, ...]


class Layout(Struct, frozen=True, kw_only=True):
    """The parts of a text, in their order."""

    blocks: tuple[Block, ...]
    arrays: tuple[Array, ...]

    def elements(self, path: tuple[str, ...]) -> tuple[Block, ...]:
        """The elements of an array of tables."""
        return tuple(block for block in self.blocks if block.is_array and block.path == path)

    def array(self, path: tuple[str, ...]) -> Array | None:
        """The static array at `path`."""
        return next((array for array in self.arrays if array.path == path), None)


def scan(text: str) -> Layout:
    """The layout of `text`. Raises `ValueError` where it does not find its way."""
    return _Scan(text).layout()


class _Scan:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 1 if text.startswith("\ufeff") else 0
        self.arrays: list[Array] = []

    def layout(self) -> Layout:
        blocks: list[Block] = []
        header: tuple[str, ...] = ()
        while True:
            self.skip(_BLANK)
            if self.at >= len(self.text):
                return Layout(blocks=tuple(blocks), arrays=tuple(self.arrays))
            start = self.at
            if self.text[start] == "[":
                is_array = self.text.startswith("[[", start)
                self.at += 2 if is_array else 1
                header = self.key()
                self.expect("]]" if is_array else "]")
                self.skip(_REST)
                blocks.append(Block(path=header, is_array=is_array, start=start, end=self.at))
                continue
            path = (*header, *self.key())
            self.expect("=")
            self.skip(_SPACES)
            self.value(path)
            self.skip(_REST)
            if blocks:
                last = blocks[-1]
                blocks[-1] = Block(path=last.path, is_array=last.is_array, start=last.start, end=self.at)

    def key(self) -> tuple[str, ...]:
        parts: list[str] = []
        while True:
            self.skip(_SPACES)
            match = _PART.match(self.text, self.at)
            if match is None:
                raise ValueError(f"no key at {self.at}")
            self.at = match.end()
            parts.append(_plain_key(match[0]))
            self.skip(_SPACES)
            if not self.text.startswith(".", self.at):
                return tuple(parts)
            self.at += 1

    def value(self, path: tuple[str, ...] | None = None) -> None:
        """Pass one value; an array is remembered where it has a `path`."""
        if self.text.startswith("[", self.at):
            self.array(path)
        elif self.text.startswith("{", self.at):
            self.inline_table()
        elif not self.skip(_STRING):
            match = _PLAIN.match(self.text, self.at)
            if match is None:
                raise ValueError(f"no value at {self.at}")
            self.at += len(match[0].rstrip())

    def array(self, path: tuple[str, ...] | None) -> None:
        start, items = self.at, []
        self.at += 1
        self.skip(_BLANK)
        while not self.text.startswith("]", self.at):
            begun = self.at
            self.value()
            items.append(TextSpan(start=begun, end=self.at))
            self.comma()
        self.at += 1
        if path is not None:
            self.arrays.append(Array(path=path, start=start, end=self.at, items=tuple(items)))

    def inline_table(self) -> None:
        self.at += 1
        self.skip(_BLANK)
        while not self.text.startswith("}", self.at):
            self.key()
            self.expect("=")
            self.skip(_SPACES)
            self.value()
            self.comma()
        self.at += 1

    def comma(self) -> None:
        self.skip(_BLANK)
        if self.text.startswith(",", self.at):
            self.at += 1
            self.skip(_BLANK)

    def expect(self, sign: str) -> None:
        if not self.text.startswith(sign, self.at):
            raise ValueError(f"no {sign} at {self.at}")
        self.at += len(sign)

    def skip(self, pattern: re.Pattern[str]) -> bool:
        """Go on behind `pattern`, where it stands here."""
        match = pattern.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        return True


def _plain_key(part: str) -> str:
    if part.startswith("'"):
        return part[1:-1]
    if not part.startswith('"'):
        return part
    import tomllib

    return str(tomllib.loads(f"x = {part}")["x"])
