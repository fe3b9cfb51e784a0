"""What people reported of terminals elsewhere, and of questions that were answered by accident."""

from __future__ import annotations

import json
import os
import random
import signal
import sys

import pytest
from command_kit import Cli
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

OK = wire.exchange(wire.text("All is well."))
READY = "tab no, with a reason"


def ready(screen: Screen) -> None:
    screen.wait("claude-sonnet")


def prompts(cli: Cli) -> list[str]:
    """The words of each request's last message."""
    return [
        "".join(part.get("text", "") for part in body["messages"][-1]["content"]) for body in cli.bodies()
    ]


def raw(screen: Screen, data: bytes) -> None:
    """Bytes as a terminal may send them."""
    while data:
        data = data[os.write(screen._ours, data) :]


@pytest.mark.parametrize("cut", [0, 2, 9, 25], ids=lambda cut: f"b143-{cut}")
def test_a_paste_of_lines_is_one_message_with_the_exact_text(cli: Cli, cut: int) -> None:
    cli.script(OK)
    pasted = b"\x1b[200~LINE1\rLINE2\nLINE3 \x1b[31mred\x1b[201~"
    with on_screen(cli) as screen:
        ready(screen)
        raw(screen, pasted[:cut] if cut else pasted)
        if cut:
            screen.wait(lambda: True)
            raw(screen, pasted[cut:])
        screen.wait("LINE3")
        assert not cli.server.requests
        screen.press("enter")
        screen.wait("All is well.")
        screen.press("ctrl+d")
        screen.ended()
    assert [text.splitlines()[:2] for text in prompts(cli)] == [["LINE1", "LINE2"]]
    assert prompts(cli)[0].startswith("LINE1\nLINE2\nLINE3 ")
    assert b"\x1b[31mred" not in screen.sent


def test_b143_two_pastes_of_200_kb_are_whole(cli: Cli) -> None:
    cli.script(OK)
    first, second = ("".join(f"{word} line {n}\n" for n in range(10_000)) for word in ("one", "two"))
    with on_screen(cli) as screen:
        ready(screen)
        for text in (first, second):
            screen.type(f"\x1b[200~{text}\x1b[201~")
        screen.wait("#2")
        screen.press("enter")
        screen.wait("All is well.")
    (prompt,) = prompts(cli)
    assert first.strip() in prompt and second.strip() in prompt


@pytest.mark.parametrize(
    ("text", "cells"),
    [("漢字漢字漢字", 12), ("e\u0301e\u0301", 2), ("abc", 3), ("漢a字", 5)],
    ids=["b144-wide", "b144-combining", "b144-plain", "b144-mixed"],
)
def test_the_cursor_stands_behind_what_was_typed_and_one_key_takes_a_grapheme(
    cli: Cli, text: str, cells: int
) -> None:
    with on_screen(cli, columns=40, rows=12) as screen:
        ready(screen)
        screen.type(text)
        screen.wait(lambda: screen.cursor[1] == 2 + cells)
        screen.press("backspace")
        screen.wait(lambda: screen.cursor[1] < 2 + cells)
        screen.press(*["backspace"] * 20)
        screen.wait(lambda: screen.cursor[1] == 2)


@pytest.mark.parametrize(
    "end", ["ctrl+d", "ctrl+c twice", "/exit", "TERM", "HUP"], ids=lambda end: f"b146-{end}"
)
def test_the_terminal_is_as_it_was_however_it_ends(cli: Cli, end: str) -> None:
    with on_screen(cli) as screen:
        ready(screen)
        match end:
            case "ctrl+d":
                screen.press("ctrl+d")
            case "ctrl+c twice":
                screen.press("ctrl+c")
                screen.wait("again")
                screen.press("ctrl+c")
            case "/exit":
                screen.type("/exit")
                screen.press("enter")
            case _:
                os.kill(screen.process.pid, getattr(signal, f"SIG{end}"))
        screen.ended()
        assert screen.modes == screen.modes_before
        for mode in (1000, 1002, 1003, 1004, 1006, 1049, 2004, 2026):
            on, off = screen.sent.rfind(b"\x1b[?%dh" % mode), screen.sent.rfind(b"\x1b[?%dl" % mode)
            assert on < 0 or off > on, mode
        assert screen.sent.rfind(b"\x1b[?25h") >= screen.sent.rfind(b"\x1b[?25l")


