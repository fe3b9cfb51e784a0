"""What is on the screen, and when it is painted: one write a frame, a key at once, events every 33 ms."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import MappingProxyType
from typing import Final

import anyio
from msgspec.structs import replace

from caliban_tui.compose import compose
from caliban_tui.errors import TerminalGone
from caliban_tui.paint.painter import Painter
from caliban_tui.screen import UNSCROLLED, CursorShape, ScreenSize, ScrollRoom
from caliban_tui.terminal.tty import LEAVE_S, Tty
from caliban_tui.transcript.blocks import CallBlock, TranscriptBlock
from caliban_tui.transcript.fold import left_open
from caliban_tui.transcript.view import ConversationView, RunningCall, begun, ended
from caliban_tui.ui import UiState

FRAME_S: Final = 1 / 30
OVER_S: Final = 1.0
"""So long what is at work may take to end, and to be shown, once the person has left."""

TICK_S: Final = 0.25
STILL_TICK_S: Final = 1.0
CLEARED: Final = b"\x1b[H\x1b[J"
SHAPES: Final[Mapping[CursorShape, bytes]] = MappingProxyType(
    {"": b"\x1b[0 q", "block": b"\x1b[2 q", "bar": b"\x1b[6 q", "underline": b"\x1b[4 q"}
)
"""DECSCUSR: none of them blinks; 0 is what the person's terminal has."""
MAX_BLOCKS: Final = 5_000
MAX_BLOCK_CHARS: Final = 8_000_000
"""What is kept of a transcript beside the history; what is older stands in the terminal's scrollback."""


