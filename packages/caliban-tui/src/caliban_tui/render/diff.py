"""Changes of a text as lines: numbers, marks, and the words that differ where a line was changed a little."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from caliban_common.hunks import TextChange, TextHunk
from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.markdown.words import broken, flat
from caliban_tui.width import cut

WORD_CHARS: Final = 240
"""Longer lines have no marks within."""
INDENT: Final = "  "


def change_lines(change: TextChange, columns: int, *, limit: int | None = None) -> list[ScreenLine]:
    """The lines of a change, each at most `columns` wide; of more than `limit` the rest is counted."""
    lines: list[ScreenLine] = []
    digits = max((len(str(_last_number(hunk))) for hunk in change.hunks), default=1)
    for number, hunk in enumerate(change.hunks):
        if number:
            lines.append(plain(f"{INDENT}{' ' * digits} ⋯", "dim"))
        lines += _hunk_lines(hunk, columns, digits, is_whole=limit is None)
    left = change.left_out
    if limit is not None and len(lines) > limit:
        left += len(lines) - limit
        lines = lines[:limit]
    if left:
        lines.append(plain(f"{INDENT}… {left:,} more line{'s' * (left != 1)}", "dim"))
    return lines


def counts(change: TextChange) -> str:
    """How many lines came and went, in a word."""
    return f"+{change.added} -{change.removed}"


def _last_number(hunk: TextHunk) -> int:
    return max(hunk.old_start, hunk.new_start) + len(hunk.lines)


def _hunk_lines(hunk: TextHunk, columns: int, digits: int, *, is_whole: bool) -> Iterator[ScreenLine]:
    old, new = hunk.old_start, hunk.new_start
    pairs = _pairs(hunk.lines)
    for place, line in enumerate(hunk.lines):
        mark, text = line[:1], flat(line[1:])
        style = {"-": "removed", "+": "added"}.get(mark, "")
        number = old if mark == "-" else new
        gutter = f"{INDENT}{number:>{digits}} {mark or ' '} "
        marked = _marked(text, flat(hunk.lines[pairs[place]][1:]), style) if place in pairs else None
        body = marked or (StyledText(text, style),)
        room = max(columns - len(gutter), 8)
        head = StyledText(gutter, style or "hunk")
        if is_whole:
            for count, row in enumerate(broken(body, room)):
                yield (head if not count else StyledText(" " * len(gutter)), *row)
        else:
            yield cut((head, *body), columns)
        old += mark != "+"
        new += mark != "-"


def _pairs(lines: tuple[str, ...]) -> dict[int, int]:
    """Which lines were changed into which: a run of removed ones with as many added ones behind it."""
    pairs: dict[int, int] = {}
    place = 0
    while place < len(lines):
        start = place
        while place < len(lines) and lines[place].startswith("-"):
            place += 1
        removed = place - start
        while place < len(lines) and lines[place].startswith("+"):
            place += 1
        if removed and place - start == 2 * removed:
            for number in range(start, start + removed):
                pairs[number] = number + removed
                pairs[number + removed] = number
        place = max(place, start + 1)
    return pairs


def _marked(text: str, other: str, style: str) -> ScreenLine | None:
    """The line with the part marked that differs from `other`; `None` where too much does."""
    if max(len(text), len(other)) > WORD_CHARS or text == other:
        return None
    limit = min(len(text), len(other))
    start = 0
    while start < limit and text[start] == other[start]:
        start += 1
    end = 0
    while end < limit - start and text[-1 - end] == other[-1 - end]:
        end += 1
    while start and text[start - 1].isalnum() and (text[start : start + 1] or " ").isalnum():
        start -= 1
    while end and text[-end].isalnum() and (text[-end - 1 : -end] or " ").isalnum():
        end -= 1
    if 3 * (start + end) < max(len(text.strip()), 1):
        return None
    middle = text[start : len(text) - end]
    pieces = ((text[:start], style), (middle, f"{style}_part"), (text[len(text) - end :], style))
    return tuple(StyledText(piece, role) for piece, role in pieces if piece)
