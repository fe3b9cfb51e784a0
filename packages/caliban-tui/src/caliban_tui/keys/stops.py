"""Escape and Ctrl+C: they end a wait, a draft, what is at work, and in the end the program."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from caliban_tui.keys.again import PressedAgain
from caliban_tui.keys.held import HeldKeys
from caliban_tui.overlay.overlay import CLOSING
from caliban_tui.overlay.window import OverlayWindow

if TYPE_CHECKING:
    from caliban_tui.draft.editor import LineEditor
    from caliban_tui.talk import Talk


class StopScreen(Protocol):
    """What these keys need of the screen; `talk` is the conversation of now."""

    talk: Talk | None

    @property
    def is_at_work(self) -> bool:
        """Whether something can be interrupted."""
        ...

    def say(self, words: str) -> None:
        """Show a hint until the next key."""
        ...

    def go_back(self) -> None:
        """Let the person choose a prompt to go back to."""
        ...

    def leave(self) -> None:
        """End it all."""
        ...


class StopKeys:
    """What the keys mean now, on `screen` with the draft of `editor`."""

    def __init__(self, screen: StopScreen, editor: LineEditor, held: HeldKeys, window: OverlayWindow) -> None:
        self._screen = screen
        self._editor = editor
        self._held = held
        self._window = window
        self._again = PressedAgain(screen.say)

    def pressed(self, name: str) -> None:
        """A key was pressed."""
        if name != "c-c":
            self._again.let_go()

    def escape(self) -> None:
        """Twice: interrupt, and on an empty draft go back."""
        if self._screen.is_at_work:
            if self._again.is_twice("interrupt", "esc again interrupts"):
                self._interrupt()
        elif (
            self._screen.talk is not None
            and not self._editor.text
            and self._again.is_twice("rewind", "esc again: go back to a prompt")
        ):
            self._screen.go_back()

    def clear_or_quit(self) -> None:
        """Clear the draft, else interrupt, else twice: leave."""
        if self._editor.text:
            self._editor.take()
        elif self._screen.is_at_work:
            self._interrupt()
            self._again.hold("quit")
        elif self._again.is_twice("quit", "ctrl+c again leaves"):
            self._screen.leave()

    def is_held(self, name: str) -> bool:
        """Whether the key waits for what is about to open, or ends the wait."""
        if not self._held.is_awaited:
            return False
        if name in CLOSING and self._window.overlay is not None:
            self._held.drop()
            return False
        if name == "c-c":
            self._held.failed()
            self._interrupt()
            self._again.hold("quit")
            return True
        self._held.take()
        if name == "escape" and self._screen.is_at_work:
            self.escape()
        return True

    def _interrupt(self) -> None:
        if self._screen.talk is not None:
            self._screen.talk.interrupt()
