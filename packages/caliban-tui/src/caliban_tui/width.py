"""How many cells text takes: graphemes, not code points."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_tui.line import ScreenLine, StyledText

_CERTAIN: Final = lazy_pattern(
    "[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u0373\u0376\u0377\u037b-\u037f\u0384-\u0482\u048a-\u0527"
    "\u2010-\u2027\u2030-\u2052\u2190-\u21ff\u2200-\u22ff\u2500-\u25fc\u2800-\u28ff"
    "\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fcc\uac00-\ud7a3]*"
)

_SINGLE: Final = lazy_pattern(
    "[\x20-\x7e\xa1-\xac\xae-\u02ff\u0370-\u0373\u0376\u0377\u037b-\u037f\u0384-\u0482\u048a-\u0527"
    "\u2010-\u2027\u2030-\u2052]*"
)
"""Letters of Latin, Greek and Cyrillic, and what stands between words."""

SHORT_CHARS: Final = 32
WIDEST: Final = 4
"""What is joined takes no more cells; of what claims to, each character stands for itself."""


def cells(text: str) -> int:
    """The cells that `text`, which has no control characters, takes."""
    if text.isascii():
        return len(text)
    return _short_cells(text) if len(text) <= SHORT_CHARS else _cells(text)


def is_single(text: str) -> bool:
    """Whether every character takes one cell, wherever it stands; not of every text that is so."""
    return text.isascii() or _SINGLE.fullmatch(text) is not None


def _cells(text: str) -> int:
    from wcwidth import width

    if "\u200d" in text:  # whatever follows a joiner has no width there, a letter too
        return sum(map(width, _graphemes(text)))
    return width(text)


_short_cells = lru_cache(maxsize=4096)(_cells)
"""Words come again with every frame."""


def line_cells(line: ScreenLine) -> int:
    """The cells of a whole line."""
    return cells(line[0].text) if len(line) == 1 else sum([cells(segment.text) for segment in line])


def graphemes(text: str) -> Iterator[str]:
    """What a person calls characters."""
    return iter(text) if text.isascii() else _graphemes(text)


def _graphemes(text: str) -> Iterator[str]:
    from wcwidth import iter_graphemes, width

    for grapheme in iter_graphemes(text):
        if len(grapheme) > 2 and width(grapheme) > WIDEST:  # a run of Korean beginnings has no end
            yield from grapheme
        else:
            yield grapheme


def is_certain(text: str) -> bool:
    """Whether all terminals with Unicode give `text` the same cells: nothing joined, piled or new."""
    return text.isascii() or _CERTAIN.fullmatch(text) is not None


def most_cells(text: str) -> int:
    """The cells that `text` takes on a terminal that joins nothing: a family of three is six."""
    if is_certain(text):
        return cells(text)
    from wcwidth import wcwidth

    return max(cells(text), sum(2 if char == "\ufe0f" else max(wcwidth(char), 0) for char in text))


def cut(line: ScreenLine, columns: int, *, end: str = "…") -> ScreenLine:
    """As much of `line` as `columns` hold, with `end` in the place of the rest."""
    if line_cells(line) <= columns:
        return line
    room = columns - cells(end)
    kept: list[StyledText] = []
    for segment in line:
        width = cells(segment.text)
        if width <= room:
            kept.append(segment)
            room -= width
            continue
        text = _head(segment.text, room)
        kept.append(segment._replace(text=text + (end if columns >= cells(end) else "")))
        break
    return tuple(kept)


def fit(line: ScreenLine, columns: int) -> ScreenLine:
    """`line`, cut so that no terminal wraps it, whatever that terminal knows of joined characters."""
    if sum(most_cells(segment.text) for segment in line) <= columns:
        return line
    kept: list[StyledText] = []
    room = columns
    for segment in line:
        text = ""
        for grapheme in graphemes(segment.text):
            room -= most_cells(grapheme)
            if room < 0:
                break
            text += grapheme
        kept.append(segment._replace(text=text))
        if room < 0:
            break
    return tuple(kept)


def rows_of(line: ScreenLine, columns: int) -> int:
    """How many rows of a screen a line takes, at least 1; a wide character is not split at its edge."""
    return _place(line, columns)[0]


def least_rows(line: ScreenLine, columns: int) -> int:
    """As `rows_of`, on whichever terminal it takes the fewest."""
    return _place(line, columns, least=True)[0]


def last_column(line: ScreenLine, columns: int) -> int:
    """How many cells of its last row a line fills."""
    return _place(line, columns)[1]


def fold_line(line: ScreenLine, columns: int) -> tuple[ScreenLine, ...]:
    """The rows that a terminal of that width makes of a line."""
    if line_cells(line) <= columns:
        return (line,)
    rows: list[ScreenLine] = []
    row: list[StyledText] = []
    used = 0
    for segment in line:
        start, place = 0, 0
        for grapheme in graphemes(segment.text):
            width = cells(grapheme)
            if used and used + width > columns:
                row.append(segment._replace(text=segment.text[start:place]))
                rows.append(tuple(part for part in row if part.text))
                row, used, start = [], 0, place
            used += width
            place += len(grapheme)
        row.append(segment._replace(text=segment.text[start:]))
    rows.append(tuple(part for part in row if part.text))
    return tuple(rows)


def wrap(text: str, columns: int) -> tuple[str, ...]:
    """`text`, one paragraph, broken at blanks into lines of at most `columns`; longer words are cut.

    Blanks at its beginning stay.
    """
    columns = max(columns, 1)
    if len(text) <= columns and text.isascii():
        return (text,)
    lines: list[str] = []
    stripped = text.lstrip(" ")
    indent = text[: min(len(text) - len(stripped), columns - 1)]
    parts, width = [indent] if indent else [], len(indent)
    begun = False
    for word in stripped.split(" "):
        size = cells(word)
        if begun and width + 1 + size > columns:
            lines.append("".join(parts))
            parts, width, begun = [], 0, False
        if begun:
            parts.append(" ")
            width += 1
        begun = True
        if width + size > columns:
            *whole, word = _pieces("".join([*parts, word]), columns)
            lines += whole
            parts, width, size = [], 0, cells(word)
        parts.append(word)
        width += size
    lines.append("".join(parts))
    return tuple(lines)


def _place(line: ScreenLine, columns: int, *, least: bool = False) -> tuple[int, int]:
    """The rows that a line takes, and the cells that it fills of the last one."""
    if all(segment.text.isascii() for segment in line):
        width = line_cells(line)
        rows = max(-(-width // columns), 1)
        return rows, width - (rows - 1) * columns
    rows, used = 1, 0
    for segment in line:
        for grapheme in graphemes(segment.text):
            width = _least_cells(grapheme) if least else cells(grapheme)
            if used and used + width > columns:
                rows, used = rows + 1, 0
            used += width
    return rows, min(used, columns)


def _least_cells(grapheme: str) -> int:
    """The cells of a character on a terminal that joins as we do, or on one that joins nothing."""
    if grapheme.isascii():
        return 1
    from wcwidth import wcwidth

    return min(cells(grapheme), sum(max(wcwidth(char), 0) for char in grapheme))


def _head(text: str, room: int) -> str:
    """As many characters as `room` cells hold."""
    if text.isascii():
        return text[: max(room, 0)]
    kept = []
    for grapheme in graphemes(text):
        room -= cells(grapheme)
        if room < 0:
            break
        kept.append(grapheme)
    return "".join(kept)


def _pieces(text: str, columns: int) -> list[str]:
    """`text` cut into pieces that fill a line; the last one may be shorter, and is never empty."""
    if text.isascii():
        return [text[start : start + columns] for start in range(0, len(text), columns)]
    pieces: list[str] = []
    parts: list[str] = []
    used = 0
    for grapheme in graphemes(text):
        width = cells(grapheme)
        if parts and used + width > columns:
            pieces.append("".join(parts))
            parts, used = [], 0
        parts.append(grapheme)
        used += width
    return [*pieces, "".join(parts)]
