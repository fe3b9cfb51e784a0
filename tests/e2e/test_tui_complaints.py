"""What people complain of at other terminals' agents, each shown to be absent here (design, section 3)."""

from __future__ import annotations

import json
import re
import shlex
import signal
import sys
import threading
from collections.abc import Callable

import pytest
from command_kit import Cli
from hang_guard import HANG_S, wait_until
from screen_kit import Screen, on_screen
from starts_kit import TRUE_START
from test_tui_ends import ShellWindow, window  # noqa: F401

from caliban_provider.testing.exchange import Exchange, Pause
from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

READY = "anthropic/"
BUSY = "esc interrupts"
FRAME = re.compile(rb"\x1b\[\?2026h(.*?)\x1b\[\?2026l", re.DOTALL)
SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|_[^\x1b]*\x1b\\|[=>78])")


def leave(screen: Screen) -> None:
    screen.wait(lambda: BUSY not in screen.text)
    screen.press("ctrl+d")
    assert screen.ended() == 0


def ask(screen: Screen, prompt: str, answer: str) -> None:
    screen.type(prompt)
    screen.wait(f"> {prompt}")
    screen.press("enter")
    screen.wait(answer)
    screen.wait(lambda: BUSY not in screen.text)


def test_shift_enter_is_a_new_line_however_a_terminal_tells_it(cli: Cli) -> None:
    sequences = {
        "kitty": "\x1b[13;2u",
        "kitty, pressed": "\x1b[13;2:1u",
        "kitty, with num lock": "\x1b[13;130u",
        "xterm": "\x1b[27;2;13~",
        "konsole": "\x1bOM",
        "keypad": "\x1b[57414;2u",
        "alt": "\x1b\r",
        "ctrl": "\x1b[13;5u",
        "ctrl, xterm": "\x1b[27;5;13~",
        "ctrl+j": "\x0a",
    }
    with on_screen(cli, rows=30) as screen:
        screen.wait(READY)
        screen.type("x")
        for number, sequence in enumerate(sequences.values()):
            screen.type(f"{sequence}{number}")
            screen.wait(lambda number=number: f"  {number}" in screen.lines)
        assert not cli.server.requests
        assert [line for line in screen.lines if re.fullmatch(r"(> x|  \d)", line)] == [
            "> x",
            *(f"  {number}" for number in range(len(sequences))),
        ]
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        leave(screen)


def test_a_stream_neither_flickers_nor_touches_scrollback_selection_or_clipboard(cli: Cli) -> None:
    reply = "\n\n".join(f"Paragraph {number} of this reply." for number in range(150))
    whole = wire.exchange(wire.text(reply, piece_chars=2))
    more = threading.Event()
    half = len(whole.steps) // 2
    cli.script(Exchange(headers=whole.headers, steps=(*whole.steps[:half], Pause(more), *whole.steps[half:])))
    with on_screen(cli) as screen:
        screen.wait(READY)
        begun = len(screen.sent)
        screen.type("go on")
        screen.press("enter")
        screen.wait("Paragraph 74 of this reply.")  # the end of the first half: nothing else is drawn now
        screen.type("漢字 Ж")
        screen.wait(lambda: screen.cursor[1] == 2 + 6 and "> 漢字 Ж" in screen.lines[screen.cursor[0]])
        more.set()
        screen.wait("Paragraph 149")
        screen.wait(lambda: BUSY not in screen.text)
        assert screen.cursor[1] == 2 + 6, "the cursor, which input methods follow, has left the draft"
        sent = bytes(screen.sent[begun:])
        frames = FRAME.findall(sent)
        shown = [line for line in screen.scrollback if line.startswith("Paragraph ")]
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        leave(screen)
    assert shown == reply.split("\n\n")
    assert len(frames) * 4 < len(whole.steps), "a frame for each piece"
    echo = next(frame for frame in frames if "Ж".encode() in frame)
    assert len(echo) < 100, "a key draws more than itself"
    assert not SEQUENCE.sub(b"", FRAME.sub(b"", sent)).strip(), "something is shown outside of whole frames"
    whole_sent = bytes(screen.sent)
    for sequence in (
        rb"\x1b\[[23]J",
        rb"\x1b\[\?1049h",
        rb"\x1b\[\?100[0236]h",
        rb"\x1b\]52",
        rb"\x1b\[\d+;\d+r",
    ):
        assert not re.search(sequence, whole_sent), sequence
    assert not any(int(up[1]) > 24 for up in re.finditer(rb"\x1b\[(\d+)A", whole_sent))