def test_b149_bytes_that_are_no_text_kill_nothing_and_stand_in_no_prompt(cli: Cli) -> None:
    cli.script(OK)
    noise = random.Random(149).randbytes(4096).replace(b"\x1b[201~", b"")
    mouse, answers = b"\x1b[M\xff\xff\xff", b"\x1b]99;x\x07\x1bPq#0\x1b\\"
    with on_screen(cli) as screen:
        ready(screen)
        for data in (b"a\x80b\x81", b"\xff\xfe", mouse, answers, b"\x1b[200~", noise, b"\x1b[201~"):
            raw(screen, data)
        raw(screen, "é".encode()[:1])
        raw(screen, "é".encode()[1:] + b"STILL HERE")
        screen.wait("STILL HERE")
        screen.press("enter")
        screen.wait("All is well.")
    (prompt,) = prompts(cli)
    assert prompt.endswith("éSTILL HERE")


def test_b151_ctrl_c_ends_the_tool_with_what_it_wrote_and_not_the_program(cli: Cli) -> None:
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": "echo A; sleep 300"})), OK)
    with on_screen(cli, "--allow", "Bash") as screen:
        ready(screen)
        screen.type("go")
        screen.press("enter")
        screen.wait(lambda: "A" in [line.strip() for line in screen.lines])
        screen.press("ctrl+c")
        screen.wait("interrupted")
        screen.wait(lambda: "esc interrupts" not in screen.text)
        screen.type("next")
        screen.press("enter")
        screen.wait("All is well.")
        screen.wait(lambda: "esc interrupts" not in screen.text)
        screen.press("ctrl+c")
        screen.wait("again")
        screen.press("ctrl+c")
        assert screen.ended() == 0
        assert "--resume" in screen.text
    assert "A" in json.dumps(cli.bodies()[-1]["messages"])


def test_b152_a_draft_that_was_cleared_comes_back_and_history_is_exact(cli: Cli) -> None:
    cli.script(OK, OK)
    with on_screen(cli) as screen:
        ready(screen)
        screen.type("first")
        screen.press("alt+enter")
        screen.type("second")
        screen.wait("second")
        screen.press("ctrl+c")
        screen.wait(lambda: "second" not in screen.text)
        screen.press("up")
        screen.wait("second")
        screen.press("enter")
        screen.wait("All is well.")
        screen.press("ctrl+d")
        screen.ended()
    (place,) = [path for path in cli.home.rglob("*") if path.is_file() and "history" in str(path).lower()]
    place.write_bytes(place.read_bytes() + b"\xff\xfe no text\n")
    with on_screen(cli) as screen:
        ready(screen)
        screen.press("up")
        screen.wait("second")
        screen.press("enter")
        screen.wait("All is well.")
    assert prompts(cli)[0] == prompts(cli)[1] == "first\nsecond"


def asked(cli: Cli, command: str, *more: str) -> None:
    uses = [wire.tool_use("Bash", {"command": words}, id=f"t{n}") for n, words in enumerate((command, *more))]
    cli.script(wire.exchange(*uses), OK)


@pytest.mark.parametrize("tail", ["; touch PWNED", "\r\x1b[2K; touch PWNED"], ids=["s595", "s600"])
def test_the_end_of_a_long_command_can_be_seen_before_it_is_answered(cli: Cli, tail: str) -> None:
    asked(cli, "echo " + "a " * 4_500 + tail)
    with on_screen(cli) as screen:
        ready(screen)
        screen.type("go")
        screen.press("enter")
        screen.wait(READY)
        for _ in range(200):
            if "touch PWNED" in screen.text:
                break
            before = screen.text
            screen.press("pagedown")
            screen.wait(lambda before=before: screen.text != before)
        assert "touch PWNED" in screen.text
        screen.press("n")
        screen.wait("All is well.")
    assert not (cli.work / "PWNED").exists()


