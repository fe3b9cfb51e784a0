"""The painter of the main screen: finished blocks go into scrollback, a live region follows them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

from caliban_tui.clean import in_line
from caliban_tui.line import ScreenLine
from caliban_tui.paint.ascii import as_sent
from caliban_tui.paint.delta import rewrite
from caliban_tui.paint.pen import Pen
from caliban_tui.render.blocks import block_lines
from caliban_tui.render.images import GRAPHICS
from caliban_tui.screen import Caret, ScreenFrame, ScreenSize
from caliban_tui.theme.theme import Theme
from caliban_tui.transcript.blocks import TranscriptBlock
from caliban_tui.width import fit, least_rows, most_cells

BEGIN: Final = "\x1b[?2026h"
END: Final = "\x1b[?2026l"
HIDE: Final = "\x1b[?25l"
SHOW: Final = "\x1b[?25h"


class InlinePainter:
    """See `Painter`. Nothing above the live region is ever written again.

    `reflows` says whether the terminal wraps what it shows anew when it becomes narrower; `is_synchronised`
    that it shows a frame at once, so that the cursor needs no hiding. A finished line that stands in the live
    region already, at the right place, stays where it is: text that was read while it came is not sent twice.
    """

    def __init__(self, theme: Theme, *, reflows: bool = True, is_synchronised: bool = False) -> None:
        self.theme: Theme = theme
        self.reflows: bool = reflows
        self.is_synchronised: bool = is_synchronised
        self._lines: tuple[ScreenLine, ...] = ()
        self._caret: Caret | None = None
        self._row = 0
        self._size = ScreenSize(1, 1)
        self._is_whole = False
        self._is_hidden = False

    def enter(self) -> bytes:
        """See `Painter`."""
        return b""

    def paint(self, frame: ScreenFrame, finished: Sequence[TranscriptBlock], size: ScreenSize) -> bytes:
        """See `Painter`."""
        lines, caret = shown_part(frame, size)
        is_kept = self._is_whole and size == self._size
        if is_kept and not finished and lines == self._lines and caret == self._caret:
            return b""
        done = list(chain.from_iterable(block_lines(block, size.columns, frame.look) for block in finished))
        pen = Pen(self._row_now(size), size.columns, self.theme)
        target = (*done, *lines)
        if is_kept and len(target) <= size.rows and all(_fits(line, size.columns) for line in done):
            rewrite(pen, self._lines, target)
            pen.row -= len(done)
        else:
            same = _same(self._lines, target, size) if is_kept else 0
            if not is_kept:
                self._wipe(pen, size.rows)  # rows that it has wrapped would stay joined to the next ones
            self._pour(pen, done, lines, same)
        pen.to(caret.row if caret is not None else len(lines) - 1, caret.column if caret is not None else 0)
        self._lines, self._caret, self._size, self._is_whole = lines, caret, size, True
        self._row = pen.row
        return self._framed(pen.text, is_visible=caret is not None)

    def redraw(self, size: ScreenSize) -> bytes:
        """See `Painter`."""
        self._is_whole = False
        return b""

    def leave(self) -> bytes:
        """See `Painter`."""
        pen = Pen(self._row, self._size.columns, self.theme)
        self._wipe(pen, self._size.rows)
        if self._is_hidden:
            pen.send(SHOW)
        self._lines, self._caret, self._row, self._is_whole, self._is_hidden = (), None, 0, False, False
        return pen.text.encode()

    def _pour(self, pen: Pen, done: Sequence[ScreenLine], lines: Sequence[ScreenLine], same: int) -> None:
        """Write everything from the row `same` on anew."""
        pen.to(same, 0)
        for line in done[same:]:
            pen.pour(line)
        start = max(same - len(done), 0)
        for number in range(start, len(lines)):
            if number > start:
                pen.end_line()
            if number == len(lines) - 1:
                pen.send("\x1b[J")
            pen.put(lines[number])
        pen.row = len(lines) - 1

    def _wipe(self, pen: Pen, rows: int) -> None:
        """Erase the live region, and go to its top.

        To erase all from the first cell of a screen on is to clear it, and some keep what they showed then in
        their scrollback.
        """
        pen.to(0, 0)
        if min(len(self._lines), rows) > 1:
            pen.to(1, 0)
            pen.send("\x1b[J")
            pen.to(0, 0)
            pen.send("\x1b[K")
        else:
            pen.send("\x1b[J")

    def _row_now(self, size: ScreenSize) -> int:
        """In which row of what was drawn the cursor is, now that the screen may have another width.

        At least: where terminals differ, a row of ours is left rather than one above them taken away.
        """
        row = min(self._row, len(self._lines))
        if self._size.columns <= size.columns or not self.reflows:
            return row
        column = self._caret.column if self._caret is not None else 0
        above = (as_sent(line, unicode=self.theme.unicode) for line in self._lines[:row])
        return sum(least_rows(line, size.columns) for line in above) + column // size.columns

    def _framed(self, text: str, *, is_visible: bool) -> bytes:
        if not is_visible:
            hide, show = ("" if self._is_hidden else HIDE), ""
        elif self.is_synchronised:
            hide, show = "", SHOW if self._is_hidden else ""
        else:
            hide, show = ("" if self._is_hidden else HIDE), SHOW
        self._is_hidden = not is_visible
        return f"{BEGIN}{hide}{text}{show}{END}".encode()


def shown_part(frame: ScreenFrame, size: ScreenSize) -> tuple[tuple[ScreenLine, ...], Caret | None]:
    """The lines of a frame that a screen of this size can show, no terminal wraps one; at least one line.

    Of a frame that is taller than the screen the end is shown, or what the caret stands in.
    """
    lines = frame.lines or ((),)
    caret = frame.caret
    top = max(len(lines) - size.rows, 0)
    if caret is not None:
        top = min(top, caret.row, len(lines) - 1)
    lines = tuple(fit(_clean(line), size.columns) for line in lines[top : top + size.rows])
    if caret is None:
        return lines, None
    row = min(max(caret.row - top, 0), len(lines) - 1)
    return lines, Caret(row, min(max(caret.column, 0), size.columns - 1))


def _clean(line: ScreenLine) -> ScreenLine:
    """`line` as it will be sent: what is left out then must have no cell now."""
    return tuple(segment._replace(text=in_line(segment.text)) for segment in line)


def _fits(line: ScreenLine, columns: int) -> bool:
    """Whether a line takes one row and nothing but it; a picture reaches over the rows before it."""
    if any(segment.style == GRAPHICS for segment in line):
        return False
    return sum(most_cells(segment.text) for segment in line) <= columns


def _same(old: Sequence[ScreenLine], target: Sequence[ScreenLine], size: ScreenSize) -> int:
    """How many rows at the top are as they are wanted already, short of the last one on the screen."""
    most = max(min(len(old), len(target), size.rows) - 1, 0)
    for number in range(most):
        if old[number] != target[number]:
            return number
    return most
