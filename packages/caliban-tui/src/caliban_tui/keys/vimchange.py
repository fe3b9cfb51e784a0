"""Vim's changes as a person counts them: one command is one change, to repeat, to undo and to redo."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from caliban_tui.keys.stroke import PASTE, KeyStroke
from caliban_tui.keys.vim import VimMode, is_busy, is_idle, is_inserting, is_typing, is_vim, vim_mode

if TYPE_CHECKING:
    from prompt_toolkit.application import Application

MARKS: Final[Mapping[VimMode, str]] = MappingProxyType(
    {"": "> ", "insert": "> ", "normal": ": ", "replace": "R ", "visual": "V "}
)
NEW_LINES: Final = frozenset(("c-j", "a-enter", "s-enter", "c-enter"))
INSERTS: Final = frozenset("iaIAoO")
NO_CHANGES: Final = frozenset(("up", "down", "k", "j", "c-p", "c-n", "enter", "tab", "c-c", "c-g", "c-v"))
"""Keys that bring another draft: what they do is nothing to repeat."""

MAX_UNDO: Final = 200
MAX_COUNT: Final = 1000
MAX_STROKES: Final = 20_000


class VimChanges:
    """Watches the strokes of `app` in vim mode: `take` before each, `taken` behind it.

    `press` gives a stroke to prompt-toolkit.
    """

    def __init__(self, app: Application[Any], press: Callable[[KeyStroke], None]) -> None:
        self._app = app
        self._press = press
        self._strokes: list[KeyStroke] = []
        self._before = ("", 0)
        self._last: list[KeyStroke] = []
        self._undo: list[tuple[str, int]] = []
        self._redo: list[tuple[str, int]] = []
        self._is_replaying = False

    @property
    def mark(self) -> str:
        """What stands before the draft: it says the mode."""
        return MARKS[vim_mode(self._app)]

    @property
    def mode(self) -> VimMode:
        """See `vim_mode`."""
        return vim_mode(self._app)

    @property
    def is_typing(self) -> bool:
        """See `is_typing`."""
        return is_typing(self._app)

    @property
    def operator(self) -> str:
        """The key that the command begins with, such as `c`, which waits for what it is to change."""
        command = _without_count(self._strokes if not self._is_replaying else self._last)
        return command[0].name if command else ""

    @property
    def is_busy(self) -> bool:
        """See `is_busy`."""
        return is_busy(self._app)

    def reset(self) -> None:
        """The draft is another one: nothing of it can be undone."""
        self._strokes, self._undo, self._redo = [], [], []
        self._before = (self._app.current_buffer.text, self._app.current_buffer.cursor_position)

    def take(self, stroke: KeyStroke) -> bool:
        """Whether the stroke is `.`, `u` or Ctrl+R, which is done then."""
        if not is_vim(self._app) or self._is_replaying:
            return False
        if is_idle(self._app):
            self._begin()
        if is_idle(self._app, counting=True) and stroke.name in (".", "u", "c-r"):
            count = min(int(self._app.key_processor.arg or 0), MAX_COUNT)
            self._app.key_processor.arg = None
            self._strokes = []
            if stroke.name == ".":
                self._repeat(count)
            else:
                self._go_back(max(count, 1), self._undo, self._redo, stroke.name == "c-r")
            return True
        if stroke.name == "escape" and is_inserting(self._app):
            self._insert_again()
        if len(self._strokes) < MAX_STROKES:
            self._strokes.append(stroke)
        return False

    def taken(self) -> None:
        """The stroke has done what it does."""
        if self._is_replaying or not is_vim(self._app) or not is_idle(self._app) or not self._strokes:
            return
        strokes, self._strokes = self._strokes, []
        command = _without_count(strokes)
        text = self._app.current_buffer.text
        if text == self._before[0] or not command:
            return
        self._keep(self._before)
        if command[0].name not in NO_CHANGES:
            self._last = strokes

    def _begin(self) -> None:
        buffer = self._app.current_buffer
        self._strokes, self._before = [], (buffer.text, buffer.cursor_position)

    def _keep(self, before: tuple[str, int]) -> None:
        self._undo.append(before)
        del self._undo[:-MAX_UNDO], self._redo[:]

    def _repeat(self, count: int) -> None:
        """Do the last change again, `count` times in the place of its own count."""
        if not self._last:
            return
        strokes = self._last
        if count:
            strokes = [*(KeyStroke(digit) for digit in str(count)), *_without_count(strokes)]
        before = (self._app.current_buffer.text, self._app.current_buffer.cursor_position)
        self._is_replaying = True
        try:
            for number, stroke in enumerate(strokes):
                if stroke.name == "escape" and is_inserting(self._app):
                    self._again(strokes[:number])
                self._type(stroke)
        finally:
            self._is_replaying = False
        if self._app.current_buffer.text != before[0]:
            self._keep(before)

    def _insert_again(self) -> None:
        self._is_replaying = True
        try:
            self._again(self._strokes)
        finally:
            self._is_replaying = False

    def _again(self, strokes: list[KeyStroke]) -> None:
        """Type what was inserted as often as the count before the insertion says."""
        command = _without_count(strokes)
        digits = "".join(stroke.name for stroke in strokes[: len(strokes) - len(command)])
        if not digits or not command or command[0].name not in INSERTS:
            return
        for _ in range(min(int(digits), MAX_COUNT) - 1):
            if command[0].name in "oO":
                self._app.current_buffer.insert_text("\n")
            for stroke in command[1:]:
                self._type(stroke)

    def _type(self, stroke: KeyStroke) -> None:
        if stroke.name in NEW_LINES:
            self._app.current_buffer.insert_text("\n")
        elif stroke.name == PASTE:
            self._app.current_buffer.insert_text(stroke.text)
        else:
            self._press(stroke)

    def _go_back(
        self, count: int, undo: list[tuple[str, int]], redo: list[tuple[str, int]], is_redo: bool
    ) -> None:
        """Undo, or redo: the cursor goes to where it stood before the change."""
        from prompt_toolkit.document import Document

        source, target = (redo, undo) if is_redo else (undo, redo)
        buffer = self._app.current_buffer
        for _ in range(count):
            if not source:
                return
            text, cursor = source.pop()
            target.append((buffer.text, cursor))
            buffer.document = Document(text, min(cursor, len(text)))


def _without_count(strokes: list[KeyStroke]) -> list[KeyStroke]:
    place = 0
    while place < len(strokes) and strokes[place].name.isdecimal() and (place or strokes[place].name != "0"):
        place += 1
    return strokes[place:]
