"""What a painter does, for every way of using the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from caliban_tui.screen import ScreenFrame, ScreenSize
from caliban_tui.theme.theme import Theme
from caliban_tui.transcript.blocks import TranscriptBlock


class Painter(Protocol):
    """Turns what happens into bytes for the terminal. It remembers what it painted, and nothing else does.

    To go from one painter to another while it runs: `leave` the old one, make the new one with all blocks
    that were ever painted, `enter` it. A block is printed on the main screen once, whoever does it.
    """

    theme: Theme
    """May be set between frames; `redraw` then."""

    is_synchronised: bool
    """Whether the terminal shows a frame at once."""

    def enter(self) -> bytes:
        """What is sent before the first frame."""
        ...

    def paint(self, frame: ScreenFrame, finished: Sequence[TranscriptBlock], size: ScreenSize) -> bytes:
        """The bytes of one frame, behind the blocks that were finished since the one before."""
        ...

    def redraw(self, size: ScreenSize) -> bytes:
        """Rely on nothing on the screen, which was resized or written over; the next frame is whole."""
        ...

    def leave(self) -> bytes:
        """What is sent after the last frame: all that was said stays, the cursor is on a fresh line."""
        ...
