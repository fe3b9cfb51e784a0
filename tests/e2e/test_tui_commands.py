"""Slash commands typed on a terminal."""

from __future__ import annotations

import json

from command_kit import Cli
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

OK = wire.text("All is well.")


def call(screen: Screen, line: str, shown: str) -> None:
    """Type a command, and wait for what it shows."""
    screen.type(line)
    screen.wait(line)
    screen.press("enter")
    screen.wait(lambda: shown in "\n".join(screen.scrollback))


def test_commands_answer_on_the_screen_and_unknown_ones_say_what_is_near(cli: Cli) -> None:
    cli.script(wire.exchange(OK), wire.exchange(wire.text("So it is.")))
    with on_screen(cli, columns=120, rows=50) as screen:
        screen.wait(" · ")
        call(screen, "say hello", "All is well.")
        call(screen, "/cost", "From cache")
        call(screen, "/costt", "there is no command /costt")
        call(screen, "/effort high", "effort: high")
        call(screen, "/rename A good title", "is shown as 'A good title'")
        call(screen, "/setup-token", "/setup-token is not part of this version")
        call(screen, "/loop --n=0", "--n is a number from 1")
        call(screen, "/copy 7", "there is no answer 7")
        call(screen, "/fork now", "/fork takes no words")
        call(screen, "/plan", "plan mode is on")
        call(screen, "/plan", "mode: default")
        call(screen, "/tmp is full", "So it is.")
        screen.type("/quit")
        screen.press("enter")
        assert screen.ended() == 0
    assert len(cli.server.requests) == 2
    assert "A good title" in cli.run("sessions", "list").out


def test_a_command_file_that_appears_is_called_and_the_prompt_shows_the_call(cli: Cli) -> None:
    cli.script(wire.exchange(OK))
    with on_screen(cli, columns=100, rows=30) as screen:
        screen.wait(" · ")
        call(screen, "/greet you", "there is no command /greet")
        folder = cli.work / ".caliban/commands"
        folder.mkdir(parents=True)
        (folder / "greet.md").write_text("Greet $1 warmly.")
        call(screen, "/greet you", "All is well.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert "Greet you warmly." in json.dumps(cli.bodies()[0]["messages"])
