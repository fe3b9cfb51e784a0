"""What is about to open: keys typed behind it wait for it, and are never taken for something else."""

from __future__ import annotations

import time
from collections import deque
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

import anyio

from caliban_tui.keys.stroke import PASTE, KeyStroke
from caliban_tui.question.opened import ARM_S

if TYPE_CHECKING:
    from caliban_tui.draft.editor import LineEditor

LOADED: Final = "\0"
"""Stands for no line: a list loads what it shows next."""

HELD: Final = "what you type waits until this is there"
TYPED: Final = MappingProxyType(
    {"space": " ", "enter": "\n", "a-enter": "\n", "s-enter": "\n", "c-enter": "\n", "c-j": "\n"}
)
"""What keys with a name stand for in a text."""


class HeldKeys:
    """Holds the keys of `editor` from the line that opens something until that is there.

    They do then what they would have done had it been there at once. Where nothing opens, what was typed is
    the draft, and no other key does anything.
    """

    def __init__(self, editor: LineEditor) -> None:
        self._editor = editor
        self._line = ""
        self._strokes: deque[KeyStroke] = deque()
        self._typed_s = 0.0

    @property
    def is_awaited(self) -> bool:
        """Whether keys wait."""
        return bool(self._line)

    @property
    def hint(self) -> str:
        """What to say of them."""
        return HELD if self._strokes else ""

    def awaits(self, line: str = LOADED) -> None:
        """What `line` opens comes soon; without one, what a list loads."""
        self._line = line

    def came(self) -> None:
        """It is there, or something in its place. Where one of the keys opens more, the rest waits on."""
        if not self._line:
            return
        self._line = ""
        while self._strokes and not self._line:
            self._editor.press(self._strokes.popleft())

    def passed(self, line: str) -> None:
        """`line` opens nothing: the keys go on as they were typed."""
        if self._line == line:
            self.came()

    def settled(self, line: str) -> None:
        """All is done that `line` wanted: what has not opened will not."""
        if self._line == line:
            self.failed()

    def failed(self) -> None:
        """Nothing opens."""
        strokes = tuple(self._strokes)
        self.drop()
        texts: list[str] = []
        for stroke in strokes:
            if stroke.name == "backspace":
                texts = texts[:-1]
            elif stroke.is_character or stroke.name in TYPED or stroke.name == PASTE:
                texts.append(stroke.text or TYPED.get(stroke.name, stroke.name))
        while texts and texts[-1] == "\n":
            texts.pop()
        for is_paste, some in groupby(texts, lambda text: len(text) > 1):
            for text in some if is_paste else ["".join(some)]:
                self._editor.insert(text)

    def drop(self) -> None:
        """Whoever typed them wants it no more."""
        self._line = ""
        self._strokes.clear()

    def take(self) -> None:
        """Let the key that the editor is at wait."""
        self._strokes.append(self._editor.stroke)

    def typed(self) -> None:
        """A key was pressed that is the draft's own."""
        self._typed_s = time.monotonic()

    async def quiet(self, line: str) -> None:
        """Until nobody is writing a draft; at once where keys wait for what `line` opens."""
        while self._editor.text and self._line != line:
            wait_s = self._typed_s + ARM_S - time.monotonic()
            if wait_s <= 0:
                return
            await anyio.sleep(wait_s)
