"""The painter of the main screen, before an emulator."""

from __future__ import annotations

import pyte

from caliban_tui.line import plain
from caliban_tui.paint.inline import InlinePainter
from caliban_tui.screen import Caret, ScreenFrame, ScreenSize
from caliban_tui.theme.theme import DARK
from caliban_tui.transcript.blocks import PromptBlock

SIZE = ScreenSize(20, 6)


def frame(*lines: str) -> ScreenFrame:
    return ScreenFrame(lines=tuple(map(plain, lines)), caret=Caret(0, 0))


def test_finished_blocks_stand_above_the_live_lines_and_are_written_once():
    screen = pyte.Screen(SIZE.columns, SIZE.rows)
    stream = pyte.ByteStream(screen)
    painter = InlinePainter(DARK)
    stream.feed(painter.paint(frame("one", "two"), [], SIZE))
    stream.feed(painter.paint(frame("three"), [PromptBlock(text="hi")], SIZE))
    assert [row.rstrip() for row in screen.display] == ["", "> hi", "three", "", "", ""]
    assert painter.paint(frame("three"), [], SIZE) == b""