def test_s601_a_key_pressed_twice_fast_answers_one_question(cli: Cli) -> None:
    asked(cli, "touch first", "touch second")
    with on_screen(cli) as screen:
        ready(screen)
        screen.type("go")
        screen.press("enter")
        screen.wait(lambda: READY in screen.text and "1 more" in screen.text)
        screen.press("y", "y")
        # The second stands in the draft, below the question: what is above it is of the same picture.
        screen.wait(lambda: "> y" in screen.text and READY in screen.text and "1 more" not in screen.text)
        screen.press("n")
        screen.wait("All is well.")
    assert [(cli.work / name).exists() for name in ("first", "second")] == [True, False]


@pytest.mark.parametrize("what", ["closed", "ctrl+c"], ids=["s604-closed", "s604-ctrl-c"])
def test_a_question_that_is_left_denies_and_writes_no_rule(cli: Cli, what: str) -> None:
    asked(cli, "touch PWNED")
    with on_screen(cli) as screen:
        ready(screen)
        screen.type("go")
        screen.press("enter")
        screen.wait(READY)
        screen.resize(40, 10)
        if what == "closed":
            os.kill(screen.process.pid, signal.SIGHUP)
        else:
            screen.press("ctrl+c")
            screen.wait("interrupted")
            screen.wait(lambda: "esc interrupts" not in screen.text)
            screen.press("ctrl+d")
        screen.ended()
    assert not (cli.work / "PWNED").exists()
    assert not list(cli.work.rglob("*.toml")) and not list((cli.home / ".config").rglob("*.toml"))


def test_s605_another_mode_answers_no_question_that_is_open(cli: Cli) -> None:
    asked(cli, "touch PWNED")
    with on_screen(cli, columns=120) as screen:
        ready(screen)
        screen.type("go")
        screen.press("enter")
        screen.wait(READY)
        screen.press("shift+tab")
        screen.wait("accept edits")
        assert not (cli.work / "PWNED").exists()
        screen.wait(READY)
        screen.press("n")
        screen.wait("All is well.")
    assert not (cli.work / "PWNED").exists()


@pytest.mark.parametrize("mouse", ["false", "true"])
def test_s603_a_click_answers_no_question_and_types_nothing(cli: Cli, mouse: str) -> None:
    cli.configure(f'[tui]\nmouse = {mouse}\npainter = "full"\n')
    asked(cli, "touch PWNED")
    with on_screen(cli) as screen:
        ready(screen)
        screen.type("go")
        screen.press("enter")
        screen.wait(READY)
        row = next(number for number, line in enumerate(screen.lines, 1) if line.strip().startswith("y yes"))
        raw(screen, b"\x1b[O\x1b[I" + f"\x1b[<0;4;{row}M\x1b[<0;4;{row}m\x1b[M !!".encode())
        screen.press("z")  # nobody's key: once it is the draft's, the click was read
        screen.wait("> z")
        assert not (cli.work / "PWNED").exists()
        screen.wait(READY)
        screen.press("backspace")
        screen.wait(lambda: "> z" not in screen.text)
        screen.wait(READY)
        screen.press("n")
        screen.wait("All is well.")
    assert not (cli.work / "PWNED").exists()


def test_s776_a_change_of_a_million_lines_is_asked_about_and_what_is_not_shown_is_said(cli: Cli) -> None:
    lines = range(1_000_000)
    (cli.work / "big.txt").write_text("".join(f"{line}\n" for line in lines))
    change = {"file_path": "big.txt", "content": "".join(f"{line * 7 % 999_983}\n" for line in lines)}
    cli.script(wire.exchange(wire.tool_use("Write", change, piece_chars=100_000)), OK)
    with on_screen(cli) as screen:
        ready(screen)
        screen.type("go")
        screen.press("enter")
        text = screen.wait(READY)
        assert "big.txt" in text
        assert "what it changes cannot be shown" in text
        screen.press("n")
        screen.wait("All is well.")
    assert (cli.work / "big.txt").read_text().startswith("0\n1\n2\n")
