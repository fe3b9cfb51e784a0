"""Globs that match in time linear in the text for any pattern a person would write.

The dialect has three wildcards: `*`, `?` and, between slashes, `**`. A backslash before one of
`* ? [ ] { } \\` makes that character literal; before anything else it is itself. Character classes and
brace alternatives are refused rather than read as plain text: whoever writes them means something else.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct

from caliban_common.lazy import lazy_pattern

_ESCAPABLE = frozenset("*?[]{}\\")
_UNSUPPORTED = frozenset("[]{}")
_RARE = frozenset("?[]{}\\")
_WILD = lazy_pattern(r"[*?\[\]{}]")
_MEANS_MORE = lazy_pattern(r"[*?\[\]{}\\]")
_WORD_CHARACTER = lazy_pattern(r"[A-Za-z0-9_]")

Piece: TypeAlias = "str | re.Pattern[str]"
"""The text between two stars: plain, or with `?` as a fixed-length expression."""


class GlobSyntaxError(ValueError):
    """The pattern uses a syntax that this dialect does not have."""


class TextGlob(Struct, frozen=True):
    """A compiled glob whose `*` crosses every character, newline included.

    `pieces` are what stands between the stars, so a glob without a star has one piece. `prefix` is the
    literal text before the first wildcard.
    """

    pieces: tuple[Piece, ...]
    sizes: tuple[int, ...]
    prefix: str
    exact: bool

    def matches(self, text: str) -> bool:
        """Whether the whole text matches."""
        if len(self.pieces) == 1:
            return len(text) == self.sizes[0] and _at(self.pieces[0], text, 0)
        tail = len(text) - self.sizes[-1]
        if not _at(self.pieces[0], text, 0) or not _at(self.pieces[-1], text, tail):
            return False
        position = self.sizes[0]
        for piece in self.pieces[1:-1]:
            position = _find(piece, text, position)
            if position < 0:
                return False
        return position <= tail

    def may_match_in(self, text: str) -> bool:
        """Whether all that it says literally stands somewhere in `text`: else it matches no part of it."""
        return all(piece in text for piece in self.pieces if isinstance(piece, str))

    def occurs_in(self, text: str) -> bool:
        """Whether the glob matches somewhere in the text.

        A glob that begins with a letter, a digit or an underscore must begin at the start of a word, so
        that `rm *` does not occur in `farm out`.
        """
        first, *rest = self.pieces
        bounded = bool(self.prefix) and _WORD_CHARACTER.match(self.prefix) is not None
        position = _find_bounded(first, text) if bounded else _find(first, text, 0)
        for piece in rest:
            if position < 0:
                return False
            position = _find(piece, text, position)
        return position >= 0


@lru_cache(maxsize=1024)
def compile_text(pattern: str) -> TextGlob:
    """Compile a glob over plain text; raises `GlobSyntaxError` for classes and braces."""
    if _RARE.isdisjoint(pattern):  # the names of tools, and most globs: a tenth of the time
        plain = tuple(pattern.split("*"))
        sizes = tuple(len(piece) for piece in plain)
        return TextGlob(pieces=plain, sizes=sizes, prefix=plain[0], exact=len(plain) == 1)
    pieces: list[list[str | None]] = [[]]
    for item in _scan(pattern):
        if item == "*":
            pieces.append([])
        else:
            pieces[-1].append(None if item == "?" else item[-1])
    first = pieces[0]
    wild = first.index(None) if None in first else len(first)
    return TextGlob(
        pieces=tuple(_piece(piece) for piece in pieces),
        sizes=tuple(len(piece) for piece in pieces),
        prefix="".join(char for char in first[:wild] if char),
        exact=len(pieces) == 1 and wild == len(first),
    )


def literal_text(pattern: str) -> str | None:
    """The text a wildcard-free pattern stands for, escapes resolved; `None` when it has a wildcard."""
    items = list(_scan(pattern, strict=False))
    return None if "*" in items or "?" in items else "".join(item[-1] for item in items)


_NOTHING = TextGlob((), (), "", False)


def escaped(text: str) -> str:
    """The text as a pattern that means only itself."""
    return _MEANS_MORE.sub(r"\\\g<0>", text)


class PathGlob(Struct, frozen=True):
    """A compiled glob over the components of an absolute path; `None` stands for `**`."""

    components: tuple[TextGlob | None, ...]

    def matches(self, parts: tuple[str, ...]) -> bool:
        """Whether all the components match. `*` and `?` stay within one component."""
        return self._match(parts, len(parts))

    def covers(self, parts: tuple[str, ...]) -> bool:
        """Whether the path or, for a glob that ends in a plain name or in `/**`, a parent of it matches."""
        if not self.components:
            return True
        last = self.components[-1]
        if last is not None and last.exact:  # whatever matches ends in that name: most paths do not hold it
            name = last.pieces[0]
            return name in parts and any(
                part == name and self._match(parts, size) for size, part in enumerate(parts, 1)
            )
        if self._match(parts, len(parts)):
            return True
        return last is None and PathGlob(self.components[:-1])._match(parts, len(parts))

    def _match(self, parts: tuple[str, ...], size: int) -> bool:
        components = self.components
        at = index = 0
        star = restart = -1
        while index < size:
            component = components[at] if at < len(components) else _NOTHING
            if component is None:
                star, restart = at, index
                at += 1
            elif component is not _NOTHING and component.matches(parts[index]):
                at += 1
                index += 1
            elif star >= 0:
                restart += 1
                at, index = star + 1, restart
            else:
                return False
        return all(component is None for component in components[at:])


def compile_path(parts: tuple[str, ...]) -> PathGlob:
    """Compile the components of an absolute path pattern; raises `GlobSyntaxError`."""
    components: list[TextGlob | None] = []
    for part in parts:
        if part != "**":
            components.append(compile_text(part))
        elif not components or components[-1] is not None:
            components.append(None)
    return PathGlob(tuple(components))


def _scan(pattern: str, *, strict: bool = True) -> list[str]:
    """Split into items: `*`, `?`, a character, or an escaped character as two characters."""
    items: list[str] = []
    index = 0
    while index < len(pattern):
        char = pattern[index]
        if char == "\\" and index + 1 < len(pattern) and pattern[index + 1] in _ESCAPABLE:
            items.append(pattern[index : index + 2])
            index += 2
            continue
        if strict and char in _UNSUPPORTED:
            raise GlobSyntaxError(f"{char!r} has no meaning in a pattern; write \\{char} for the character")
        items.append(char)
        index += 1
    return items


def _piece(chars: list[str | None]) -> Piece:
    if None not in chars:
        return "".join(char for char in chars if char)
    return re.compile("".join("." if char is None else re.escape(char) for char in chars), re.DOTALL)


def _at(piece: Piece, text: str, index: int) -> bool:
    if index < 0:
        return False
    if isinstance(piece, str):
        return text.startswith(piece, index)
    return piece.match(text, index) is not None


def _find(piece: Piece, text: str, start: int) -> int:
    """The end of the leftmost match at or after `start`, or -1."""
    if isinstance(piece, str):
        position = text.find(piece, start)
        return -1 if position < 0 else position + len(piece)
    match = piece.search(text, start)
    return -1 if match is None else match.end()


def _find_bounded(piece: Piece, text: str) -> int:
    """The end of the leftmost match that begins a word, or -1."""
    start = 0
    while True:
        end = _find(piece, text, start)
        if end < 0:
            return -1
        size = len(piece) if isinstance(piece, str) else len(piece.search(text, start).group())  # type: ignore[union-attr]
        begin = end - size
        if begin == 0 or _WORD_CHARACTER.match(text[begin - 1]) is None:
            return end
        start = begin + 1
