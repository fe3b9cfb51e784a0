"""The text of a profile as nested forms: lists, symbols, strings and regular expressions."""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from msgspec import Struct

from caliban_common.lazy import lazy_pattern

MAX_CHARS: Final = 4 << 20
MAX_DEPTH: Final = 20
_TOKEN: Final = lazy_pattern(
    r"""[ \t\r\n]+|;[^\n]*|(?P<open>\()|(?P<close>\))|"""
    r"""(?P<regex>\#"(?:[^"\\]|\\.)*")|(?P<text>"(?:[^"\\]|\\["\\])*")|(?P<symbol>[A-Za-z0-9*_.+/-]+)""",
    re.DOTALL | re.ASCII,
)


class Text(Struct, frozen=True, kw_only=True):
    """A string between quotes."""

    value: str


class Regex(Struct, frozen=True, kw_only=True):
    """A regular expression, `#"..."`."""

    value: str


class Symbol(Struct, frozen=True, kw_only=True):
    """A word."""

    name: str


class Clause(Struct, frozen=True, kw_only=True):
    """A list between brackets, and the line on which it begins, from 1."""

    items: tuple[Node, ...]
    line: int


Node: TypeAlias = "Text | Regex | Symbol | Clause"


class Unreadable(Struct, frozen=True, kw_only=True):
    """Why a text is no profile at all."""

    line: int
    reason: str


def read_forms(text: str) -> tuple[Clause, ...] | Unreadable:
    """The forms at the top of a text, in order."""
    if len(text) > MAX_CHARS:
        return Unreadable(line=1, reason=f"it has more than {MAX_CHARS} characters")
    stack: list[tuple[list[Node], int]] = [([], 1)]
    place, line = 0, 1
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            return Unreadable(line=line, reason=f"no word begins with {text[place]!r}")
        match token.lastgroup:
            case "open":
                stack.append(([], line))
            case "close" if len(stack) > 1:
                items, began = stack.pop()
                stack[-1][0].append(Clause(items=tuple(items), line=began))
            case "close":
                return Unreadable(line=line, reason="a bracket is closed that was not opened")
            case kind if kind is not None:
                stack[-1][0].append(_atom(kind, token.group()))
        if len(stack) > MAX_DEPTH:
            return Unreadable(line=line, reason=f"brackets are nested deeper than {MAX_DEPTH}")
        line += token.group().count("\n")
        place = token.end()
    if len(stack) > 1:
        return Unreadable(line=stack[-1][1], reason="a bracket is not closed")
    top = stack[0][0]
    forms = tuple(node for node in top if isinstance(node, Clause))
    return forms if len(forms) == len(top) else Unreadable(line=1, reason="a word stands outside of brackets")


def _atom(kind: str, token: str) -> Text | Regex | Symbol:
    match kind:
        case "text":
            return Text(value=re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL))
        case "regex":
            return Regex(value=token[2:-1])
        case _:
            return Symbol(name=token)
