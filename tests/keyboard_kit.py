"""A line editor with a pipe for its terminal: keys go in, and a test waits for what they do."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import anyio
from msgspec.structs import replace

from caliban_tui.draft.editor import LineEditor
from caliban_tui.draft.ports import EditorOptions, EditorPorts
from caliban_tui.errors import TerminalGone
from caliban_tui.keys.table import Action

LOOK_S = 0.005
HANG_S = 8


class Keyboard:
    """The editor, and what it was told to do. `done` are its actions in order, `names` the keys it was asked
    about, `answers` what the terminal said; `taken` are keys that an overlay takes."""

    def __init__(self, options: EditorOptions, ports: EditorPorts) -> None:
        self._ours, self._keys = os.pipe()
        self.done: list[str] = []
        self.names: list[str] = []
        self.answers: list[bytes] = []
        self.taken: set[str] = set()
        self.gone = False
        others: tuple[Action, ...] = (
            "complete",
            "take_back",
            "interrupt",
            "suspend",
            "redraw",
            "viewer",
            "detail",
            "background",
            "todos",
            "cycle_mode",
            "page_up",
            "page_down",
            "help",
        )
        actions: dict[Action, Callable[[], None]] = {name: self._noted(name) for name in others}
        actions["send"] = lambda: self.done.append(f"send {self.editor.take()}")
        actions["clear_or_quit"] = self._clear
        actions["end_of_file"] = lambda: self.editor.exit()  # noqa: PLW0108 - likewise
        self.editor = LineEditor(
            actions,
            draw=lambda: None,
            intercept=self._asked,
            ports=replace(ports, answer=self.answers.append),
            options=replace(options, read_fd=self._ours),
        )

    def type(self, text: str | bytes) -> None:
        """Send keys, or bytes."""
        data = text.encode() if isinstance(text, str) else text
        os.write(self._keys, data)

    def press(self, keys: str) -> None:
        """Press keys one by one, each known by itself: an Escape waits for nothing. The editor must run."""
        from caliban_tui.keys.filter import KeyFilter

        names = KeyFilter()
        app = self.editor._app
        assert app.context is not None
        for part in re.findall("\x1b\\[.|.", keys, re.DOTALL):
            for stroke in (*names.feed(part.encode()), *names.flush()):
                app.context.copy().run(self.editor._keys.stroke, stroke)

    async def started(self) -> None:
        """Wait until keys can be pressed."""
        await self.wait(lambda: self.editor._app.is_running and self.editor._app.context is not None)

    def begin(self, text: str) -> None:
        """Another draft, in vim's normal mode at its beginning, with nothing to undo."""
        self.editor.set_text(text, 0)
        self.press("\x1b")
        self.editor.set_text(text, 0)
        self.editor._vim.reset()

    async def wait(self, is_so: Callable[[], object]) -> None:
        """Wait until it is so."""
        with anyio.move_on_after(HANG_S):
            while not is_so():
                await anyio.sleep(LOOK_S)
            return
        raise AssertionError(f"{self.editor.draft()}, {self.done}, {self.names}")

    async def typed(self, text: str | bytes, draft: str) -> None:
        """Type, and wait until the draft is so; the bar is the cursor."""
        self.type(text)
        await self.wait(lambda: self.shown == draft)

    @property
    def shown(self) -> str:
        """The draft, with a bar for the cursor."""
        text, cursor = self.editor.text, self.editor.cursor
        return f"{text[:cursor]}|{text[cursor:]}"

    def hang_up(self) -> None:
        """Close the terminal."""
        os.close(self._keys)
        self._keys = -1

    def close(self) -> None:
        """Close what is open."""
        for descriptor in (self._ours, self._keys):
            if descriptor >= 0:
                os.close(descriptor)

    def _clear(self) -> None:
        self.editor.take()

    def _noted(self, name: str) -> Callable[[], None]:
        return lambda: self.done.append(name)

    def _asked(self, name: str) -> bool:
        self.names.append(name)
        return name in self.taken


@asynccontextmanager
async def keyboard(
    options: EditorOptions | None = None, ports: EditorPorts | None = None
) -> AsyncIterator[Keyboard]:
    """An editor at work."""
    board = Keyboard(options or EditorOptions(), ports or EditorPorts())

    async def run() -> None:
        try:
            await board.editor.run()
        except TerminalGone:
            board.gone = True

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            yield board
            board.editor.exit()
    finally:
        board.close()
