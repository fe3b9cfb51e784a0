"""The first frame of a start with arguments: keys typed before the program is there are its first input."""

from __future__ import annotations

import pytest
from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire


@pytest.mark.parametrize(
    "flags", [("--model", "claude-haiku-4-5"), ("--allow", "Bash", "--no-save")], ids=str
)
def test_keys_of_the_first_moment_are_the_first_prompt_and_enter_sends_it(
    cli: Cli, flags: tuple[str, ...]
) -> None:
    cli.script(wire.exchange(wire.text("All is well.")))
    with on_screen(cli, *flags, starts=True) as screen:
        screen.wait(lambda: b"> " in screen.sent)  # this test is about keys that come before the editor
        screen.type("typed at once\r")
        screen.wait("All is well.")
        screen.wait(lambda: "esc interrupts" not in screen.text)
        assert "> typed at once" in screen.text
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert cli.bodies()[0]["messages"][-1]["content"][-1]["text"].startswith("typed at once")


def test_a_prompt_as_an_argument_is_sent_and_what_is_typed_meanwhile_follows(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("First.")), wire.exchange(wire.text("Second.")))
    with on_screen(cli, "say the first", env={}, starts=True) as screen:
        screen.wait("First.")
        screen.wait(lambda: "esc interrupts" not in screen.text)
        screen.type("more")
        screen.wait("> more")
        screen.press("enter")
        screen.wait("Second.")
        screen.wait(lambda: "esc interrupts" not in screen.text)
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_a_flag_that_is_wrong_gives_the_terminal_back_and_says_so_below(cli: Cli) -> None:
    with on_screen(cli, "--max-turns", "lots") as screen:
        assert screen.ended() != 0
        assert "--max-turns" in screen.text
        assert screen.modes == screen.modes_before


def test_a_run_that_prints_draws_no_frame(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("Printed.")))
    with on_screen(cli, "-p", "hi") as screen:
        assert screen.ended() == 0
        assert "Printed." in screen.text
        assert not screen.sent.startswith(b"\x1b[?2004h")
