"""The painter of the alternate screen: the transcript scrolls within it, and is printed when it ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple

from msgspec.structs import replace

from caliban_tui.line import ScreenLine
from caliban_tui.paint.delta import rewrite
from caliban_tui.paint.inline import BEGIN, END, HIDE, SHOW, shown_part
from caliban_tui.paint.pen import Pen
from caliban_tui.render.blocks import block_lines
from caliban_tui.render.look import NORMAL, TranscriptLook
from caliban_tui.screen import ScreenFrame, ScreenSize
from caliban_tui.terminal.caps import PUSH_KEYS
from caliban_tui.theme.theme import Theme
from caliban_tui.transcript.blocks import TranscriptBlock
from caliban_tui.width import fold_line

ENTER: Final = "\x1b[?1049h\x1b[?7l\x1b[H\x1b[J"
LEAVE: Final = "\x1b[?7h\x1b[?1049l"
POP_KEYS: Final = "\x1b[<u"
MAX_WRAPPED: Final = 2_000
"""So many blocks are kept wrapped; beyond them all are forgotten, and those that are seen wrapped again."""


class TranscriptAnchor(NamedTuple):
    """A row of the transcript: which block, and which of its rows at the present width."""

    block: int
    row: int


class FullPainter:
    """See `Painter`. `blocks` were printed on the main screen before.

    It follows the end of the transcript until `scroll` or `page` goes up, and again once they come to the
    end. Only what is seen is wrapped, and that once for a width. `pushes_keys` is for
    terminals that have a keyboard protocol for each of their screens.
    """

    def __init__(
        self,
        theme: Theme,
        blocks: Sequence[TranscriptBlock] = (),
        *,
        is_synchronised: bool = False,
        pushes_keys: bool = False,
    ) -> None:
        self.theme: Theme = theme
        self.is_synchronised: bool = is_synchronised
        self._pushes_keys = pushes_keys
        self._blocks = list(blocks)
        self._printed = len(self._blocks)
        self._anchor: TranscriptAnchor | None = None
        self._wrapped: dict[int, tuple[ScreenLine, ...]] = {}
        self._size = ScreenSize(80, 24)
        self._look = NORMAL
        self._height = 1
        self._rows: tuple[ScreenLine, ...] | None = None
        self._cursor = (0, 0, True)

    @property
    def is_following(self) -> bool:
        """Whether the end of the transcript is shown, and stays shown as it grows."""
        return self._anchor is None

    def enter(self) -> bytes:
        """See `Painter`."""
        self._rows = None
        return ENTER.encode() + (PUSH_KEYS if self._pushes_keys else b"")

    def paint(self, frame: ScreenFrame, finished: Sequence[TranscriptBlock], size: ScreenSize) -> bytes:
        """See `Painter`."""
        self._blocks += finished
        self._fit_to(size, frame.look)
        lines, caret = shown_part(frame, size)
        self._height = size.rows - len(lines)
        seen = self._seen()
        rows = (*seen, *lines, *((),) * (self._height - len(seen)))
        place = (
            (len(seen) + caret.row, caret.column, True) if caret is not None else (size.rows - 1, 0, False)
        )
        if rows == self._rows and place == self._cursor:
            return b""
        pen = Pen(self._cursor[0], size.columns, self.theme)
        if self._rows is None:
            pen.send("\x1b[H")
            pen.row = 0
            for number, row in enumerate(rows):
                pen.to(number, 0)
                pen.put(row)
        else:
            rewrite(pen, self._rows, rows)
        pen.to(place[0], place[1])
        self._rows, self._cursor = rows, place
        hide = "" if self.is_synchronised and place[2] else HIDE
        return f"{BEGIN}{hide}{pen.text}{SHOW if place[2] else ''}{END}".encode()

    def redraw(self, size: ScreenSize) -> bytes:
        """See `Painter`."""
        self._rows = None
        return b""

    def leave(self) -> bytes:
        """See `Painter`."""
        pen = Pen(0, self._size.columns, self.theme)
        pen.send(f"{POP_KEYS if self._pushes_keys else ''}{LEAVE}{SHOW}\r\x1b[J")
        for block in self._blocks[self._printed :]:
            for line in block_lines(block, self._size.columns, self._look):
                pen.pour(line)
        self._printed = len(self._blocks)
        self._rows = None
        return pen.text.encode()

    def scroll(self, rows: int) -> None:
        """Go so many rows down the transcript, up where it is negative; the next frame shows it."""
        if rows < 0:
            self._anchor = self._up(self._anchor or self._up(None, self._height), -rows)
        elif self._anchor is not None:
            self._anchor = self._down(self._anchor, rows)
        self._settle()

    def page(self, pages: int) -> None:
        """Go so many screens down, up where it is negative; two rows of the one before stay."""
        self.scroll(pages * max(self._height - 2, 1))

    def end(self) -> None:
        """Follow the end again."""
        self._anchor = None

    def _fit_to(self, size: ScreenSize, look: TranscriptLook) -> None:
        look = replace(look, images="")  # they would stay where they are while the rows move
        if size.columns != self._size.columns or look != self._look:
            self._wrapped.clear()
            if self._anchor is not None:
                self._anchor = self._anchor._replace(row=0)
        if size != self._size:
            self._rows = None
        self._size, self._look = size, look

    def _seen(self) -> list[ScreenLine]:
        """The rows of the transcript that are on the screen, as many as there is room for."""
        anchor = self._anchor
        if anchor is not None:
            rows = list(islice(self._from(anchor), self._height))
            if len(rows) == self._height:
                return rows
            self._anchor = None
        return list(islice(self._from(self._up(None, self._height)), self._height))

    def _settle(self) -> None:
        """Follow, where the end is seen."""
        if self._anchor is not None:
            rows = sum(1 for _ in islice(self._from(self._anchor), self._height + 1))
            if rows <= self._height:
                self._anchor = None

    def _from(self, anchor: TranscriptAnchor) -> Iterator[ScreenLine]:
        row = anchor.row
        for block in range(anchor.block, len(self._blocks)):
            yield from self._wrap(block)[row:]
            row = 0

    def _up(self, anchor: TranscriptAnchor | None, rows: int) -> TranscriptAnchor:
        """So many rows above `anchor`, or above the end; the first row at most."""
        block, row = anchor if anchor is not None else (len(self._blocks), 0)
        row -= rows
        while row < 0 and block > 0:
            block -= 1
            row += len(self._wrap(block))
        return TranscriptAnchor(block, max(row, 0))

    def _down(self, anchor: TranscriptAnchor, rows: int) -> TranscriptAnchor:
        block, row = anchor
        row += rows
        while block < len(self._blocks) and row >= len(self._wrap(block)):
            row -= len(self._wrap(block))
            block += 1
        return TranscriptAnchor(block, row if block < len(self._blocks) else 0)

    def _wrap(self, number: int) -> tuple[ScreenLine, ...]:
        """The rows of a block."""
        rows = self._wrapped.get(number)
        if rows is None:
            if len(self._wrapped) >= MAX_WRAPPED:
                self._wrapped.clear()
            lines = block_lines(self._blocks[number], self._size.columns, self._look)
            rows = tuple(row for line in lines for row in fold_line(line, self._size.columns))
            self._wrapped[number] = rows
        return rows
