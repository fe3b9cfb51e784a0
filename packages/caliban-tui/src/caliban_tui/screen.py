"""The part of the screen that still changes, as a value."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, TypeAlias

from msgspec import Struct

from caliban_tui.line import ScreenLine
from caliban_tui.render.look import NORMAL, TranscriptLook

CursorShape: TypeAlias = Literal["", "block", "bar", "underline"]
"""Empty is as the person's terminal has it."""


class ScreenSize(NamedTuple):
    """Cells across and down, each at least 1."""

    columns: int
    rows: int


class Caret(NamedTuple):
    """Where the real cursor stands, from 0, within the frame."""

    row: int
    column: int


class ScrollRoom(NamedTuple):
    """How far something scrolls: the rows of a page, and the last row that can be its first."""

    page: int = 1
    last: int = 0


UNSCROLLED: Final = ScrollRoom()


class ScreenFrame(Struct, frozen=True, kw_only=True):
    """The live region: lines, each already cut to the width, and the caret; without one it is hidden.

    `cursor` is the shape of the real cursor, `scroll` how far the open question scrolls. `look` is how
    finished blocks are drawn above it. `spoken` are lines that change only when something happens: a
    question, a hint, a tool at work, the mode. A screen reader is told each when it comes; the other lines,
    with what moves in them, it is not told.
    """

    lines: tuple[ScreenLine, ...]
    caret: Caret | None = None
    cursor: CursorShape = ""
    scroll: ScrollRoom = UNSCROLLED
    look: TranscriptLook = NORMAL
    spoken: tuple[ScreenLine, ...] = ()
