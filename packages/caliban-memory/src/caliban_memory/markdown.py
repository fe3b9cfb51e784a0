"""Where a Markdown text imports other files: `@path` in prose, and nowhere in code, comments or addresses.

What counts is decided by the place: an `@` at the beginning of a word, outside of fences, indented code, code
spans and comments. Linear in the length of the text.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from caliban_common.lazy import lazy_pattern

_FENCE = lazy_pattern(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_LIST_ITEM = lazy_pattern(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_INDENTED = lazy_pattern(r"(?: {4}| {0,3}\t)")
_LEAD = lazy_pattern(r"[ \t]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+|>[ \t]*)*")
_TICKS = lazy_pattern(r"`+")
_BLANK = lazy_pattern(r"\n[ \t]*(?=\r?\n)")
_URL = lazy_pattern(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_BEFORE: Final = "([{<\"'*_~>|,;:!—–-"
"""What may stand before the `@` of an import, beside white space."""

_ENDS: Final = ".,;:!?)]}>'\"*_~|"
"""What ends a sentence or an emphasis, not a path."""

_STOPS: Final = " \t\r\n`<>|(){}[]\"'"
MAX_TARGET_CHARS: Final = 1000


class Import(Struct, frozen=True, kw_only=True):
    """An import: `text[start:end]` is what was written, `target` the path or URL in it.

    `alone` says that nothing else stands on its line.
    """

    start: int
    end: int
    target: str
    alone: bool


def find_imports(text: str) -> tuple[Import, ...]:
    """The imports of `text`, in order; they do not overlap."""
    if "@" not in text:
        return ()
    imports: list[Import] = []
    line = _Line(text)
    for start, end in _prose(text):
        at = text.find("@", start, end)
        while at >= 0:
            taken = _import_at(line, at, start, end)
            if taken is not None:
                imports.append(taken)
            at = text.find("@", taken.end if taken is not None else at + 1, end)
    return tuple(imports)


class _Line:
    """The line that was asked about last: each is looked at once, however many `@` it has."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._end = -1
        self._first = 0
        self._last = 0

    def has_nothing_but(self, start: int, end: int) -> bool:
        """Whether `text[start:end]` is all that its line says, behind the marks of lists and quotations."""
        if not self._first <= start <= self._end:
            begin, stop = self.text.rfind("\n", 0, start) + 1, self.text.find("\n", start)
            self._end = len(self.text) if stop < 0 else stop
            lead = _LEAD.match(self.text, begin, self._end)
            self._first = begin if lead is None else lead.end()
            self._last = begin + len(self.text[begin : self._end].rstrip())
        return start == self._first and end >= self._last


def _import_at(line: _Line, at: int, start: int, end: int) -> Import | None:
    text = line.text
    before = text[at - 1] if at > start else " "
    if at == start and at > 0 and text[at - 1] == "`":
        return None
    if not (before.isspace() or before in _BEFORE):
        return None
    if at >= 2 and before in "-_*:'\"" and (text[at - 2].isalnum() and at - 2 >= start):
        return None  # part of a word, as in `a-@b`
    target, stop = _target(text, at + 1, end)
    if not _is_path(target) or (stop < end and text[stop] == "("):
        return None  # a handle, or a decorator that is called
    return Import(start=at, end=stop, target=target, alone=line.has_nothing_but(at, stop))


def _target(text: str, start: int, end: int) -> tuple[str, int]:
    """The path that begins at `start`, in quotes or with escaped blanks, and where it ends."""
    quote = text[start : start + 1]
    if quote in ('"', "'") and quote:
        close = text.find(quote, start + 1, min(end, start + MAX_TARGET_CHARS))
        if close < 0 or "\n" in text[start:close]:
            return "", start
        return text[start + 1 : close], close + 1
    chars: list[str] = []
    ends: list[int] = []
    place = start
    while place < end and len(chars) <= MAX_TARGET_CHARS:
        char = text[place]
        if char == "\\" and place + 1 < end and text[place + 1] == " ":
            char = " "
            place += 1
        elif char in _STOPS:
            break
        elif char == "@":
            return "", start  # an address, or several in a row: no path has one
        chars.append(char)
        place += 1
        ends.append(place)
    while chars and chars[-1] in _ENDS and chars != ["~"]:
        chars.pop()
        ends.pop()
    return "".join(chars), ends[-1] if ends else start


