"""Styled text broken into lines at blanks. What is copied whole is one word: a span of code, an address.

A word that is wider than the screen stays whole on a line of its own, for the terminal to wrap; with `hard`
it is broken, where a line may not be wider: in a table, and on a live frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple, TypeAlias, TypeVar

from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText
from caliban_tui.width import cells, cut, fold_line, graphemes, is_single, line_cells

WIDE = 2
"""Cells of a sign beside which a line may end: an ideogram, a syllable."""

Word: TypeAlias = tuple[StyledText, ...]


class WordSpan(NamedTuple):
    """A piece of text in one style. One that `is_whole` has no place to break in."""

    text: str
    style: str = ""
    link: str = ""
    is_whole: bool = False


Piece = TypeVar("Piece", StyledText, WordSpan)


def wrapped(spans: Iterable[WordSpan], columns: int, *, hard: bool = False) -> list[ScreenLine]:
    """The lines that the words of `spans` make, each `columns` cells at most; a newline ends one."""
    columns = max(columns, 1)
    lines: list[ScreenLine] = []
    for row in _rows(spans):
        if _is_simple(row, columns):
            lines += _simple_lines(row, columns)
        else:
            lines += _lines(row, columns, hard=hard)
    return lines


def longest_word(spans: Iterable[WordSpan]) -> int:
    """The cells of the longest word, within which no line ends; scripts without blanks break at each sign."""
    longest = 0
    for row in _rows(spans):
        for _, word in _words(row):
            text = "".join([piece.text for piece in word])
            size = cells(text)
            if size > longest:
                longest = max(longest, size if is_single(text) else _longest_run(text))
    return longest


def _longest_run(text: str) -> int:
    """The cells of the longest part of a word that no wide sign stands in."""
    longest = run = 0
    for grapheme in graphemes(text):
        size = cells(grapheme)
        run = run + size if size < WIDE else 0
        longest = max(longest, run, size)
    return longest


def flat(text: str) -> str:
    """`text` without controls, on one line."""
    return neutral(text).replace("\n", " ")


def broken(line: ScreenLine, columns: int) -> tuple[ScreenLine, ...]:
    """`line` as rows of at most `columns`, as a terminal would wrap it. Linear time."""
    return fold_line(line, max(columns, 1))


def _rows(spans: Iterable[WordSpan]) -> Iterator[list[WordSpan]]:
    """The spans that have text, newline by newline, with neighbours of one kind as one."""
    row: list[WordSpan] = []
    for span in spans:
        for number, text in enumerate(span.text.split("\n")):
            if number:
                yield _joined(row)
                row = []
            if text:
                row.append(span if text is span.text else span._replace(text=text))
    yield _joined(row)


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces with neighbours of one kind as one. Linear time."""
    joined: list[Piece] = []
    for _, group in groupby(pieces, key=itemgetter(slice(1, None))):
        first, *more = group
        joined.append(first._replace(text="".join([first.text, *(piece.text for piece in more)])))
    return joined


def _is_simple(row: Sequence[WordSpan], columns: int) -> bool:
    """Whether every character takes one cell, every blank is a place to break, and every word fits."""
    text = "".join([span.text for span in row])
    return (
        is_single(text)
        and "  " not in text
        and not text.startswith(" ")
        and not text.endswith(" ")
        and not any(span.is_whole and " " in span.text for span in row)
        and (len(text) <= columns or max(map(len, text.split(" "))) <= columns)
    )


def _simple_lines(row: Sequence[WordSpan], columns: int) -> list[ScreenLine]:
    """What `_lines` makes of a simple row, as most of what models write is, in a tenth of the time."""
    text = "".join([span.text for span in row])
    lines: list[ScreenLine] = []
    place = 0  # of the line in the text
    number, begins = 0, 0  # the span, and where it begins in the text
    while True:
        end = len(text) if len(text) - place <= columns else text.rfind(" ", place, place + columns + 1)
        line: list[StyledText] = []
        while number < len(row):
            span = row[number]
            span_end = begins + len(span.text)
            if piece := text[max(place, begins) : min(end, span_end)]:
                line.append(StyledText(piece, span.style, span.link))
            if span_end > end:
                break
            number, begins = number + 1, span_end
        lines.append(_merged(line))
        if end == len(text):
            return lines
        place = end + 1


def _lines(row: Sequence[WordSpan], columns: int, *, hard: bool) -> Iterator[ScreenLine]:
    line: list[StyledText] = []
    width = 0
    for gap, word in _words(row):
        size = line_cells(word)
        if line and width + len(gap.text) + size > columns:
            yield _merged(line)
            line, width = list(word), size
        else:
            line += (gap, *word) if gap.text and line else word
            width += len(gap.text) + size if width else size
        if hard and width > columns:
            *whole, last = broken(tuple(line), columns)
            yield from map(_merged, whole)
            line, width = list(last), line_cells(last)
    yield _merged(line)


def _words(row: Iterable[WordSpan]) -> Iterator[tuple[StyledText, Word]]:
    """Each word with the blank before it."""
    word: list[StyledText] = []
    gap = StyledText("")
    for span in row:
        if span.is_whole:
            word.append(StyledText(span.text, span.style, span.link))
            continue
        for place, part in enumerate(span.text.split(" ")):
            if place:
                if word:
                    yield gap, tuple(word)
                    word = []
                gap = StyledText(" ", span.style, span.link)
            if part:
                word.append(StyledText(part, span.style, span.link))
    yield gap, tuple(word)


def _merged(line: Iterable[StyledText]) -> ScreenLine:
    """The line with neighbours of one style as one segment."""
    segments = [segment for segment in line if segment.text]
    return tuple(segments if len(segments) == 1 else _joined(segments))


def padded(line: ScreenLine, columns: int) -> ScreenLine:
    """`line` with blanks at its end, or cut, so that it takes `columns` cells."""
    line = cut(line, columns)
    left = columns - line_cells(line)
    return (*line, StyledText(" " * left)) if left > 0 else line
