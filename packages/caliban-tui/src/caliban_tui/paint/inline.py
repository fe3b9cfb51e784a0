"""The painter of the main screen: finished blocks go into scrollback, a live region follows them."""

from __future__ import annotations

from collections.abc import Sequence

from caliban_tui.blocks import TranscriptBlock
from caliban_tui.line import ScreenLine
from caliban_tui.paint.sgr import encode_line
from caliban_tui.render import block_lines
from caliban_tui.screen import Caret, ScreenFrame, ScreenSize
from caliban_tui.theme import Theme
from caliban_tui.width import line_cells

BEGIN, END = "\x1b[?2026h", "\x1b[?2026l"


class InlinePainter:
    """See `Painter`. Nothing above the live region is ever written again."""

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self._lines: tuple[ScreenLine, ...] = ()
        self._caret: Caret | None = None

    def enter(self) -> bytes:
        """See `Painter`."""
        return b""

    def paint(self, frame: ScreenFrame, finished: Sequence[TranscriptBlock], size: ScreenSize) -> bytes:
        """See `Painter`."""
        if not finished and frame.lines == self._lines and frame.caret == self._caret:
            return b""
        out = [BEGIN, "\x1b[?25l", self._to_top(size)]
        for block in finished:
            for line in block_lines(block, size.columns, frame.look):
                out.append(f"{encode_line(line, self.theme)}\x1b[K\r\n")
        for number, line in enumerate(frame.lines):
            out.append(f"{encode_line(line, self.theme)}\x1b[K")
            if number < len(frame.lines) - 1:
                out.append("\r\n")
        out.append("\x1b[J")
        if frame.caret is not None:
            up = len(frame.lines) - 1 - frame.caret.row
            out.append("\r" + (f"\x1b[{up}A" if up else ""))
            out.append(f"\x1b[{frame.caret.column}C" if frame.caret.column else "")
            out.append("\x1b[?25h")
        out.append(END)
        self._lines, self._caret = frame.lines, frame.caret
        return "".join(out).encode()

    def redraw(self, size: ScreenSize) -> bytes:
        """See `Painter`."""
        data = self._to_top(size) + "\x1b[J"
        self._lines, self._caret = (), None
        return data.encode()

    def leave(self) -> bytes:
        """See `Painter`."""
        return self.redraw(ScreenSize(1 << 16, 1 << 16))

    def _to_top(self, size: ScreenSize) -> str:
        """From the caret to the first row of what was drawn, as wide as the screen is now."""
        if not self._lines:
            return "\r"
        row = self._caret.row if self._caret is not None else len(self._lines) - 1
        column = self._caret.column if self._caret is not None else 0
        above = sum(max(-(-line_cells(line) // size.columns), 1) for line in self._lines[:row])
        above += column // size.columns
        return "\r" + (f"\x1b[{above}A" if above else "")
