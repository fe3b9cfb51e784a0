"""What stands around a conversation: the status line, calls to a person, lines that wait, the first frame."""

from __future__ import annotations

import os
import pty
import sys
import termios

import pytest

from caliban_tui.boot import ABOVE, BELOW, FirstFrame, short_path
from caliban_tui.keys.again import PressedAgain
from caliban_tui.line import text_of
from caliban_tui.paint.inline import InlinePainter
from caliban_tui.screen import ScreenSize
from caliban_tui.stage import MAX_BLOCK_CHARS, MAX_BLOCKS, Stage
from caliban_tui.status import StatusLine, middle_cut, script_segments, status_line
from caliban_tui.terminal.notify import BELL, call, title
from caliban_tui.terminal.tty import Tty
from caliban_tui.theme.theme import DARK, Theme
from caliban_tui.transcript.blocks import NoticeBlock
from caliban_tui.ui import UiState
from caliban_tui.waiting import WaitingLine, WaitingLines
from caliban_tui.width import cells, line_cells

WHOLE = StatusLine(
    cwd="~/projects/somewhere/deep/inside/caliban",
    branch="main",
    model="anthropic/claude-sonnet-4-6",
    mode="plan",
    context_share=0.123,
    cost_usd=1.5,
    background=2,
)


def test_everything_is_said_where_there_is_room() -> None:
    text = text_of(status_line(WHOLE, 200))
    words = ("~/projects/somewhere/deep/inside/caliban (main)", "📋 plan", "claude-sonnet-4-6", "12% context")
    assert all(piece in text for piece in (*words, "$1.50", "2 in the background"))
    assert text_of(status_line(StatusLine(), 80)) == ""


@pytest.mark.parametrize("columns", [1, 7, 20, 40, 80, 120])
def test_the_line_never_is_wider_than_the_screen(columns: int) -> None:
    assert line_cells(status_line(WHOLE, columns)) <= columns


def test_the_folder_loses_its_middle_and_keeps_its_last_name() -> None:
    text = text_of(status_line(WHOLE, 110))
    assert "~/…/" in text
    assert "caliban (main)" in text


@pytest.mark.parametrize(
    "path", ["/", "~", "/a/b", "~/日本語/プロジェクト/とても長い名前", "x" * 100, "~/" + "y" * 90]
)
@pytest.mark.parametrize("width", [0, 12, 20, 33])
def test_a_path_is_cut_to_its_cells(path: str, width: int) -> None:
    assert cells(middle_cut(path, width)) <= max(width, 12)


def test_a_script_keeps_its_colours_and_nothing_else() -> None:
    hostile = "\n \n\x1b[31mred\x1b[2J\x1b]0;title\x07\x1b[1;4mmore\x1b[0m \x9b5mplain\u202e\x00\nsecond"
    segments = script_segments(hostile)
    assert [(segment.text, segment.style) for segment in segments] == [
        ("red", "sgr:31"),
        ("more", "sgr:31;1;4"),
        (" plain", ""),
    ]
    assert text_of(script_segments("a", 2)) == "  a  "
    assert script_segments("\x1b[2J\n\n") == ()
    assert (DARK.sgr("sgr:31"), Theme(name="none", colours=False).sgr("sgr:31")) == ("31", "")


def test_a_call_is_a_bell_and_a_message_that_cannot_end_early() -> None:
    assert call("done", "bell") == BELL
    assert call("done", "off") == b""
    sent = call("4;3;\x1b\\\x07evil\nmore", "osc9")
    assert sent.startswith(b"\x1b]9; 4;3;")
    assert sent.count(b"\x1b") == 2
    assert sent.endswith(b"\x1b\\")
    assert title("a\x1b]0;b\x07").count(b"\x1b]") == 1


def test_a_key_that_has_interrupted_leaves_only_once_it_was_let_go() -> None:
    now_s, remarks = 10.0, list[str]()
    again = PressedAgain(remarks.append, clock=lambda: now_s)
    again.hold("quit")
    for _ in range(20):
        now_s += 0.4
        assert not again.is_twice("quit", "again leaves")
    assert remarks == []
    now_s += 1.1
    assert not again.is_twice("quit", "again leaves")
    assert remarks == ["again leaves"]
    assert again.is_twice("quit", "again leaves")
    again.hold("quit")
    assert not again.is_twice("rewind", "again goes back")
    assert again.is_twice("rewind", "again goes back")


def test_lines_keep_their_order_whoever_puts_them_back() -> None:
    lines = WaitingLines()
    for text in ("c", "d"):
        lines.put(WaitingLine(text=text))
    lines.put_first([WaitingLine(text="a"), WaitingLine(text="b", shown="B")])
    assert lines.texts == ("a", "B", "c", "d")
    assert lines.take().text == "a"
    (last,) = lines.take_back()
    assert last.text == "d"
    assert [line.text for line in lines.take_all()] == ["b", "c"]
    assert lines.take_back() == ()
    assert not lines


def test_a_transcript_is_kept_within_bounds() -> None:
    stage = Stage(Tty(), InlinePainter(DARK), UiState, lambda: None)
    for number in range(MAX_BLOCKS + 10):
        stage.show(NoticeBlock(level="info", text=str(number)))
    assert len(stage.blocks) == MAX_BLOCKS
    for _ in range(20):
        stage.show(NoticeBlock(level="info", text="x" * (MAX_BLOCK_CHARS // 10)))
    assert len(stage.blocks) < 12
    stage.show(NoticeBlock(level="info", text="x" * (2 * MAX_BLOCK_CHARS)))
    assert len(stage.blocks) == 1


def test_the_first_frame_gives_the_terminal_back_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    raw = termios.tcgetattr(theirs)
    raw[3] &= ~termios.ICANON
    termios.tcsetattr(theirs, termios.TCSANOW, raw)
    monkeypatch.setattr(os, "write", lambda fd, data: sent.append(data) or len(data))
    real, sent = termios.tcsetattr, list[bytes]()
    monkeypatch.setattr(termios, "tcsetattr", lambda fd, when, modes: real(theirs, when, modes))
    frame = FirstFrame(before)
    frame.restore()
    frame.restore()
    assert sent == [BELOW]
    assert termios.tcgetattr(theirs) == before
    taken = FirstFrame(before)
    taken.handed_over()
    taken.restore()
    assert sent == [BELOW]
    assert taken.cleared == ABOVE
    os.close(ours)
    os.close(theirs)


def test_a_home_is_a_tilde() -> None:
    assert short_path("/home/me/x", "/home/me") == "~/x"
    assert short_path("/home/me", "/home/me/") == "~"
    assert short_path("/home/meagre", "/home/me") == "/home/meagre"
    assert short_path("/x", "") == "/x"


def test_the_first_frame_needs_no_import_of_its_own() -> None:
    import subprocess

    probe = (
        "import sys, os; before = set(sys.modules); import caliban_tui.boot as boot; boot.first_frame();"
        "ours = {'caliban_tui', 'caliban_tui.boot', '__future__', 'termios', '_signal'};"
        "print(sorted(set(sys.modules) - before - ours))"
    )
    run = subprocess.run(
        [sys.executable, "-c", probe],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
    )
    assert run.stdout == "[]\n"


def test_size_of_the_screen_is_that_of_the_terminal() -> None:
    assert Tty(write_fd=-1).size() == ScreenSize(80, 24)