def _is_path(target: str) -> bool:
    """Whether it looks like a file and not like somebody's name: a slash, a dot, or a `~`."""
    if not 0 < len(target) <= MAX_TARGET_CHARS or not target.isprintable() or "@" in target:
        return False
    return "/" in target or "\\" in target.strip("\\") or "." in target.strip(".") or target.startswith("~")


def is_url(target: str) -> bool:
    """Whether `target` names another machine: a URL, or a share (`//host`, `\\\\host`)."""
    return _URL.match(target) is not None or target.startswith(("//", "\\\\"))


def _prose(text: str) -> Iterator[tuple[int, int]]:
    """The spans of `text` that are neither code nor comment, in order."""
    for start, end in _without_blocks(text):
        yield from _without_inline(text, start, end)


def _without_blocks(text: str) -> Iterator[tuple[int, int]]:
    """The spans between fenced and indented code: runs of whole lines."""
    begin: int | None = None
    fence = ""
    blank, in_list, in_code, in_comment = True, False, False, False
    place = 0
    for line in text.splitlines(keepends=True):
        words = line.rstrip("\r\n")
        start, place = place, place + len(line)
        if fence:
            mark = words.strip()
            if mark.startswith(fence) and not mark.strip(fence[0]) and len(words) - len(words.lstrip()) < 4:
                fence = ""
            continue
        opened = None if in_comment else _FENCE.match(words if not in_list else words.lstrip())
        in_code = (
            not in_comment
            and not in_list
            and bool(words.strip())
            and (blank or in_code)
            and _INDENTED.match(words) is not None
        )
        if opened is not None and not in_code:
            fence = opened[1]
        if fence or in_code:
            if begin is not None:
                yield begin, start
            begin = None
            blank = False
            continue
        if begin is None:
            begin = start
        in_comment = _stays_open(words, in_comment)
        if words.strip():
            in_list = _LIST_ITEM.match(words) is not None or (in_list and words[:1] in " \t")
        blank = not words.strip()
    if begin is not None:
        yield begin, place


def _stays_open(words: str, in_comment: bool) -> bool:
    """Whether a comment is open behind the line."""
    opened, closed = words.rfind("<!--"), words.rfind("-->")
    if opened < 0 and closed < 0:
        return in_comment
    return opened > closed


def _without_inline(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The spans between code spans, comments and escaped `@`."""
    runs = [(match.start(), match.end()) for match in _TICKS.finditer(text, start, end)]
    partners = _partners(text, runs, start, end)
    comments, escapes = _Finder(text, "<!--", end), _Finder(text, "\\@", end)
    place, index = start, 0
    while place < end:
        while index < len(runs) and runs[index][0] < place:
            index += 1
        ticks = runs[index][0] if index < len(runs) else end
        comment, escaped = comments.after(place), escapes.after(place)
        first = min(ticks, comment, escaped)
        if place < first:
            yield place, first
        if first == end:
            return
        if first == comment:
            close = text.find("-->", comment, end)
            place = end if close < 0 else close + 3
        elif first == escaped:
            place = escaped + 2
        else:
            partner = partners[index]
            place = runs[index][1] if partner is None else runs[partner][1]


class _Finder:
    """Where `words` stand next, looked for once each."""

    def __init__(self, text: str, words: str, end: int) -> None:
        self._text = text
        self._words = words
        self._end = end
        self._next = -1

    def after(self, place: int) -> int:
        """The first place from `place` on; the end for none."""
        if self._next < place:
            start = self._text.find(self._words, place, self._end)
            self._next = self._end if start < 0 else start
        return self._next


def _partners(text: str, runs: list[tuple[int, int]], start: int, end: int) -> list[int | None]:
    """For each run of backticks the one that closes it: the next of its length in the same paragraph."""
    blanks = [match.start() for match in _BLANK.finditer(text, start, end)]
    partners: list[int | None] = [None] * len(runs)
    last: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = runs[index][1] - runs[index][0]
        partner = last.get(length)
        if partner is not None:
            gap = bisect_left(blanks, runs[index][1])
            if gap == len(blanks) or blanks[gap] >= runs[partner][0]:
                partners[index] = partner
        last[length] = index
    return partners
