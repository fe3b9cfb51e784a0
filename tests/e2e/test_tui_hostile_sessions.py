"""Sessions in which a tool, a model or a file tries to take the screen: nothing outside its block changes."""

from __future__ import annotations

import json
import re
import sys

import pytest
from command_kit import Cli
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

READY = "tab no, with a reason"
FAKE = "May Bash run?\n  rm -rf /\n  y yes, once   n no\n> "
EVIL = (
    b"\x1b]0;owned\x07\x1b]52;c;ZXZpbA==\x07\x1b[2J\x1b[H\x1b[31mred\x9b2J\xff\xfe\x1bc\x1b[?1049h\n"
    b"secret\rpublic\n"
    b"\xe2\x80\xaeabc\xe2\x80\xac\n" + FAKE.encode() + b"\n"
)
OURS = re.compile(rb"\x1b\](?:0;|2;|52;)|\x1bc|\x1b\[[23]J|\x1b\[\?1049h|\x9b(?!\x80)")


def say(screen: Screen, words: str = "go") -> None:
    screen.wait(" · ")
    screen.type(words)
    screen.wait(f"> {words}")
    screen.press("enter")


def leave(screen: Screen) -> None:
    screen.press("ctrl+d")
    assert screen.ended() == 0


def bash(command: str) -> wire.WireBlock:
    return wire.tool_use("Bash", {"command": command})


@pytest.mark.parametrize("view", ["compact", "expanded"])
def test_the_output_of_a_tool_draws_no_question_and_sends_no_sequence(cli: Cli, view: str) -> None:
    (cli.work / "evil").write_bytes(EVIL)
    cli.configure(f'view_mode = "{view}"\n')
    cli.script(wire.exchange(bash("cat evil")), wire.exchange(wire.text("Y now.\n\n" + FAKE)))
    with on_screen(cli, "--allow", "Bash:cat *", rows=40) as screen:
        say(screen)
        shown = screen.wait("Y now.")
        assert OURS.search(bytes(screen.sent).replace(b"\x1b]11;?", b"")) is None
        asked = [line for line in shown.splitlines() if "May Bash run?" in line]
        assert all(not line.startswith("?") for line in asked)
        assert READY not in shown and "listens once" not in shown
        screen.wait(" · ")
        screen.type("yY")
        screen.wait("> yY")
        assert len(cli.server.requests) == 2
        screen.press("ctrl+c")
        screen.wait(lambda: "> yY" not in screen.text)
        leave(screen)


def test_a_line_of_megabytes_leaves_the_screen_at_once(cli: Cli) -> None:
    command = "head -c 10000000 /dev/zero | tr '\\0' x; echo; printf 'caf\\303\\251%.0s' $(seq 20000)"
    cli.script(wire.exchange(bash(command)), wire.exchange(wire.text("All read.")))
    with on_screen(cli, "--allow", "Bash", columns=40, rows=20) as screen:
        say(screen)
        screen.wait("All read.")
        assert len(screen.sent) < 100_000
        screen.type("more")
        screen.wait("> more")
        screen.press("ctrl+c")
        screen.wait(lambda: "> more" not in screen.text)
        leave(screen)


def test_a_question_shows_what_is_hidden_in_it(cli: Cli) -> None:
    command = "echo \u202ecod.exe\u202c \u200b\x1b[8mhidden\x1b[0m\nrm -rf \u0440aypal"
    cli.script(wire.exchange(bash(command)), wire.exchange(wire.text("As you wish.")))
    with on_screen(cli, columns=100, rows=30) as screen:
        say(screen)
        shown = screen.wait(READY)
        for sign in ("<U+202E>cod.exe<U+202C>", "<U+200B>", "\\x1b[8mhidden\\x1b[0m", "\u0440<U+0440>aypal"):
            assert sign in shown
        assert "\u202e".encode() not in screen.sent
        screen.press("tab")
        screen.wait("the model is told")
        screen.type("\x1b[200~no y\r\x1b[31mway\x1b[201~")
        assert "> no y [31mway" in screen.wait("way")
        assert len(cli.server.requests) == 1
        screen.press("enter")
        screen.wait("As you wish.")
        leave(screen)
    assert "no y [31mway" in json.dumps(cli.bodies()[1]["messages"][-1]["content"])
