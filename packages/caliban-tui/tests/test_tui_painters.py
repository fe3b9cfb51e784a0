"""The painters before an emulator: any way to the last frame ends as the last frame painted afresh."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyte
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_tui.blocks import ShellBlock, TranscriptBlock
from caliban_tui.line import ScreenLine, StyledText, text_of
from caliban_tui.paint.inline import InlinePainter
from caliban_tui.render import block_lines
from caliban_tui.screen import Caret, ScreenFrame, ScreenSize
from caliban_tui.theme import DARK

ALLOWED = re.compile(
    rb"\x1b\[\?(?:2026|25|1049|7)[hl]|\x1b\[[0-9]*[ABCKJLM]|\x1b\[[0-9;]*m|\x1b\[H"
    rb"|\x1b\]8;;[!-~]*\x1b\\|\r\n?|[ -~]|[\xc2-\xf4][\x80-\xbf]+"
)
WORDS = st.text(alphabet="ab漢é ", max_size=12)
HOSTILE = st.text(
    alphabet="a\x1b[]\x07\\;2JHm\x9b\x90\x00\n\r\t\x08\u202e\ud800\ufe0f👨\u200d漢\u0301", max_size=20
)
STYLES = st.sampled_from(["", "dim", "bold link", "tool", "nonsense"])


def lines_of(text: st.SearchStrategy[str]) -> st.SearchStrategy[ScreenLine]:
    return st.lists(st.builds(StyledText, text, STYLES), max_size=3).map(tuple)


@st.composite
def frames(draw: st.DrawFn, text: st.SearchStrategy[str] = WORDS) -> ScreenFrame:
    pool = draw(st.lists(lines_of(text), min_size=1, max_size=5))
    lines = draw(st.lists(st.sampled_from(pool), max_size=9))
    row = st.integers(0, max(len(lines) - 1, 0))
    caret = draw(st.none() | st.builds(Caret, row, st.integers(0, 20)))
    return ScreenFrame(lines=tuple(lines), caret=caret)


def steps(text: st.SearchStrategy[str] = WORDS) -> st.SearchStrategy[list[tuple[ScreenFrame, list[str]]]]:
    said = st.lists(st.text(alphabet="xyz ", min_size=1, max_size=30), max_size=2)
    return st.lists(st.tuples(frames(text), said), min_size=1, max_size=6)


SIZES = st.builds(ScreenSize, st.integers(1, 120), st.integers(1, 12))


class Emulator:
    """A screen of that size, and what left it at the top."""

    def __init__(self, size: ScreenSize) -> None:
        self.screen = pyte.HistoryScreen(size.columns, size.rows, history=10_000, ratio=0.5)
        self.stream = pyte.ByteStream(self.screen)
        self.sent = b""

    def feed(self, data: bytes) -> None:
        self.sent += data
        self.stream.feed(data)

    @property
    def rows(self) -> list[str]:
        gone = ["".join(row[n].data for n in range(self.screen.columns)) for row in self.screen.history.top]
        return [row.rstrip() for row in (*gone, *self.screen.display)]

    @property
    def place(self) -> tuple[int, int]:
        # pyte's cursor behind the last column is the one in it
        cursor = self.screen.cursor
        return len(self.screen.history.top) + cursor.y, min(cursor.x, self.screen.columns - 1)


def trimmed(rows: Sequence[str]) -> list[str]:
    kept = list(rows)
    while kept and not kept[-1]:
        kept.pop()
    return kept


def blocks_of(texts: Sequence[str]) -> list[TranscriptBlock]:
    return [ShellBlock(command="c", output=text) for text in texts]


@settings(max_examples=150, deadline=None)
@given(steps(), SIZES, st.booleans())
def test_any_way_to_a_frame_ends_as_the_frame_painted_afresh(
    painted: list[tuple[ScreenFrame, list[str]]], size: ScreenSize, synchronised: bool
) -> None:
    walked, afresh = Emulator(size), Emulator(size)
    painter = InlinePainter(DARK, is_synchronised=synchronised)
    for frame, texts in painted:
        walked.feed(painter.paint(frame, blocks_of(texts), size))
    every = [block for _, texts in painted for block in blocks_of(texts)]
    afresh.feed(InlinePainter(DARK).paint(painted[-1][0], every, size))
    assert trimmed(walked.rows) == trimmed(afresh.rows)
    if painted[-1][0].caret is not None:
        assert walked.place == afresh.place
        assert walked.screen.cursor.hidden is False
    else:
        assert walked.screen.cursor.hidden is True
    walked.feed(painter.leave())
    assert walked.screen.cursor.x == 0 and walked.screen.cursor.hidden is False
    finished = [line for block in every for line in block_lines(block, size.columns)]
    shown = Emulator(size)
    for line in finished:
        shown.feed(text_of(line).encode() + b"\r\n")
    assert trimmed(walked.rows) == trimmed(shown.rows)