def hold_off_hangups() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


@pytest.mark.parametrize(
    ("prepare", "code"), [(lambda: None, 124), (hold_off_hangups, 0)], ids=["told", "not told"]
)
def test_a_terminal_that_is_gone_takes_all_with_it_and_loses_nothing_that_was_typed(
    cli: Cli, prepare: Callable[[], None], code: int, is_gone: Callable[[int], bool]
) -> None:
    call = wire.tool_use("Bash", {"command": "echo $$ > pid; exec sleep 1000"})
    cli.script(wire.exchange(call), wire.exchange(wire.text("It goes on.")))
    place = cli.work / "pid"
    cli.configure('[[permissions.rules]]\npattern = "Bash"\naction = "allow"\n')
    with on_screen(cli, prepare=prepare) as screen:  # without a word there is a first frame, with its signals
        screen.wait(READY)
        screen.type("start it")
        screen.press("enter")
        wait_until(lambda: place.exists() and place.read_text().strip())
        screen.type("and then this")
        screen.wait("> and then this")
        screen.press("tab")
        screen.wait("… and then this")
        screen.hang_up()
        assert screen.process.wait(HANG_S) == code
        assert is_gone(int(place.read_text()))
    with on_screen(cli, "--continue") as screen:
        screen.wait("> start it")
        screen.wait(READY)
        screen.press("up")
        screen.wait("> and then this")
        screen.press("enter")
        screen.wait("It goes on.")
        leave(screen)
    assert "start it" in json.dumps(cli.bodies()[-1]["messages"])


def test_who_looks_elsewhere_is_called_and_a_light_terminal_gets_dark_words(cli: Cli) -> None:
    call = wire.tool_use("Bash", {"command": "touch made"})
    cli.script(
        wire.exchange(wire.text("First answer.")),
        wire.exchange(wire.text("Second answer.")),
        wire.exchange(call),
        wire.exchange(wire.text("Third answer.")),
    )
    with on_screen(cli, env={"COLORTERM": "truecolor"}) as screen:
        screen.wait(READY)
        ask(screen, "one", "First answer.")
        assert b"\x07" not in screen.sent and b"\x1b]9;" not in screen.sent
        assert b"38;2;127;213;232m> one" in screen.sent, "the colours for a dark background"
        screen.type("\x1b[O\x1b]11;rgb:ffff/ffff/ffff\x1b\\")
        ask(screen, "two", "Second answer.")
        screen.wait(lambda: b"\x1b]9;the prompt is answered\x1b\\\x07" in screen.sent)
        assert b"38;2;0;95;116m> two" in screen.sent, "the colours for a light background"
        screen.type("three")
        screen.press("enter")
        screen.wait("tab no, with a reason")
        screen.wait(lambda: b"\x1b]9;a question waits\x1b\\\x07" in screen.sent)
        screen.type("\x1b[I")
        called = screen.sent.count(b"\x1b]9;")
        screen.press("n")
        screen.wait("Third answer.")
        screen.wait(lambda: BUSY not in screen.text)
        assert screen.sent.count(b"\x1b]9;") == called == 2
        leave(screen)


