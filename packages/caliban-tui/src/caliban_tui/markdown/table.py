"""Tables: columns that share the width, or, where that is too narrow for words, a line for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from caliban_tui.line import ScreenLine, StyledText
from caliban_tui.markdown.words import WordSpan, longest_word, padded, wrapped
from caliban_tui.width import cells

TableCell: TypeAlias = tuple[WordSpan, ...]

GAP: Final = 2
MIN_COLUMN: Final = 8
"""A column of more is not made narrower than this."""


def table_lines(rows: Sequence[Sequence[TableCell]], columns: int, *, hard: bool = False) -> list[ScreenLine]:
    """The lines of a table; its first row is the header. With `hard` none is wider than `columns`."""
    if not rows or not rows[0]:
        return []
    places = range(len(rows[0]))
    natural = [max(_cells(row[n]) for row in rows if n < len(row)) for n in places]
    room = columns - GAP * (len(natural) - 1)
    # Without names a record would say less than the row: there words may be broken, too.
    has_names = any(span.text.strip() for header in rows[0] for span in header)
    least = [_least(rows, n) if has_names else 1 for n in places]
    widths = natural if sum(natural) <= room else shared(natural, least, room)
    if widths is None:
        return _listed(rows, columns, hard=hard)
    widths = [max(width, 1) for width in widths]
    lines = _row(rows[0], widths, style="heading")
    rule = tuple(StyledText("─" * width + " " * GAP, "rule") for width in widths[:-1])
    lines.append((*rule, StyledText("─" * widths[-1], "rule")))
    for row in rows[1:]:
        lines += _row(row, widths)
    return lines


def shared(natural: Sequence[int], least: Sequence[int], room: int) -> list[int] | None:
    """How wide each column is that needs `natural`: equal shares of `room`, but `least` of each; else `None`.

    What one needs less of than its share is for the others.
    """
    widths = [max(word, min(width, MIN_COLUMN)) for word, width in zip(least, natural, strict=True)]
    room -= sum(widths)
    if room < 0:
        return None
    rest = [place for place, width in enumerate(widths) if width < natural[place]]
    while room and rest:  # the narrowest ones grow together until they are as wide as the next
        low = min(widths[place] for place in rest)
        lowest = [place for place in rest if widths[place] == low]
        limits = [natural[place] for place in lowest]
        limits += [widths[place] for place in rest if widths[place] > low]
        step = min(min(limits) - low, room // len(lowest))
        for place in lowest if step else lowest[:room]:
            widths[place] += step or 1
        room -= step * len(lowest) if step else min(room, len(lowest))
        rest = [place for place in rest if widths[place] < natural[place]]
    return widths


def _least(rows: Sequence[Sequence[TableCell]], place: int) -> int:
    """The cells of the longest word of a column: no line of it is broken within one."""
    return max(longest_word(row[place]) for row in rows if place < len(row))


def _row(row: Sequence[TableCell], widths: Sequence[int], style: str = "") -> list[ScreenLine]:
    drawn = []
    for number, width in enumerate(widths):
        spans = row[number] if number < len(row) else ()
        if style:
            spans = tuple(span._replace(style=span.style or style) for span in spans)
        drawn.append(wrapped(spans, width, hard=True))
    lines: list[ScreenLine] = []
    for place in range(max(map(len, drawn))):
        line: ScreenLine = ()
        for number, (cell, width) in enumerate(zip(drawn, widths, strict=True)):
            text = cell[place] if place < len(cell) else ()
            line += text if number == len(widths) - 1 else padded(text, width + GAP)
        lines.append(line)
    return lines


def _listed(rows: Sequence[Sequence[TableCell]], columns: int, *, hard: bool) -> list[ScreenLine]:
    """A line `header: value` for each cell that has one, an empty one between rows."""
    lines: list[ScreenLine] = []
    for number, row in enumerate(rows[1:]):
        if number:
            lines.append(())
        for place, header in enumerate(rows[0]):
            value = row[place] if place < len(row) else ()
            if any(span.text for span in value) or not (number or _has_values(rows, place)):
                name = tuple(span._replace(style=span.style or "heading") for span in header)
                colon = (WordSpan(": ", "heading"),) if any(span.text for span in name) else ()
                lines += wrapped((*name, *colon, *value), columns, hard=hard)
    return lines or _row(rows[0], [max(columns // len(rows[0]) - GAP, 1)] * len(rows[0]), style="heading")


def _has_values(rows: Sequence[Sequence[TableCell]], place: int) -> bool:
    """Whether anything stands below a header: what is said nowhere else is said in the first row."""
    return any(span.text for row in rows[1:] for span in (row[place] if place < len(row) else ()))


def _cells(spans: TableCell) -> int:
    return sum(cells(span.text.replace("\n", " ")) for span in spans)
