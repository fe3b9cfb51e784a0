"""Tables: columns that share the width, or, where that is too narrow, a line for each cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from caliban_tui.line import ScreenLine, StyledText
from caliban_tui.markdown.words import WordSpan, padded, wrapped
from caliban_tui.width import cells

TableCell: TypeAlias = tuple[WordSpan, ...]

GAP: Final = 2
MIN_COLUMN: Final = 8
"""A column of more is not made narrower than this."""


def table_lines(rows: Sequence[Sequence[TableCell]], columns: int) -> list[ScreenLine]:
    """The lines of a table; its first row is the header."""
    if not rows or not rows[0]:
        return []
    count = len(rows[0])
    natural = [max(_cells(row[n]) for row in rows if n < len(row)) for n in range(count)]
    widths = shared(natural, columns - GAP * (count - 1))
    if widths is None:
        return _listed(rows, columns)
    lines = _row(rows[0], widths, style="heading")
    rule = tuple(StyledText("─" * width + " " * GAP, "rule") for width in widths[:-1])
    lines.append((*rule, StyledText("─" * widths[-1], "rule")))
    for row in rows[1:]:
        lines += _row(row, widths)
    return lines


def shared(natural: Sequence[int], room: int) -> list[int] | None:
    """How wide each column is: what it needs, or its share of what is left; `None` if too little."""
    if sum(natural) <= room:
        return [max(width, 1) for width in natural]
    widths = [0] * len(natural)
    for done, place in enumerate(sorted(range(len(natural)), key=natural.__getitem__)):
        share = room // (len(natural) - done)
        widths[place] = max(min(natural[place], share), 1)
        room -= widths[place]
        if widths[place] < min(natural[place], MIN_COLUMN):
            return None
    return widths


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


def _listed(rows: Sequence[Sequence[TableCell]], columns: int) -> list[ScreenLine]:
    """A line `header: value` for each cell that has one, an empty one between rows."""
    lines: list[ScreenLine] = []
    for number, row in enumerate(rows[1:]):
        if number:
            lines.append(())
        for place, header in enumerate(rows[0]):
            value = row[place] if place < len(row) else ()
            if any(span.text for span in value) or not (number or _has_values(rows, place)):
                name = tuple(span._replace(style=span.style or "heading") for span in header)
                lines += wrapped((*name, WordSpan(": ", "heading"), *value), columns)
    return lines or _row(rows[0], [max(columns // len(rows[0]) - GAP, 1)] * len(rows[0]), style="heading")


def _has_values(rows: Sequence[Sequence[TableCell]], place: int) -> bool:
    """Whether anything stands below a header: what is said nowhere else is said in the first row."""
    return any(span.text for row in rows[1:] for span in (row[place] if place < len(row) else ()))


def _cells(spans: TableCell) -> int:
    return sum(cells(span.text.replace("\n", " ")) for span in spans)
