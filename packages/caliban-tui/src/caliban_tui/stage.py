"""What is on the screen, and when it is painted: one write a frame, a key at once, events every 33 ms."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

import anyio

from caliban_tui.blocks import TranscriptBlock
from caliban_tui.compose import compose
from caliban_tui.errors import TerminalGone
from caliban_tui.paint.painter import Painter
from caliban_tui.screen import ScreenSize
from caliban_tui.tty import LEAVE_S, Tty
from caliban_tui.ui import UiState
from caliban_tui.view import ConversationView

FRAME_S: Final = 1 / 30
TICK_S: Final = 0.25


class Stage:
    """The view, the state of the keyboard and the painter of now; `blocks` are all that ever finished.

    `ui` is asked for at every frame. `gone` is called once when the terminal takes nothing any more.
    """

    def __init__(
        self, tty: Tty, painter: Painter, ui: Callable[[], UiState], gone: Callable[[], None]
    ) -> None:
        self.tty: Tty = tty
        self.painter: Painter = painter
        self.view: ConversationView = ConversationView()
        self.blocks: list[TranscriptBlock] = []
        self._ui = ui
        self._gone = gone
        self._unpainted: list[TranscriptBlock] = []
        self._due = anyio.Event()
        self._size: ScreenSize | None = None
        self._is_open = False

    def open(self) -> None:
        """Begin to paint. Raises `TerminalGone`."""
        self.tty.enter()
        self.tty.write(self.painter.enter())
        self._is_open = True

    def close(self) -> None:
        """Stop painting and give the terminal back; what was said stays."""
        if not self._is_open:
            return
        try:
            self.tty.outlet.finish(LEAVE_S)
        except TerminalGone:
            pass
        self.paint()
        self._is_open = False
        try:
            self.tty.write(self.painter.leave())
        except TerminalGone:
            pass
        self.tty.leave()

    def show(self, *blocks: TranscriptBlock) -> None:
        """Add finished blocks to the transcript."""
        self.blocks += blocks
        self._unpainted += blocks
        self.changed()

    def changed(self) -> None:
        """A frame is due soon."""
        self._due.set()

    def paint(self) -> None:
        """Paint now."""
        if not self._is_open or not self._is_taken():
            return
        size = self.tty.size()
        data = b""
        if self._size is not None and size != self._size:
            data = self.painter.redraw(size)
        self._size = size
        frame = compose(self.view, self._ui(), size, time.monotonic())
        finished, self._unpainted = self._unpainted, []
        data += self.painter.paint(frame, finished, size)
        try:
            self.tty.write(data)
        except TerminalGone:
            self._is_open = False
            self._gone()

    def redraw(self) -> None:
        """Paint all that is live again."""
        self.tty.write(self.painter.redraw(self.tty.size()))
        self.paint()

    async def run(self) -> None:
        """Paint whenever a frame is due, and while something moves, until cancelled."""
        while True:
            with anyio.move_on_after(TICK_S if self.view.is_working else None):
                await self._due.wait()
            self._due = anyio.Event()
            self.paint()
            try:
                await self.tty.outlet.cleared()
            except TerminalGone:
                self._is_open = False
                self._gone()
            await anyio.sleep(FRAME_S)

    def _is_taken(self) -> bool:
        """Whether the terminal has taken the frame before; if not, the next one is due when it has."""
        try:
            self.tty.outlet.push()
        except TerminalGone:
            self._is_open = False
            self._gone()
            return False
        if not self.tty.outlet.is_clear:
            self.changed()
        return self.tty.outlet.is_clear
