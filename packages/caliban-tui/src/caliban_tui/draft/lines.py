"""The draft as it is drawn: broken at words, at most so high, with nothing in it that acts."""

from __future__ import annotations

from functools import lru_cache
from typing import Final, NamedTuple

from caliban_tui.clean import CONTROL, LONE
from caliban_tui.line import ScreenLine, plain, text_of
from caliban_tui.screen import Caret
from caliban_tui.ui import DraftView
from caliban_tui.width import cells, cut, graphemes

ABOVE: Final = "↑"
BELOW: Final = "↓"
"""What stands before the first and the last line where the draft has more of them than the screen shows."""

WIDE: Final = 2
"""Cells of a sign behind which a row may end."""


class DraftRow(NamedTuple):
    """A row of a line of the draft: from and up to which character, and its text as it is drawn."""

    start: int
    end: int
    text: str


def draft_lines(
    draft: DraftView, columns: int, max_rows: int | None = None
) -> tuple[list[ScreenLine], Caret]:
    """The draft in at most `max_rows` lines, those around the caret, and where the caret stands in them."""
    indent = cells(draft.mark)
    room = max(columns - indent, 2)
    cursor = min(max(draft.cursor, 0), len(draft.text))
    rows: list[str] = []
    caret = Caret(0, indent)
    place = 0
    for line in draft.text.split("\n"):
        broken = draft_rows(line, room)
        if place <= cursor <= place + len(line):
            offset = cursor - place
            number = next((n for n, row in enumerate(broken) if offset < row.end), len(broken) - 1)
            before = _drawn(line[broken[number].start : offset])
            caret = Caret(len(rows) + number, indent + min(cells(before), room - 1))
        rows += [row.text for row in broken]
        place += len(line) + 1
    marks = [draft.mark] + [" " * indent] * (len(rows) - 1)
    height = len(rows) if max_rows is None else max(max_rows, 1)
    top = min(max(caret.row - height // 2, 0), max(len(rows) - height, 0))
    if top:
        marks[top] = _marked(ABOVE, indent)
    if top + height < len(rows) and height > 1:
        marks[top + height - 1] = _marked(BELOW, indent)
    shown = zip(marks[top : top + height], rows[top : top + height], strict=True)
    return [plain(mark + row) for mark, row in shown], Caret(caret.row - top, caret.column)


@lru_cache(1024)
def draft_rows(line: str, room: int) -> tuple[DraftRow, ...]:
    """A line of the draft in rows of fewer than `room` cells: the caret has one behind the last character.

    A row ends behind a blank or a wide sign, and within a word that is longer than it.
    """
    rows: list[DraftRow] = []
    start = place = used = 0
    text = ""
    word = _Word(0, 0, 0)
    for grapheme in graphemes(line):
        drawn = _drawn(grapheme)
        width = cells(drawn)
        if width > 2 and width >= room:
            drawn = text_of(cut(plain(drawn), room - 1, end=""))
            width = cells(drawn)
        if grapheme == " " and used + 1 >= room:
            drawn, width = "", 0  # it hangs behind the row that it ends
        while width and used and used + width >= room:  # twice where a sign of many cells ends a word
            if word.place == start:  # one word is all there is
                word = _Word(place, len(text), used)
            rows.append(DraftRow(start, word.place, text[: word.length]))
            start, used, text = word.place, used - word.used, text[word.length :]
            word = _Word(start, 0, 0)
        place += len(grapheme)
        used += width
        text += drawn
        if grapheme == " " or width == WIDE:
            word = _Word(place, len(text), used)
    rows.append(DraftRow(start, place, text))
    return tuple(rows)


class _Word(NamedTuple):
    """Where the last word of a row begins: in the line, in what is drawn of the row, and in cells."""

    place: int
    length: int
    used: int


def _drawn(text: str) -> str:
    """`text` with its control characters as signs that do nothing."""
    if text.isascii() and text.isprintable():
        return text
    text = CONTROL.sub(lambda match: _sign(match[0]), text.replace("\t", "    "))
    return text if text.isascii() else LONE.sub("\ufffd", text)


def _sign(character: str) -> str:
    code = ord(character)
    return f"^{chr(code ^ 0x40)}" if code < 0x80 else f"<{code:x}>"


def _marked(sign: str, indent: int) -> str:
    return sign.ljust(indent)[:indent] if indent else ""
