"""What of a text was changed, as hunks: changed lines and a few around them.

Cheap for a small change of a large text, and bounded for any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

CONTEXT_LINES: Final = 3
COMPARED_LINES: Final = 800
"""Of the part in which two texts differ; a larger one counts as replaced as a whole."""
KEPT_LINES: Final = 400
MAX_LINE_CHARS: Final = 2_000
MAX_CHARS: Final = 4_000_000


class TextHunk(Struct, frozen=True, kw_only=True):
    """Lines that belong together, each behind ` `, `-` or `+`; the numbers of its first ones, from 1."""

    old_start: int
    new_start: int
    lines: tuple[str, ...]


class TextChange(Struct, frozen=True, kw_only=True):
    """All that was changed: how many lines came and went, and the hunks as far as they are kept."""

    added: int
    removed: int
    hunks: tuple[TextHunk, ...] = ()
    left_out: int = 0

    def details(self) -> Mapping[str, Any]:
        """The change as JSON, for the details of a tool's output."""
        hunks = [
            {"old_start": hunk.old_start, "new_start": hunk.new_start, "lines": list(hunk.lines)}
            for hunk in self.hunks
        ]
        return {"added": self.added, "removed": self.removed, "hunks": hunks, "left_out": self.left_out}

    @classmethod
    def of_details(cls, details: Mapping[str, Any]) -> TextChange | None:
        """The change that `details` describe; `None` where they describe none."""
        change = details.get("change")
        if not isinstance(change, Mapping) or not isinstance(change.get("hunks"), list | tuple):
            return None
        hunks = tuple(hunk for item in change["hunks"] if (hunk := _hunk(item)) is not None)
        return cls(
            added=_count(change.get("added")),
            removed=_count(change.get("removed")),
            hunks=hunks,
            left_out=_count(change.get("left_out")),
        )


def text_change(old: str, new: str) -> TextChange:
    """What turns `old` into `new`. Texts above `MAX_CHARS` characters are only counted."""
    if len(old) + len(new) > MAX_CHARS:
        return TextChange(added=new.count("\n") + 1, removed=old.count("\n") + 1, left_out=1)
    hunks: list[TextHunk] = []
    added = removed = left_out = 0
    left = KEPT_LINES
    for hunk in text_hunks(old, new):
        added += sum(line[:1] == "+" for line in hunk.lines)
        removed += sum(line[:1] == "-" for line in hunk.lines)
        lines = tuple(line[:MAX_LINE_CHARS] for line in hunk.lines[:left])
        left_out += len(hunk.lines) - len(lines)
        left -= len(lines)
        if lines:
            hunks.append(TextHunk(old_start=hunk.old_start, new_start=hunk.new_start, lines=lines))
    return TextChange(added=added, removed=removed, hunks=tuple(hunks), left_out=left_out)


def text_hunks(old: str, new: str, *, compared_lines: int = COMPARED_LINES) -> Iterator[TextHunk]:
    """The whole of what turns `old` into `new`: no line is cut, and none left out.

    Texts that differ in a part of more than `compared_lines` lines are not compared there: the part counts as
    replaced.
    """
    before, after = old.splitlines(), new.splitlines()
    start, limit = 0, min(len(before), len(after))
    while start < limit and before[start] == after[start]:
        start += 1
    end = 0
    while end < limit - start and before[-1 - end] == after[-1 - end]:
        end += 1
    for group in _groups(_edits(before, after, (start, end), compared_lines)):
        first_old = max(group[0][0] - CONTEXT_LINES, 0)
        first_new = first_old + group[0][2] - group[0][0]
        lines = tuple(_lines(before, after, group))
        yield TextHunk(old_start=first_old + 1, new_start=first_new + 1, lines=lines)


Edited = tuple[int, int, int, int]
"""From and to, in the old lines and in the new ones."""


def _edits(before: list[str], after: list[str], shared: tuple[int, int], compared_lines: int) -> list[Edited]:
    """What differs between the lines that both begin and both end with: so many are `shared` there."""
    start, end = shared
    middle, other = before[start : len(before) - end], after[start : len(after) - end]
    if not middle and not other:
        return []
    if not middle or not other or len(middle) + len(other) > compared_lines:
        return [(start, start + len(middle), start, start + len(other))]
    from difflib import SequenceMatcher

    is_long = len(middle) + len(other) > COMPARED_LINES  # lines that are everywhere would cost seconds
    codes = SequenceMatcher(None, middle, other, autojunk=is_long).get_opcodes()
    return [
        (start + i1, start + i2, start + j1, start + j2) for tag, i1, i2, j1, j2 in codes if tag != "equal"
    ]


def _groups(edits: list[Edited]) -> Iterator[list[Edited]]:
    group: list[Edited] = []
    for edit in edits:
        if group and edit[0] - group[-1][1] > 2 * CONTEXT_LINES:
            yield group
            group = []
        group.append(edit)
    if group:
        yield group


def _lines(before: list[str], after: list[str], group: list[Edited]) -> list[str]:
    place = max(group[0][0] - CONTEXT_LINES, 0)
    lines: list[str] = []
    for old_from, old_to, new_from, new_to in group:
        lines += (f" {line}" for line in before[place:old_from])
        lines += (f"-{line}" for line in before[old_from:old_to])
        lines += (f"+{line}" for line in after[new_from:new_to])
        place = old_to
    lines += (f" {line}" for line in before[place : place + CONTEXT_LINES])
    return lines


def _hunk(item: object) -> TextHunk | None:
    if not isinstance(item, Mapping) or not isinstance(item.get("lines"), list | tuple):
        return None
    lines = tuple(str(line) for line in item["lines"])
    start, other = _count(item.get("old_start")), _count(item.get("new_start"))
    return TextHunk(old_start=start, new_start=other, lines=lines)


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
