"""What a painter does, for every way of using the screen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from caliban_tui.blocks import TranscriptBlock
from caliban_tui.screen import ScreenFrame, ScreenSize


class Painter(Protocol):
    """Turns what happens into bytes for the terminal. It remembers what it painted, and nothing else does."""

    def enter(self) -> bytes:
        """What is sent before the first frame."""
        ...

    def paint(self, frame: ScreenFrame, finished: Sequence[TranscriptBlock], size: ScreenSize) -> bytes:
        """The bytes of one frame, behind the blocks that were finished since the one before."""
        ...

    def redraw(self, size: ScreenSize) -> bytes:
        """Forget what is on the screen, which was resized or written over; the next frame is whole."""
        ...

    def leave(self) -> bytes:
        """What is sent after the last frame: the live region goes, what was said stays."""
        ...
