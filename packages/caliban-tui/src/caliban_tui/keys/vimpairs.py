"""What vim takes for a text in quotes or in brackets: around a place, else the next one."""

from __future__ import annotations

from caliban_tui.keys.linebounds import is_in_indent, line_end, line_start
from caliban_tui.keys.vimwords import VimSpan


def quoted(text: str, place: int, quote: str, *, inner: bool, with_quotes: bool = False) -> VimSpan | None:
    """A text in quotes, within one line. If it is not `inner`, blanks behind it belong to it, else before."""
    start = line_start(text, place)
    line = text[start : line_end(text, start)]
    pair = _quotes(line, place - start, quote)
    if pair is None:
        return None
    first, last = pair
    if inner:
        return VimSpan(start + first + (not with_quotes), start + last + with_quotes, has_end=False)
    behind = last + 1
    while behind < len(line) and line[behind] in " \t":
        behind += 1
    if behind == last + 1:
        while first and line[first - 1] in " \t":
            first -= 1
    return VimSpan(start + first, start + behind, has_end=False)


def bracketed(text: str, place: int, brackets: str, count: int, *, inner: bool) -> VimSpan | None:
    """A text in `brackets`, the `count`th around the place, else the first behind it.

    Lines between brackets on their own are taken as lines.
    """
    first = _opening(text, place, brackets, count)
    last = _match(text, first, brackets) if first >= 0 else None
    if last is None:
        first = text.find(brackets[0], place)
        last = _match(text, first, brackets) if first >= 0 else None
    if last is None:
        return None
    if not inner:
        return VimSpan(first, last)
    first += 1
    is_alone = "\n" in text[first:last] and is_in_indent(text, last)
    end = line_start(text, last) - 1 if is_alone else last
    if text[first] == "\n" and first < end:
        return VimSpan(first + 1, end, has_end=False, is_lines=is_alone)
    return VimSpan(first, end, has_end=False)


def _opening(text: str, place: int, brackets: str, count: int) -> int:
    """Where the `count`th bracket around a place opens, -1 where there are not so many."""
    depth = 0
    for first in range(place, -1, -1):
        if text[first : first + 1] == brackets[1] and first != place:
            depth += 1
        elif text[first : first + 1] == brackets[0]:
            depth -= 1
            if depth == -count:
                return first
    return -1


def _match(text: str, first: int, brackets: str) -> int | None:
    depth = 0
    for place in range(first, len(text)):
        if text[place] == brackets[0]:
            depth += 1
        elif text[place] == brackets[1]:
            depth -= 1
            if not depth:
                return place
    return None


def _quotes(line: str, column: int, quote: str) -> tuple[int, int] | None:
    """The two quotes: those that the cursor is on are counted from the beginning of the line."""
    if line[column : column + 1] != quote:
        before = _quote_before(line, column, quote)
        first = line.find(quote, column) if before is None else before
        last = _closing(line, first + 1, quote) if first >= 0 else -1
        return (first, last) if last >= 0 else None
    place = 0
    while True:
        first = line.find(quote, place)
        last = _closing(line, first + 1, quote) if 0 <= first <= column else -1
        if last < 0:
            return None
        if column <= last:
            return first, last
        place = last + 1


def _quote_before(line: str, column: int, quote: str) -> int | None:
    """The last quote before a place that no backslash is before."""
    last, place = None, 0
    while place < column:
        if line[place] == "\\":
            place += 1
        elif line[place] == quote:
            last = place
        place += 1
    return last


def _closing(line: str, place: int, quote: str) -> int:
    """The next quote that no backslash is before, -1 where there is none."""
    while place < len(line):
        if line[place] == "\\":
            place += 1
        elif line[place] == quote:
            return place
        place += 1
    return -1
