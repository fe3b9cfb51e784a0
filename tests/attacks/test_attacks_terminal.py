"""Rows of the class terminal-escape: nothing that others wrote steers a terminal, or hides on it."""

from __future__ import annotations

import json
import re
import sys

import pytest
from screen_kit import on_screen
from terminal_kit import on_terminal

from caliban_common.terminal import TerminalText, visible
from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

ESC = "\x1b"
EVIL = [
    pytest.param(f"{ESC}]52;c;ZXZpbA==\x07", id="s579"),
    pytest.param(f"{ESC}]8;;https://evil.example{ESC}\\https://github.com{ESC}]8;;{ESC}\\", id="s580"),
    pytest.param(f"[x](https://a.example/{ESC}\\{ESC}]0;owned\x07)", id="s581"),
    pytest.param(
        f"{ESC}P+q544e{ESC}\\{ESC}_Gf=24;AAAA{ESC}\\{ESC}^x{ESC}\\{ESC}Pq#0~{ESC}\\{ESC}]1337;File=name=eA==:eA==\x07",
        id="s584",
    ),
    pytest.param("a\u202egnp.exe\u202c \u2066x\u2069 \u200fy", id="s585"),
    pytest.param("a\u200bb\u2060c\U000e0041\U000e0042\ufeff", id="s586"),
    pytest.param("abc" + "\b" * 3 + "x" + "\u0301" * 10_000 + "y", id="s588"),
    pytest.param(f"{ESC}[201~rm -rf /\r{ESC}[200~", id="s594"),
    pytest.param("\x9b31m\x9d52;c;eA==\x9c\x90q\x9c", id="own-c1"),
    pytest.param(f"{ESC}[2J{ESC}[H{ESC}[?1049h{ESC}c{ESC}#8{ESC}[6n{ESC}[21t", id="own-csi"),
    pytest.param("safe\roverwritten", id="own-cr"),
    pytest.param("a\x0b\x0c\x07\x05\x0e\x0f\x7f\x00", id="own-c0"),
    pytest.param("a\u2028b\u2029c\u061cd\u180ee\xadf", id="own-separators"),
    pytest.param("x" + "\u20dd\u0489\u1ab0\ufe20" * 3_000, id="own-marks"),
]


def assert_harmless(text: str) -> None:
    steering = [char for char in text if (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f"]
    hidden = re.findall(
        "[\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]", text
    )
    marks = re.findall("[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u20d0-\u20ff\ufe20-\ufe2f]{17,}", text)
    assert (steering, hidden, marks) == ([], [], [])


@pytest.mark.long(keep=3)
@pytest.mark.parametrize("evil", EVIL)
def test_an_answer_a_name_and_an_error_are_harmless_on_a_terminal(cli, evil):
    cli.script(
        wire.exchange(wire.tool_use("Read", {"path": f"{evil[:300]}.txt"})),
        wire.exchange(wire.text(f"before {evil} after")),
    )
    shown = on_terminal(cli, "-p", "hi")
    assert_harmless(shown)
    assert "before " in shown and " after" in shown


@pytest.mark.parametrize("evil", EVIL)
def test_the_pieces_of_an_answer_are_as_harmless_as_the_whole(evil):
    stream = TerminalText()
    assert_harmless("".join(stream.feed(char) for char in f"{evil} after"))
    assert_harmless(visible(evil))


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("row", ["s590"])
def test_a_pipe_gets_the_text_as_it_is_and_json_escapes_it(cli, evil, row):
    cli.script(wire.exchange(wire.text(evil)), wire.exchange(wire.text(evil)))
    assert cli.run("-p", "hi").out == f"{evil}\n"
    done = cli.run("-p", "hi", "--output-format", "json")
    assert done.json["result"] == evil and ESC not in done.out


@pytest.mark.long(keep=3)
@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("row", ["s593"])
def test_errors_that_quote_others_are_harmless(cli, evil, row):
    (cli.work / "calls.toml").write_text("[[call]]\n")
    assert_harmless(
        on_terminal(cli, "perms", "explain", "Bash", json.dumps({"command": f"echo {evil[:500]}"}))
    )
    failure = wire.failure(404, "not_found_error", f"there is no {evil}")
    cli.script(failure, failure)
    shown = on_terminal(cli, "-p", "hi", "--model", "claude-none")
    named = on_terminal(cli, "-p", "hi", "--model", evil[:500].replace("\0", ""))
    for words in (shown, named):
        assert_harmless(words)
    assert "there is no" in shown
    assert "is no name of a model" in named or "there is no" in named


def test_s591_of_a_status_script_one_line_is_shown_and_nothing_of_it_steers(cli):
    words = r"\033]52;c;ZXZpbA==\007\033[31mred\033[2J\n"
    cli.configure(f"[statusLine]\ncommand = 'printf \"{words}\"; seq 10000'\n")
    with on_screen(cli) as screen:
        screen.wait("red")
        assert "9999" not in screen.text
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert b"\x1b]52" not in screen.sent and b"\x1b[2J" not in screen.sent
