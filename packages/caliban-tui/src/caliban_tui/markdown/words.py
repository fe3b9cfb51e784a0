"""Styled text broken into lines at blanks. What is copied whole is one word: a span of code, an address.

A word that is wider than the screen stays whole on a line of its own, for the terminal to wrap; with `hard`
it is broken, where a line may not be wider: in a table, and on a live frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText
from caliban_tui.width import cells, cut, graphemes, line_cells

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
    for row in _rows(spans):
        if _is_simple(row, columns):
            lines += _simple_lines(row, columns)
        else:
            lines += _lines(row, columns, hard=hard)
    return lines


def flat(text: str) -> str:
    """`text` without controls, on one line."""
    return neutral(text).replace("\n", " ")


def split(line: ScreenLine, columns: int) -> tuple[list[StyledText], list[StyledText]]:
    """What of `line` fits into `columns`, at least one grapheme, and the rest."""
    head: list[StyledText] = []
    room = max(columns, 1)
    for number, segment in enumerate(line):
        width = cells(segment.text)
        if width <= room:
            head.append(segment)
            room -= width
            continue
        place = 0
        for grapheme in graphemes(segment.text):
            step = cells(grapheme)
            if step > room and (place or head):
                break
            place, room = place + len(grapheme), room - step
            if room <= 0:
                break
        if place:
            head.append(segment._replace(text=segment.text[:place]))
        rest = segment._replace(text=segment.text[place:])
        return head, [rest, *line[number + 1 :]] if rest.text else list(line[number + 1 :])
    return head, []


def broken(line: ScreenLine, columns: int) -> list[ScreenLine]:
    """`line` as rows of at most `columns`, as a terminal would wrap it."""
    rows: list[ScreenLine] = []
    while line_cells(line) > columns:
        head, rest = split(line, columns)
        rows.append(tuple(head))
        line = tuple(rest)
    rows.append(line)
    return rows


def _rows(spans: Iterable[WordSpan]) -> Iterator[list[WordSpan]]:
    """The spans that have text, newline by newline, with neighbours of one kind as one."""
    row: list[WordSpan] = []
    for span in spans:
        if "\n" not in span.text:
            _add(row, span)
            continue
        for number, text in enumerate(span.text.split("\n")):
            if number:
                yield row
                row = []
            _add(row, span._replace(text=text))
    yield row


def _add(row: list[WordSpan], span: WordSpan) -> None:
    if row and row[-1][1:] == span[1:]:
        row[-1] = span._replace(text=row[-1].text + span.text)
    elif span.text:
        row.append(span)


def _is_simple(row: Sequence[WordSpan], columns: int) -> bool:
    """Whether every character takes one cell, every blank is a place to break, and every word fits."""
    text = "".join([span.text for span in row])
    return (
        text.isascii()
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
        while hard and width > columns:
            head, line = split(tuple(line), columns)
            yield _merged(head)
            width = line_cells(tuple(line))
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


def _merged(line: list[StyledText]) -> ScreenLine:
    """The line with neighbours of one style as one segment."""
    if len(line) == 1:
        return tuple(line) if line[0].text else ()
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
