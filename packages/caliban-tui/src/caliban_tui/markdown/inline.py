"""Emphasis, code, links and the like as spans."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from caliban_common.lazy import lazy_pattern
from caliban_tui.clean import neutral
from caliban_tui.markdown.words import WordSpan, flat

if TYPE_CHECKING:
    from markdown_it.token import Token

SCHEMES: Final = ("http://", "https://", "mailto:", "file://")
"""Where a link may lead; others are shown, and lead nowhere."""
ADDRESS: Final = lazy_pattern(r"https?://[^\s<>\"'`\x00-\x20]*[^\s<>\"'`.,;:!?\x00-\x20]")
MAX_LINK_CHARS: Final = 2_048
STYLES: Final = MappingProxyType({"strong_open": "bold", "em_open": "emphasis", "s_open": "dim"})


def safe_link(address: str) -> str:
    """`address` if a terminal may lead a person there, else nothing."""
    known = address.lower().startswith(SCHEMES)
    fits = known and len(address) <= MAX_LINK_CHARS and address.isascii() and address.isprintable()
    return address if fits and " " not in address else ""


def spans_of(tokens: Sequence[Token], style: str = "") -> Iterator[WordSpan]:
    """The spans of an inline token's children; `style` is that of all of it, such as a heading's."""
    styles: list[str] = [style] if style else []
    address, words = "", ""
    for token in tokens:
        kind = token.type
        if kind == "text":
            words += token.content
            yield from addressed(token.content, _together(styles), safe_link(address))
        elif kind == "code_inline":
            words += token.content
            style_of = _together([*styles, "code"])
            yield WordSpan(flat(token.content), style_of, safe_link(address), is_whole=True)
        elif kind in ("softbreak", "hardbreak"):
            yield WordSpan("\n", _together(styles), safe_link(address))
        elif kind == "image":
            yield WordSpan(
                f"[image: {flat(token.content)}]", "dim", safe_link(str(token.attrs.get("src", "")))
            )
        elif kind == "link_open":
            styles.append("link")
            address, words = str(token.attrs.get("href", "")), ""
        elif kind == "link_close":
            styles.remove("link")
            yield from _place(address, words)
            address = ""
        elif token.nesting == 1:
            styles.append(STYLES.get(kind, ""))
        elif token.nesting == -1:
            styles.remove(STYLES.get(kind.replace("_close", "_open"), ""))
        else:
            yield WordSpan(neutral(token.content), _together(styles))


def addressed(text: str, style: str, link: str = "") -> Iterator[WordSpan]:
    """Text whose bare addresses lead where they say."""
    text = neutral(text)
    if link or "://" not in text:
        yield WordSpan(text, style, link)
        return
    place = 0
    for match in ADDRESS.finditer(text):
        yield WordSpan(text[place : match.start()], style)
        yield WordSpan(match[0], "link", safe_link(match[0]), is_whole=True)
        place = match.end()
    yield WordSpan(text[place:], style)


def _place(address: str, words: str) -> Iterator[WordSpan]:
    """Where a link leads, if its words do not say it: a terminal may show no links, and nobody is fooled."""
    shown = neutral(address)
    if shown and shown not in (words, f"mailto:{words}"):
        yield WordSpan(" (", "dim")
        yield WordSpan(shown[:MAX_LINK_CHARS], "dim", safe_link(address), is_whole=True)
        yield WordSpan(")", "dim")


def _together(styles: Sequence[str]) -> str:
    """All styles that are open, each once: a theme puts them together."""
    return styles[0] if len(styles) == 1 else " ".join(dict.fromkeys(filter(None, styles)))