def test_a_screen_reader_is_told_in_lines_what_comes_and_what_is_chosen(cli: Cli) -> None:
    cli.configure('[tui]\npainter = "linear"\n')
    call = wire.tool_use("Bash", {"command": "touch made"})
    cli.script(wire.exchange(wire.text("I look."), call), wire.exchange(wire.text("It is **made**.")))
    with on_screen(cli, rows=60) as screen:
        screen.wait("Esc twice interrupts")
        begun = len(screen.sent)
        screen.type("make it")
        screen.wait("> make it")
        screen.press("enter")
        screen.wait("tab no, with a reason")
        screen.press("y")
        screen.wait("assistant: It is made.")
        screen.wait("done: ")
        screen.type("/eff")
        screen.wait("chosen: /effort")
        screen.press("ctrl+c")
        screen.wait(lambda: screen.lines[screen.cursor[0]] == ">")
        sent = bytes(screen.sent[begun:])
        screen.press("ctrl+d")
        assert screen.ended() == 0
        lines = [line for line in screen.lines if line]
    assert not re.search(rb"\x1b", sent), "a sequence, which a reader stumbles over"
    order = [
        "prompt: make it",
        "assistant: I look.",
        "? May Bash run?",
        "tool: ",
        "assistant: It is made.",
        "done: ",
    ]
    places = [next(n for n, line in enumerate(lines) if line.startswith(words)) for words in order]
    assert places == sorted(places)
    assert sum(line.startswith("? May Bash run?") for line in lines) == 1


LONG = "run --with " + " ".join(f"--option-{number}=value" for number in range(12))
PROSE = " ".join(f"word{number}" for number in range(60))
ADDRESS = "https://example.com/" + "a-long-path/" * 12
COPIED = f"Begin.\n\n```sh\n{LONG}\n    indented --line\n```\n\n{PROSE}\n\n{ADDRESS}\n"


def test_copies_are_whole_and_a_window_of_other_sizes_leaves_no_debris(
    cli: Cli,
    window: ShellWindow,  # noqa: F811
) -> None:
    cli.configure('[tui]\nwrap = "terminal"\n')
    call = wire.tool_use("Bash", {"command": "until [ -e go ]; do sleep 0.02; done"})
    cli.script(
        wire.exchange(wire.text(COPIED, piece_chars=7)),
        wire.exchange(call),
        wire.exchange(wire.text("Over.")),
    )
    window.wait("ready:")
    window.type(f"exec {shlex.join(TRUE_START)} --allow Bash", "Enter")
    window.wait(READY)
    window.type("write it", "Enter")
    window.wait(" in, ")
    window.type("work", "Enter")
    window.wait("○ Bash until")
    for columns, rows in ((60, 30), (120, 30), (100, 20)):
        before = window.text
        window.run("resize-window", "-x", str(columns), "-y", str(rows))
        wait_until(lambda before=before: window.text != before)
    window.type("draft")
    window.wait("> draft")
    (cli.work / "go").touch()
    window.wait("2 turns")
    rows_seen = window.run("capture-pane", "-p", "-J", "-S", "-").splitlines()
    shown = [row.rstrip() for row in rows_seen]
    for line in (LONG, "    indented --line", PROSE, ADDRESS):
        assert shown.count(line) == 1, line
    assert shown.count("> write it") == shown.count("Begin.") == shown.count("Over.") == 1
    left = [row for row in shown if row.startswith("○ Bash") or BUSY in row]
    assert len(left) <= 4, left


def test_a_window_that_becomes_low_and_high_again_shows_a_question_once(
    cli: Cli,
    window: ShellWindow,  # noqa: F811
) -> None:
    parts = " && ".join(f"echo part-{number} of this long line" for number in range(40))
    cli.script(
        wire.exchange(wire.tool_use("Bash", {"command": f"touch made && {parts}"})),
        wire.exchange(wire.text("Over.")),
    )
    window.wait("ready:")
    window.type(shlex.join(TRUE_START), "Enter")
    window.wait(READY)
    window.type("ask me", "Enter")
    window.wait("tab no, with a reason")
    for rows, ends in ((8, 2), (12, 2), (10, 2), (20, 6), (30, 10)):
        window.run("resize-window", "-x", "100", "-y", str(rows))
        size = f"lines 1-{ends} of"
        wait_until(lambda size=size: size in window.run("capture-pane", "-p"))
        wait_until(lambda: window.run("capture-pane", "-p").count("? May Bash run?") == 1)
    assert window.text.count("? May Bash run?") <= 2, window.text
    assert window.text.count("> ask me") == window.text.count("Shift+Tab changes") == 1
    window.type("n")
    window.wait("Over.")
    window.type("C-d")
    wait_until(lambda: "--resume" in window.run("capture-pane", "-p"))
    assert window.text.count("? May Bash run?") <= 2, window.text
