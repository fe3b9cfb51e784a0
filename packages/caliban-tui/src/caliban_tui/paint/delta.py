"""What differs between lines on the screen and those that are to be there."""

from __future__ import annotations

from collections.abc import Sequence

from caliban_tui.line import ScreenLine
from caliban_tui.paint.pen import Pen
from caliban_tui.width import cells, graphemes, is_certain, line_cells


def rewrite(pen: Pen, old: Sequence[ScreenLine], new: Sequence[ScreenLine]) -> None:
    """Make `new` of `old`, which stand on the screen in the rows from 0; only what differs is written.

    Both fit on the screen, line by line and as a whole. Rows move by inserting and deleting lines at places
    below which nothing is lost: what is pushed off the bottom is empty.
    """
    rows = _move(pen, list(old), new)
    for number, line in enumerate(new):
        if number < len(rows):
            _patch(pen, number, rows[number], line)
        else:
            if number:
                pen.below(number - 1)
            pen.put(line, erases=False)
    if len(new) < len(rows):
        pen.to(len(new), 0)
        pen.send("\x1b[J")


def changed_part(old: ScreenLine, new: ScreenLine) -> tuple[int, ScreenLine]:
    """From which cell on `new` differs from `old`, and its rest; 0 where widths are a matter of opinion."""
    column = 0
    for number, segment in enumerate(new):
        if number >= len(old) or old[number].style != segment.style or old[number].link != segment.link:
            return _from(old[number:], new, new[number:], column)
        if old[number] == segment:
            if not is_certain(segment.text):
                return 0, new
            column += cells(segment.text)
            continue
        same = _shared(old[number].text, segment.text)
        if not is_certain(segment.text[:same]):
            return 0, new
        column += cells(segment.text[:same])
        return _from(_after(old, number, same), new, _after(new, number, same), column)
    return _from(old[len(new) :], new, (), column)


def _from(gone: ScreenLine, new: ScreenLine, rest: ScreenLine, column: int) -> tuple[int, ScreenLine]:
    """`rest`, or all of `new` where that, or what it takes the place of, is joined to what stands before."""
    for line in (gone, rest):
        first = next((segment.text for segment in line if segment.text), "")
        if first and cells(first[0]) == 0:
            return 0, new
    return column, rest


def _after(line: ScreenLine, number: int, start: int) -> ScreenLine:
    rest = line[number]
    return (rest._replace(text=rest.text[start:]), *line[number + 1 :])


def _shared(old: str, new: str) -> int:
    """How many characters of both are the same from the beginning, whole graphemes."""
    if old.isascii() and new.isascii():
        if new.startswith(old):
            return len(old)
        size = 0
        for one, other in zip(old, new, strict=False):
            if one != other:
                break
            size += 1
        return size
    size = 0
    for one, other in zip(graphemes(old), graphemes(new), strict=False):
        if one != other:
            break
        size += len(one)
    return size


def _patch(pen: Pen, row: int, old: ScreenLine, new: ScreenLine) -> None:
    if old == new:
        return
    column, rest = changed_part(old, new)
    pen.to(row, column)
    uncertain = not all(is_certain(segment.text) for segment in (*old, *new))
    pen.put(rest, erases=uncertain or line_cells(new) < line_cells(old))


def _move(pen: Pen, rows: list[ScreenLine], new: Sequence[ScreenLine]) -> list[ScreenLine]:
    """Move whole lines to where they are wanted; what stands in the rows then."""
    first = 0
    while first < min(len(rows), len(new)) and rows[first] == new[first]:
        first += 1
    last = 0
    while last < min(len(rows), len(new)) - first and rows[-1 - last] == new[-1 - last]:
        last += 1
    end = len(rows) - last
    grow = len(new) - len(rows)
    if grow > 0 and last:
        pen.below(len(rows) - 1, grow)
        pen.to(end, 0)
        pen.insert(grow)
        rows[end:end] = [()] * grow
    elif grow < 0 and last:
        start = first if _alike(rows[first - grow : end], new[first:]) else end + grow
        pen.to(start, 0)
        pen.delete(-grow)
        del rows[start : start - grow]
    end = len(rows) - last
    shift = _shift(rows[first:end], new[first : len(new) - last])
    if shift:
        pen.to(first, 0)
        pen.delete(shift)
        pen.to(end - shift, 0)
        pen.insert(shift)
        rows[first:end] = rows[first + shift : end] + [()] * shift
    return rows


def _alike(rows: Sequence[ScreenLine], wanted: Sequence[ScreenLine]) -> int:
    return sum(1 for row, line in zip(rows, wanted, strict=False) if row == line)


def _shift(rows: Sequence[ScreenLine], wanted: Sequence[ScreenLine]) -> int:
    """By how many rows the lines have moved up, 0 where moving them would save nothing."""
    if len(rows) != len(wanted) or len(rows) < 4:
        return 0
    best, most = 0, _alike(rows, wanted) + 1
    for shift in range(1, min(len(rows) - 1, 8)):
        same = _alike(rows[shift:], wanted)
        if same > most:
            best, most = shift, same
    return best
