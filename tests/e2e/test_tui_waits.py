"""A prompt that waits for servers is seen, can be taken back, and holds up no command that needs no turn."""

from __future__ import annotations

import sys

import pytest
from command_kit import Cli
from mcp_kit import given, table
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

BUSY = "esc interrupts"
NEVER = "required = true\nstart_timeout_s = 3600\n"


def silent(cli: Cli) -> None:
    """A server that has to be there, and answers nothing."""
    cli.configure(table("mute", {"silent": True}, NEVER))


def sent(screen: Screen, line: str) -> None:
    screen.type(line)
    screen.wait(f"> {line}")
    screen.press("enter")


def test_a_prompt_that_waits_for_a_server_stands_on_the_screen_and_commands_run_beside(cli: Cli) -> None:
    silent(cli)
    with on_screen(cli, columns=120, rows=24) as screen:
        screen.wait("anthropic/")
        sent(screen, "the first words")
        screen.wait(lambda: BUSY in screen.text and "… the first words" in screen.text)
        sent(screen, "/mcp")
        screen.wait("◐ mute  pending")
        screen.press("esc")
        screen.wait(lambda: "MCP servers" not in screen.text)
        sent(screen, "and more")
        screen.wait("… and more")
        assert screen.text.index("… the first words") < screen.text.index("… and more")
        screen.press("ctrl+c")  # all that was not sent is the draft again, in its order
        screen.wait(lambda: BUSY not in screen.text)
        assert "> the first words" in screen.text and "… " not in screen.text
        assert screen.text.index("> the first words") < screen.text.index("and more")
        screen.press("ctrl+c")
        screen.wait(lambda: "first words" not in screen.text)
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert cli.bodies() == []


def test_a_prompt_that_a_command_makes_waits_likewise(cli: Cli) -> None:
    silent(cli)
    with on_screen(cli, columns=120, rows=24) as screen:
        screen.wait("anthropic/")
        sent(screen, "/review the tests")
        screen.wait(lambda: BUSY in screen.text and "… /review the tests" in screen.text)
        screen.press("ctrl+c")
        screen.wait(lambda: BUSY not in screen.text)
        assert "> /review the tests" in screen.text
        screen.press("ctrl+c", "ctrl+d")
        assert screen.ended() == 0


def test_a_person_leaves_while_a_prompt_waits(cli: Cli) -> None:
    silent(cli)
    with on_screen(cli, columns=120, rows=24) as screen:
        screen.wait("anthropic/")
        sent(screen, "words")
        screen.wait("… words")
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_a_prompt_that_waited_is_sent_once(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("Hello")))
    servers = given(echo={"tools": {"echo": {"description": "say it"}}})
    with on_screen(cli, "--mcp-config", servers, columns=120, rows=24) as screen:
        screen.wait("anthropic/")
        sent(screen, "words")
        screen.wait("Hello")
        screen.wait(lambda: BUSY not in screen.text)
        assert "\n".join(screen.scrollback).count("words") == 1
