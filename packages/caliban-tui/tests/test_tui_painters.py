"""The painters before an emulator: any way to the last frame ends as the last frame painted afresh."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyte
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from caliban_tui.line import ScreenLine, StyledText, plain, text_of
from caliban_tui.paint.choose import ScreenMode, painter_for
from caliban_tui.paint.full import FullPainter
from caliban_tui.paint.inline import InlinePainter
from caliban_tui.paint.linear import LinearPainter
from caliban_tui.render.blocks import block_lines
from caliban_tui.screen import Caret, ScreenFrame, ScreenSize
from caliban_tui.theme.theme import DARK, PLAIN
from caliban_tui.transcript.blocks import (
    CallBlock,
    NoticeBlock,
    PromptBlock,
    ReplyBlock,
    ShellBlock,
    TranscriptBlock,
)
from caliban_tui.width import cells, fit

MODES: list[ScreenMode] = ["inline", "full", "linear"]
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
    lines = st.lists(st.text(alphabet="xyz ", min_size=1, max_size=30), max_size=2)
    return st.lists(st.tuples(frames(text), lines), min_size=1, max_size=6)


SIZES = st.builds(ScreenSize, st.integers(1, 120), st.integers(1, 12))


class WholeScreen(pyte.HistoryScreen):
    """pyte leaves a row as it was where an empty one comes in its place; here none is missing."""

    def insert_lines(self, count: int | None = None) -> None:
        self._touch()
        super().insert_lines(count)

    def delete_lines(self, count: int | None = None) -> None:
        self._touch()
        super().delete_lines(count)

    def _touch(self) -> None:
        for row in range(self.lines):
            self.buffer[row]


class Emulator:
    """A screen of that size, and what left it at the top."""

    def __init__(self, size: ScreenSize) -> None:
        self.screen = WholeScreen(size.columns, size.rows, history=10_000, ratio=0.5)
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


@settings(max_examples=examples(150), deadline=None)
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


@settings(max_examples=examples(100), deadline=None)
@given(steps(HOSTILE), SIZES, st.sampled_from(MODES), st.booleans())
def test_nothing_but_our_own_sequences_is_sent(
    painted: list[tuple[ScreenFrame, list[str]]], size: ScreenSize, mode: ScreenMode, unicode: bool
) -> None:
    painter = painter_for(mode, replace(DARK, unicode=unicode))
    data = painter.enter()
    for frame, texts in painted:
        data += painter.paint(frame, blocks_of(texts), size)
    data += painter.redraw(size) + painter.paint(painted[0][0], [], size) + painter.leave()
    if mode == "linear":
        assert re.fullmatch(rb"(?:[ -~\r\n\x08]|[\xc2-\xf4][\x80-\xbf]+)*", data)
        return
    rest = ALLOWED.sub(b"", data)
    assert rest == b""
    assert unicode or data.isascii()


@settings(max_examples=examples(60), deadline=None)
@given(steps(), SIZES, st.lists(st.integers(-9, 9), max_size=6))
def test_the_full_screen_shows_the_same_whatever_was_there_before_and_prints_all_when_it_is_left(
    painted: list[tuple[ScreenFrame, list[str]]], size: ScreenSize, scrolls: list[int]
) -> None:
    painter, walked = FullPainter(DARK), Emulator(size)
    walked.feed(painter.enter())
    for frame, texts in painted:
        walked.feed(painter.paint(frame, blocks_of(texts), size))
        for rows in scrolls:
            painter.scroll(rows)
            walked.feed(painter.paint(frame, [], size))
    painter.end()
    walked.feed(painter.paint(painted[-1][0], [], size))
    every = [block for _, texts in painted for block in blocks_of(texts)]
    afresh = Emulator(size)
    again = FullPainter(DARK, every)
    afresh.feed(again.enter() + again.paint(painted[-1][0], [], size))
    assert walked.screen.display == afresh.screen.display
    assert trimmed(walked.rows)[: -size.rows] == []
    left = Emulator(size)
    left.feed(painter.leave().replace(b"\x1b[?1049l", b""))
    shown = Emulator(size)
    for line in (line for block in every for line in block_lines(block, size.columns)):
        shown.feed(text_of(line).encode() + b"\r\n")
    assert trimmed(left.rows) == trimmed(shown.rows)
    assert painter.leave().count(b"\n") == 0


def test_full_screen_stays_where_one_reads_while_the_transcript_grows() -> None:
    size, frame = ScreenSize(20, 6), ScreenFrame(lines=(plain("> "),), caret=Caret(0, 2))
    painter, screen = FullPainter(PLAIN), Emulator(size)
    screen.feed(painter.enter())
    screen.feed(painter.paint(frame, [NoticeBlock(level="info", text=f"line {n}") for n in range(20)], size))
    assert screen.screen.display[0].strip() == "line 15"
    painter.page(-1)
    screen.feed(painter.paint(frame, [], size))
    assert [row.strip() for row in screen.screen.display] == [*(f"line {n}" for n in range(12, 17)), ">"]
    screen.feed(painter.paint(frame, [NoticeBlock(level="info", text="late")], size))
    assert screen.screen.display[0].strip() == "line 12"
    assert not painter.is_following
    painter.page(1)
    painter.page(1)
    assert painter.is_following
    screen.feed(painter.paint(frame, [], size))
    assert screen.screen.display[4].strip() == "late"


def test_full_screen_prints_what_inline_has_not_printed() -> None:
    size, frame = ScreenSize(20, 6), ScreenFrame(lines=(plain("> "),), caret=Caret(0, 2))
    before, after = NoticeBlock(level="info", text="before"), NoticeBlock(level="info", text="after")
    painter = FullPainter(PLAIN, [before])
    painter.enter()
    assert b"before" in painter.paint(frame, [after], size)
    left = painter.leave()
    assert b"after" in left
    assert b"before" not in left


def test_full_screen_wraps_what_is_seen_alone() -> None:
    size, frame = ScreenSize(40, 10), ScreenFrame(lines=(plain("> "),), caret=Caret(0, 2))
    painter = FullPainter(PLAIN, [NoticeBlock(level="info", text=f"line {n}") for n in range(5_000)])
    painter.enter()
    painter.paint(frame, [], size)
    assert len(painter._wrapped) < 20


def test_a_line_that_streams_costs_its_new_words() -> None:
    size, painter = ScreenSize(80, 24), InlinePainter(PLAIN, is_synchronised=True)
    rest = (plain("⠋ 1 s"), (), plain("> draft"), plain("status"))
    painter.paint(ScreenFrame(lines=(plain("some words"), *rest), caret=Caret(3, 7)), [], size)
    data = painter.paint(ScreenFrame(lines=(plain("some words more"), *rest), caret=Caret(3, 7)), [], size)
    assert data == b"\x1b[?2026h\x1b[3A\r\x1b[10C more\x1b[3B\r\x1b[7C\x1b[?2026l"
    grown = (plain("some words more"), plain("and"), *rest)
    data = painter.paint(ScreenFrame(lines=grown, caret=Caret(4, 7)), [], size)
    assert b"draft" not in data
    assert b"and" in data


def test_lines_that_were_read_while_they_came_are_not_sent_again_when_they_are_finished() -> None:
    size, painter = ScreenSize(80, 24), InlinePainter(PLAIN)
    block = PromptBlock(text="words that were said")
    open_lines = block_lines(block, 80)
    painter.paint(ScreenFrame(lines=(*open_lines, plain("> ")), caret=Caret(2, 2)), [], size)
    data = painter.paint(ScreenFrame(lines=(plain("> "),), caret=Caret(0, 2)), [block], size)
    assert b"words" not in data
    assert b"J" not in data


def test_a_full_line_keeps_its_last_character() -> None:
    screen = Emulator(ScreenSize(5, 4))
    painter = InlinePainter(PLAIN)
    data = painter.paint(ScreenFrame(lines=(plain("12345"), plain("12345"))), [], ScreenSize(5, 4))
    screen.feed(data)
    assert screen.rows[:2] == ["12345", "12345"]
    assert b"12345\x1b[K" not in data and b"12345\x1b[J" not in data


def test_rows_that_the_terminal_wrapped_are_counted() -> None:
    painter = InlinePainter(PLAIN)
    frame = ScreenFrame(lines=(plain("x" * 30), plain("漢" * 9), plain("> ")), caret=Caret(2, 2))
    painter.paint(frame, [], ScreenSize(40, 10))
    # 30 cells in rows of 11 are 3; nine wide characters, five to a row, are 2
    assert b"\x1b[5A" in painter.paint(frame, [], ScreenSize(11, 10))
    unwrapped = InlinePainter(PLAIN, reflows=False)
    unwrapped.paint(frame, [], ScreenSize(40, 10))
    assert b"\x1b[2A" in unwrapped.paint(frame, [], ScreenSize(11, 10))


def test_lines_say_who_speaks_and_the_draft_is_edited_with_backspaces_alone() -> None:
    size, painter = ScreenSize(40, 10), LinearPainter(PLAIN)

    def frame(draft: str, column: int, *spoken: str) -> ScreenFrame:
        lines = (plain("⠋ 3 s"), plain(draft))
        return ScreenFrame(lines=lines, caret=Caret(1, column), spoken=tuple(map(plain, spoken)))

    assert painter.paint(frame("> ", 2), [], size) == b"> "
    assert painter.paint(frame("> hallo", 7), [], size) == b"hallo"
    assert painter.paint(frame("> hello", 7), [], size) == b"\b\b\b\bello"
    assert painter.paint(frame("> hell", 6), [], size) == b"\b \b"
    assert painter.paint(frame("> hell", 3), [], size) == b"\b\b\b"
    assert painter.paint(frame("> hell", 6), [], size) == b"ell"
    prompt = PromptBlock(text="hell")
    assert painter.paint(frame("> ", 2), [prompt], size) == b"\r      \rprompt: hell\r\n> "
    call = CallBlock(tool_use_id="1", name="Bash", summary="Bash(ls)", output="a")
    output = painter.paint(frame("> ", 2, "May this run?"), [call, ReplyBlock(markdown="yes")], size)
    words = output.decode().split("\r\n")
    assert words[0].startswith("\r  \rtool: ") and "Bash(ls)" in words[0]
    assert words[-3:] == ["assistant: yes", "May this run?", "> "]
    assert painter.paint(frame("> ", 2, "May this run?"), [], size) == b""
    assert painter.leave() == b"\r  \r"


def test_who_speaks_stands_alone_before_a_line_that_was_broken_to_fit() -> None:
    size, reply = ScreenSize(20, 5), ReplyBlock(markdown="some words and some more of them")
    sent = LinearPainter(PLAIN).paint(ScreenFrame(lines=()), [reply], size).decode()
    assert sent.splitlines() == ["assistant:", "some words and some", "more of them"]


@settings(max_examples=examples(100), deadline=None)
@given(st.lists(st.tuples(WORDS, st.integers(0, 14)), min_size=1, max_size=8), st.integers(2, 40))
def test_the_last_line_of_a_screen_reader_is_the_draft(drafts: list[tuple[str, int]], columns: int) -> None:
    painter, screen = LinearPainter(PLAIN), Emulator(ScreenSize(columns, 3))
    for text, characters in drafts:
        column = cells(text[:characters])
        frame = ScreenFrame(lines=(plain(text),), caret=Caret(0, column))
        screen.feed(painter.paint(frame, [], ScreenSize(columns, 3)))
        assert screen.rows[0] == text_of(fit(plain(text), columns - 1)).rstrip()
        assert screen.place == (0, min(column, columns - 1))
