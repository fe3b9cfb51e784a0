"""`caliban` on a terminal."""

from __future__ import annotations

from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire


def test_a_prompt_is_typed_and_answered_and_stays_after_the_end(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("Hello, you.")))
    with on_screen(cli) as screen:
        screen.wait("/work")  # the status line
        screen.type("say hello")
        screen.wait("> say hello")
        screen.press("enter")
        screen.wait("Hello, you.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert "Hello, you." in screen.text
        assert screen.modes == screen.modes_before
