"""What people complain of at other terminals' agents, each shown to be absent here (design, section 3)."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Callable

import pytest
from command_kit import Cli
from hang_guard import HANG_S, wait_until
from screen_kit import Screen, on_screen

from caliban_provider.testing.exchange import Pause
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
    told = {
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
        for number, sequence in enumerate(told.values()):
            screen.type(f"{sequence}{number}")
            screen.wait(lambda number=number: f"  {number}" in screen.lines)
        assert not cli.server.requests
        assert [line for line in screen.lines if re.fullmatch(r"(> x|  \d)", line)] == [
            "> x",
            *(f"  {number}" for number in range(len(told))),
        ]
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        leave(screen)