class Stage:
    """The view, the state of the keyboard and the painter of now; `blocks` are the last that finished.

    `scroll` is that of the frame on the screen; `is_open` says that the terminal is ours, and takes frames.

    `ui` is asked for at every frame. `gone` is called once when the terminal takes nothing any more.
    `is_still` says that nothing turns while it is waited for, `shapes_cursor` that the terminal's cursor has
    the shape that a frame wants.
    """

    def __init__(
        self, tty: Tty, painter: Painter, ui: Callable[[], UiState], gone: Callable[[], None]
    ) -> None:
        self.tty: Tty = tty
        self.painter: Painter = painter
        self.view: ConversationView = ConversationView()
        self.scroll: ScrollRoom = UNSCROLLED
        self.blocks: deque[TranscriptBlock] = deque()
        self.is_still = False
        self.shapes_cursor = False
        self._cursor: CursorShape = ""
        self._chars = 0
        self._ui = ui
        self._gone = gone
        self._unpainted: list[TranscriptBlock] = []
        self._due = anyio.Event()
        self._size: ScreenSize | None = None
        self.is_open: bool = False
        self._modes: dict[str, tuple[bytes, bytes]] = {}

    def open(self) -> None:
        """Begin to paint. Raises `TerminalGone`."""
        self.tty.enter()
        self.tty.write(self.painter.enter() + self._modes_on())
        self.is_open = True

    def use_painter(self, painter: Painter) -> None:
        """Let another painter go on; what was printed stays, and is not printed again."""
        if self.is_open:
            self.paint()
            self.send(self.painter.leave())
        self.painter = painter
        if self.is_open:
            self.send(painter.enter())
            self.paint()

    def set_mode(self, name: str, on: bytes, off: bytes = b"") -> None:
        """Send `on` now and whenever the terminal is ours again, and `off` whenever it is given back."""
        self.end_mode(name)
        self._modes[name] = (on, off)
        self.send(on)

    def end_mode(self, name: str) -> None:
        """Send what takes a mode back, if it is set."""
        _, off = self._modes.pop(name, (b"", b""))
        self.send(off)

    def _modes_on(self) -> bytes:
        return b"".join(on for on, _ in self._modes.values())

    def _modes_off(self) -> bytes:
        return b"".join(off for _, off in reversed(self._modes.values()))

    def close(self, farewell: str = "") -> None:
        """Stop painting and give the terminal back; what was said stays, `farewell` is the last line."""
        if not self.is_open:
            return
        self.settle()
        with suppress(TerminalGone):
            self.tty.outlet.finish(LEAVE_S)
        self.paint()
        self.is_open = False
        try:
            self.tty.write(self._modes_off() + self.painter.leave())
            if farewell:
                self.tty.write(f"{farewell}\r\n".encode())
        except TerminalGone:
            pass
        self.tty.leave()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Give the terminal back for a while; nothing is painted meanwhile, and all that is live after it."""
        if not self.is_open:
            yield
            return
        self.is_open = False
        try:
            self.tty.write(self._modes_off() + self.painter.leave())
            self.tty.leave()
        except TerminalGone:
            self._gone()
        try:
            yield
        finally:
            self._come_back()

    def _come_back(self) -> None:
        try:
            self.open()
            self.paint()
        except TerminalGone:
            self._end()

    def show(self, *blocks: TranscriptBlock) -> None:
        """Add finished blocks to the transcript."""
        for block in blocks:
            self.blocks.append(block)
            self._chars += _size(block)
        while len(self.blocks) > 1 and (len(self.blocks) > MAX_BLOCKS or self._chars > MAX_BLOCK_CHARS):
            self._chars -= _size(self.blocks.popleft())
        self._unpainted += blocks
        self.changed()

    def clear(self) -> None:
        """Take what was said off the screen, as far as a terminal lets us: its scrollback keeps it."""
        self.blocks.clear()
        self._chars = 0
        self._unpainted.clear()
        self.send(self.painter.redraw(self.tty.size()) + CLEARED)
        self.paint()

    @contextmanager
    def working(self, calls: tuple[RunningCall, ...]) -> Iterator[None]:
        """For the length of a block something is at work, `calls` among it."""
        self.view = replace(begun(self.view, time.monotonic()), calls=calls)
        self.changed()
        try:
            yield
        finally:
            self.view = ended(self.view)

    def settle(self) -> None:
        """Take what is open for all that comes of it: into the transcript."""
        view, blocks = left_open(self.view, time.monotonic())
        self.view = ended(view)
        if blocks:
            self.show(*blocks)

    def changed(self) -> None:
        """A frame is due soon."""
        self._due.set()

    def paint(self) -> None:
        """Paint now; while the terminal has not taken the frame before, once it has."""
        if not self.is_open or not self._is_taken():
            return
        size = self.tty.size()
        data = b""
        if self._size is not None and size != self._size:
            data = self.painter.redraw(size)
        self._size = size
        frame = compose(self.view, self._ui(), size, time.monotonic())
        self.scroll = frame.scroll
        if frame.cursor != self._cursor and self.shapes_cursor:
            self._use_cursor(frame.cursor)
        finished, self._unpainted = self._unpainted, []
        self.send(data + self.painter.paint(frame, finished, size))

    def _use_cursor(self, shape: CursorShape) -> None:
        """Another shape; it is taken back only at the end, so that it does not flicker on the way."""
        self._cursor = shape
        if shape:
            self._modes["cursor"] = (SHAPES[shape], SHAPES[""])
            self.send(SHAPES[shape])
        else:
            self.end_mode("cursor")

    def send(self, data: bytes) -> None:
        """Send what moves nothing on the screen, such as a bell."""
        if not self.is_open or not data:
            return
        try:
            self.tty.write(data)
        except TerminalGone:
            self._end()

    def redraw(self) -> None:
        """Paint all that is live again."""
        self.send(self.painter.redraw(self.tty.size()))
        self.paint()

    async def run(self) -> None:
        """Paint whenever a frame is due, and while something moves, until cancelled."""
        while True:
            tick_s = STILL_TICK_S if self.is_still else TICK_S
            with anyio.move_on_after(tick_s if self.view.is_working else None):
                await self._due.wait()
            self._due = anyio.Event()
            self.paint()
            try:
                await self.tty.outlet.cleared()
            except TerminalGone:
                self._end()
            await anyio.sleep(FRAME_S)

    def _is_taken(self) -> bool:
        """Whether the terminal has taken the frame before; if not, the next one is due when it has."""
        try:
            self.tty.outlet.push()
        except TerminalGone:
            self._end()
            return False
        if not self.tty.outlet.is_clear:
            self.changed()
        return self.tty.outlet.is_clear

    def _end(self) -> None:
        self.is_open = False
        self._gone()


def _size(block: TranscriptBlock) -> int:
    """What a block holds, in characters, roughly."""
    if isinstance(block, CallBlock):
        return len(block.output) + sum(len(v) for v in block.arguments.values() if isinstance(v, str)) + 200
    return (
        sum(
            len(value)
            for value in (getattr(block, name) for name in block.__struct_fields__)
            if isinstance(value, str)
        )
        + 200
    )
