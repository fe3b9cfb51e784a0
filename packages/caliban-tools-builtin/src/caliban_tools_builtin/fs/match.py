"""Finding what an edit means: exact text, else the same text but for whitespace.

Tiers, the first that finds anything decides:
1. exact: `old` as it stands.
2. whitespace: the same but for line ends; then, by whole lines, also but for trailing blanks and one indent
   shift that is the same on every line. The new text is shifted alike.

Pure: text in, spans out. What is outside the spans is never touched.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_tools_builtin.fs.text import LineEnd, line_end, with_feeds, with_line_end

Tier: TypeAlias = Literal["exact", "whitespace"]

BLANKS = " \t"
MAX_SPANS = 100_000
MAX_NEW_CHARS = 10_000_000
MAX_LINES = 200_000
"""Above this many lines in the file, blanks must match exactly."""
COMPARISONS = 500_000
"""How many lines the by-line search compares at most: hostile input stays linear."""


class Span(Struct, frozen=True, kw_only=True):
    """Characters `start`..`end` of the file, and the text that takes their place."""

    start: int
    end: int
    new: str


class Matches(Struct, frozen=True, kw_only=True):
    """The spans of one tier in file order; they never overlap.

    `overlapping`: there is one span, and another that overlaps it. `mixed`: the spans differ in their indent
    shift, so that not even "replace all" has one meaning.
    """

    tier: Tier
    spans: tuple[Span, ...]
    overlapping: bool = False
    mixed: bool = False


class TooMany(Exception):
    """More places than an edit may replace."""


class TextLine(Struct, frozen=True, kw_only=True):
    """A line of the file: its text without the line end, and where it and its line end stop."""

    text: str
    start: int
    end: int
    full_end: int


def find(text: str, old: str, new: str) -> Matches | None:
    """Where `old` stands in `text`, by the first tier that finds it; `None` when none does.

    Raises `TooMany`.
    """
    if not old:
        return None
    return _exact(text, old, new) or _but_for_line_ends(text, old, new) or _but_for_blanks(text, old, new)


def apply(text: str, spans: tuple[Span, ...]) -> str:
    """`text` with each span replaced by its new text."""
    parts: list[str] = []
    done = 0
    for span in spans:
        parts += (text[done : span.start], span.new)
        done = span.end
    parts.append(text[done:])
    return "".join(parts)


def line_range(text: str, span: Span) -> tuple[int, int]:
    """The first and last line (from 1) that the span touches."""
    text = with_feeds(text)
    first = text.count("\n", 0, span.start) + 1
    return first, first + text.count("\n", span.start, max(span.start, span.end - 1))


def split_lines(text: str) -> list[TextLine]:
    """The lines of `text` with their places; a final line end opens no further line."""
    lines: list[TextLine] = []
    start = 0
    for piece in text.split("\n"):
        full_end = min(start + len(piece) + 1, len(text))
        content = piece.removesuffix("\r") if start + len(piece) < len(text) else piece
        lines.append(TextLine(text=content, start=start, end=start + len(content), full_end=full_end))
        start = full_end
    if lines[-1].start == len(text):
        lines.pop()
    return lines


def _exact(text: str, old: str, new: str) -> Matches | None:
    count = text.count(old)
    if not count:
        return None
    _bound(count, new)
    ends = LineEnds(text)
    spans: list[Span] = []
    at = first = text.find(old)
    while at >= 0:
        end = at + len(old)
        spans.append(Span(start=at, end=end, new=new if "\r" in new else ends.give(new, at, end)))
        at = text.find(old, end)
    overlapping = len(spans) == 1 and text.find(old, first + 1) >= 0
    return Matches(tier="exact", spans=tuple(spans), overlapping=overlapping)


class LineEnds:
    """The line ends of a text: which one belongs at a place."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._eol, self._uniform = line_end(text)
        self._feeds: list[int] | None = None

    def give(self, new: str, start: int, end: int) -> str:
        """`new` with the line ends of the place `start`..`end` that it takes."""
        return with_line_end(new, self._at(start, end)) if "\n" in new else new

    def _at(self, start: int, end: int) -> LineEnd:
        """The line end within the span, else the one that follows it, else the one before it."""
        if self._uniform:
            return self._eol
        inside = self._text[start:end]
        if "\n" in inside:
            return line_end(inside)[0]
        if self._feeds is None:
            self._feeds = [match.start() for match in re.finditer("\n", self._text)]
        index = min(bisect_left(self._feeds, end), len(self._feeds) - 1)
        feed = self._feeds[index]
        return "\r\n" if feed and self._text[feed - 1] == "\r" else "\n"


def _bound(count: int, new: str) -> None:
    if count > MAX_SPANS:
        raise TooMany(f"old_string stands at {count:,} places; at most {MAX_SPANS:,} are replaced at once")
    if count > 1 and count * len(new) > MAX_NEW_CHARS:
        raise TooMany(f"the new text at {count:,} places would be above {MAX_NEW_CHARS:,} characters")


