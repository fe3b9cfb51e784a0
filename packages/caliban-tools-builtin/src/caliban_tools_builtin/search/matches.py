"""Matching lines as the search program prints them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import TypeAlias

from msgspec import Struct, field

_MAX_PENDING_BYTES = 1 << 20
_NOTE = re.compile(
    rb"([^\n]*?): (?:WARNING: stopped searching binary file|binary file matches)[^\n]*(?:\n|\Z)"
)

Fits: TypeAlias = Callable[[str], object] | None
"""Says of a path whether it is asked for; `None` means all are."""


class MatchCollector(Struct, kw_only=True):
    """Matching lines as they come in: `path NUL number:text LF`. One more than `wanted` is enough.

    `lines` are path, number and content as they came; `rows`, made of them once they are confirmed, what is
    shown. `changed` counts the lines that were not confirmed. `hidden` counts the files with matches that
    rules hide: not for the model, which could ask for one expression after the other.
    """

    wanted: int
    fits: Fits
    readable: Callable[[str], bool]
    lines: list[tuple[str, int, bytes]] = field(default_factory=list)
    rows: list[tuple[str, int, str]] = field(default_factory=list)
    complete: bool = True
    changed: int = 0
    hidden: int = 0
    _names: dict[bytes, str | None] = field(default_factory=dict)
    _pending: bytes = b""

    @property
    def is_empty(self) -> bool:
        """Whether nothing matched, hidden by rules or not."""
        return not self.lines and not self.hidden

    @property
    def has_more(self) -> bool:
        """Whether more lines match than were wanted."""
        return len(self.rows) > self.wanted

    def join(self, other: MatchCollector) -> None:
        """Take in what a second look has found in other files."""
        self.lines += other.lines
        self.rows += other.rows
        self.complete = self.complete and other.complete
        self.changed += other.changed

    def feed(self, chunk: bytes) -> bool:
        """Take the next piece of output; False once there are enough lines. Names may hold line feeds."""
        data, at = self._pending + chunk, 0
        while len(self.lines) <= self.wanted:
            mark = data.find(b"\0", at)
            end = data.find(b"\n", mark) if mark >= 0 else -1
            if end < 0:
                break
            self._take(data[at:mark], data[mark + 1 : end])
            at = end + 1
        self._pending = data[at:]
        if len(self._pending) > _MAX_PENDING_BYTES:
            self._pending = b""
        return len(self.lines) <= self.wanted

    def finish(self) -> None:
        """Nothing comes any more: what is left are notes."""
        pending, self._pending = self._pending, b""
        self._without_notes(pending)

    def _take(self, path: bytes, rest: bytes) -> None:
        name = self._name(self._without_notes(path))
        number, colon, content = rest.partition(b":")
        if name is not None and colon and number.isdigit():
            self.lines.append((name, int(number), content))

    def _without_notes(self, text: bytes) -> bytes:
        """What follows the notes on binary files, which stand between lines; a match in one is a line 0."""
        while note := _NOTE.match(text):
            name = self._name(note[1]) if b": binary file matches" in note[0] else None
            if name is not None:
                self.lines.append((name, 0, b""))
            text = text[note.end() :]
        return text

    def _name(self, path: bytes) -> str | None:
        """The path as text; `None` for a file that is not asked for, or may not be shown."""
        if path not in self._names:
            text = os.fsdecode(path.removeprefix(b"./"))
            asked_for = self.fits is None or bool(self.fits(text))
            shown = asked_for and self.readable(text)
            self.hidden += asked_for and not shown
            self._names[path] = text if shown else None
        return self._names[path]
