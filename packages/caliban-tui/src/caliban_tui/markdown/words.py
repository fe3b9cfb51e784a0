"""Styled text broken into lines at blanks. What is copied whole is one word: a span of code, an address.

A word that is wider than the screen stays whole on a line of its own, for the terminal to wrap; with `hard`
it is broken, where a line may not be wider: in a table, and on a live frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText
from caliban_tui.width import cut, fold_line, line_cells

Word: TypeAlias = tuple[StyledText, ...]


class WordSpan(NamedTuple):
    """A piece of text in one style. One that `is_whole` has no place to break in."""

    text: str
    style: str = ""
    link: str = ""
    is_whole: bool = False


def wrapped(spans: Iterable[WordSpan], columns: int, *, hard: bool = False) -> list[ScreenLine]:
    """The lines that the words of `spans` make, each `columns` cells at most; a newline ends one."""
    columns = max(columns, 1)
    lines: list[ScreenLine] = []
    line: list[StyledText] = []
    width = 0
    for gap, word in _words(spans):
        size = line_cells(word)
        if gap is None or (line and width + len(gap.text) + size > columns):
            lines.append(_merged(line))
            line, width = list(word), size
        else:
            line += (gap, *word) if gap.text and line else word
            width += len(gap.text) + size if width else size
        if hard and width > columns:
            *whole, last = broken(tuple(line), columns)
            lines += [_merged(row) for row in whole]
            line, width = list(last), line_cells(last)
    lines.append(_merged(line))
    return lines


def flat(text: str) -> str:
    """`text` without controls, on one line."""
    return neutral(text).replace("\n", " ")


def broken(line: ScreenLine, columns: int) -> tuple[ScreenLine, ...]:
    """`line` as rows of at most `columns`, as a terminal would wrap it. Linear time."""
    return fold_line(line, max(columns, 1))


def _words(spans: Iterable[WordSpan]) -> Iterator[tuple[StyledText | None, Word]]:
    """Each word with the blank before it; `None` where a line ends."""
    word: list[StyledText] = []
    gap: StyledText | None = StyledText("")
    for span in spans:
        if span.is_whole:
            word.append(StyledText(span.text, span.style, span.link))
            continue
        for number, row in enumerate(span.text.split("\n")):
            if number:
                yield gap, tuple(word)
                word, gap = [], None
            for place, part in enumerate(row.split(" ")):
                if place:
                    if word or gap is None:
                        yield gap, tuple(word)
                        word = []
                    gap = StyledText(" ", span.style if span.link else "", span.link)
                if part:
                    word.append(StyledText(part, span.style, span.link))
    yield gap, tuple(word)


def _merged(line: Iterable[StyledText]) -> ScreenLine:
    """The line with neighbours of one style as one segment."""
    merged: list[StyledText] = []
    for segment in line:
        if merged and merged[-1][1:] == segment[1:]:
            merged[-1] = merged[-1]._replace(text=merged[-1].text + segment.text)
        elif segment.text:
            merged.append(segment)
    return tuple(merged)


def padded(line: ScreenLine, columns: int) -> ScreenLine:
    """`line` with blanks at its end, or cut, so that it takes `columns` cells."""
    line = cut(line, columns)
    left = columns - line_cells(line)
    return (*line, StyledText(" " * left)) if left > 0 else line
