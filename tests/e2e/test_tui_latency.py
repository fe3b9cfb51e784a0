"""A terminal at the far end of a slow connection: 300 ms each way, as with ssh around the world."""

from __future__ import annotations

import json
import sys

import pytest
from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

LATENCY_S = 0.3
ANSWERS = b"\x1b]10;rgb:0000/0000/0000\x07\x1b]11;rgb:ffff/ffff/ffff\x07\x1b[?2026;2$y\x1b[?0u\x1b[?62;4c"
"""What a terminal says of itself: later than any program that waits for it would listen."""

PUSHED, POPPED = b"\x1b[>1u", b"\x1b[<u"
BUSY = "esc interrupts"


def test_a_slow_connection_loses_no_key_types_no_answer_and_answers_no_question(cli: Cli) -> None:
    call = wire.tool_use("Bash", {"command": "touch made"})
    waits = wire.tool_use("Bash", {"command": "echo begun; sleep 1000"})
    cli.script(
        wire.exchange(wire.text("Early bird.")),
        wire.exchange(call),
        wire.exchange(wire.text("It is made.")),
        wire.exchange(waits),
    )
    options = {"latency_s": LATENCY_S, "answers": ANSWERS, "starts": True}
    options["env"] = {"COLORTERM": "truecolor"}
    rule = '[[permissions.rules]]\npattern = "Bash:{} *"\naction = "allow"\n'
    cli.configure(rule.format("echo") + rule.format("sleep"))
    with on_screen(cli, **options) as screen:
        screen.wait(lambda: b"\x1b7" in screen.sent)  # the first frame, long before there is an editor
        screen.type("typed before much is seen\r")
        screen.wait("Early bird.")
        screen.wait(lambda: PUSHED in screen.sent and BUSY not in screen.text)
        assert ">" in screen.lines, "an answer of the terminal stands in the draft"
        screen.press("up")
        screen.wait("> typed before much is seen")
        screen.press("left", "backspace")
        screen.type("e")
        screen.wait(lambda: "> typed before much is seen" in screen.lines)
        screen.press("ctrl+u")
        screen.type("\x1b[F\x1b[99;5u")
        screen.wait(lambda: ">" in screen.lines)
        screen.type("make it\ryYnN")
        screen.wait("tab no, with a reason")
        assert "> yYnN" in screen.lines
        assert not (cli.work / "made").exists()
        screen.press("y")
        screen.wait("It is made.")
        assert "> yYnN" in screen.lines
        screen.wait(lambda: BUSY not in screen.text)
        screen.press("ctrl+c")
        screen.wait(lambda: ">" in screen.lines)
        screen.type("wait\r")
        screen.wait("begun")
        screen.type("half a draft")
        screen.wait("> half a draft")
        screen.resize(70, 20)
        screen.wait(lambda: "> half a draft" in screen.lines)
        screen.press("esc", "esc")
        screen.wait("interrupted")
        screen.wait(lambda: BUSY not in screen.text)
        assert "> half a draft" in screen.lines
        screen.press("ctrl+c", "ctrl+d")
        assert screen.ended() == 0
        assert screen.modes == screen.modes_before
        assert screen.sent.count(PUSHED) == screen.sent.count(POPPED) == 1
        assert "caliban --resume" in screen.text
        assert b"38;2;0;95;116m> make it" in screen.sent, "the background was not heard of"
        rows = screen.scrollback
    for prompt in ("typed before much is seen", "make it", "wait"):
        assert rows.count(f"> {prompt}") == 1, prompt
    sent = json.dumps([body["messages"][-1] for body in cli.bodies()])
    assert "yYnN" not in sent and "half a draft" not in sent