def _but_for_line_ends(text: str, old: str, new: str) -> Matches | None:
    wanted = with_line_end(old, "\n")
    if "\n" not in wanted or ("\r" not in text and wanted == old):
        return None
    plain = Plain(text)
    count = plain.text.count(wanted)
    if not count:
        return None
    _bound(count, new)
    ends = LineEnds(text)
    spans: list[Span] = []
    at = first = plain.text.find(wanted)
    while at >= 0:
        start, end = plain.origin(at), plain.origin(at + len(wanted))
        spans.append(Span(start=start, end=end, new=ends.give(with_line_end(new, "\n"), start, end)))
        at = plain.text.find(wanted, at + len(wanted))
    overlapping = len(spans) == 1 and plain.text.find(wanted, first + 1) >= 0
    return Matches(tier="whitespace", spans=tuple(spans), overlapping=overlapping)


class Plain:
    """A text with LF as its only line end, and the way back to the places of the original."""

    def __init__(self, text: str) -> None:
        self._pairs: list[int] = []
        self.text: str
        if "\n" not in text:
            self.text = text.replace("\r", "\n")
            return
        self.text = text.replace("\r\n", "\n")
        self._pairs = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]

    def origin(self, place: int) -> int:
        """The place in the original; before a CRLF that is before its CR."""
        return place + bisect_left(self._pairs, place)


def _but_for_blanks(text: str, old: str, new: str) -> Matches | None:
    wanted = with_line_end(old, "\n").split("\n")
    closed = wanted[-1] == "" and len(wanted) > 1
    if closed:
        wanted.pop()
    fed = with_feeds(text)
    if fed.count("\n") > MAX_LINES:
        return None
    wanted = [line.rstrip(BLANKS) for line in wanted]
    lines = split_lines(fed)
    hits = list(_windows(lines, wanted))
    if not hits:
        return None
    overlapping = len(hits) == 1 and _fits_again(lines, wanted, hits[0][0])
    _bound(len(hits), new)
    ends = LineEnds(text)
    spans = tuple(_shifted(ends, window, shift, new, closed=closed) for window, shift in hits)
    mixed = len({shift for _, shift in hits}) > 1
    return Matches(tier="whitespace", spans=spans, overlapping=overlapping, mixed=mixed)


def _fits_again(lines: list[TextLine], wanted: list[str], window: list[TextLine]) -> bool:
    """Whether `wanted` also begins within `window`, the first run of lines that equals it."""
    first = bisect_left(lines, window[0].start, key=lambda line: line.start)
    return any(_windows(lines[first + 1 : first + 2 * len(wanted) - 1], wanted))


class Shift(Struct, frozen=True, kw_only=True):
    """The indent by which the file's lines differ from the wanted ones; `less` if they have less."""

    blanks: str
    less: bool = False


def _windows(lines: list[TextLine], wanted: list[str]) -> Iterator[tuple[list[TextLine], Shift]]:
    """The runs of lines that equal `wanted` but for blanks, with their shift; they never overlap.

    Raises `TooMany` rather than leave any out.
    """
    anchor = next((index for index, line in enumerate(wanted) if line), None)
    if anchor is None:
        return
    key = wanted[anchor].lstrip(BLANKS)
    left = COMPARISONS
    first = 0
    while first + len(wanted) <= len(lines):
        left -= 1
        if left < 0:
            raise TooMany(f"old_string is like too many of the {len(lines):,} lines, but for their blanks")
        if lines[first + anchor].text.strip(BLANKS) == key:
            window = lines[first : first + len(wanted)]
            shift, compared = _shift(window, wanted)
            left -= compared
            if shift is not None:
                yield window, shift
                first += len(wanted)
                continue
        first += 1


def _shift(window: list[TextLine], wanted: list[str]) -> tuple[Shift | None, int]:
    """The one shift that makes the lines equal, if there is one, and how many lines were compared."""
    shift: Shift | None = None
    for count, (line, want) in enumerate(zip(window, wanted, strict=True), 1):
        have = line.text.rstrip(BLANKS)
        if not have and not want:
            continue
        if have.endswith(want) and want and not have[: len(have) - len(want)].strip(BLANKS):
            here = Shift(blanks=have[: len(have) - len(want)])
        elif want.endswith(have) and have and not want[: len(want) - len(have)].strip(BLANKS):
            here = Shift(blanks=want[: len(want) - len(have)], less=True)
        else:
            return None, count
        if shift is not None and here != shift:
            return None, count
        shift = here
    return shift, len(wanted)


def _shifted(ends: LineEnds, window: list[TextLine], shift: Shift, new: str, *, closed: bool) -> Span:
    """The span of a window. `closed` says that the wanted text ended with a line end."""
    start, last = window[0].start, window[-1]
    end = last.full_end if closed else last.end
    if closed and last.full_end == last.end:
        new = new.removesuffix("\n").removesuffix("\r")  # the file has no final line end: it gets none
    lines = [_shift_line(line, shift) for line in with_line_end(new, "\n").split("\n")]
    return Span(start=start, end=end, new=ends.give("\n".join(lines), start, end))


def _shift_line(line: str, shift: Shift) -> str:
    if not line.strip():
        return line
    if not shift.less:
        return shift.blanks + line
    common = 0
    while common < len(shift.blanks) and line.startswith(shift.blanks[: common + 1]):
        common += 1
    return line[common:]
