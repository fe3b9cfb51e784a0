"""`/terminal-setup` and `/focus` through the real command, and what stays refused by name."""

from __future__ import annotations

from command_kit import Cli
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire


def command(screen: Screen, line: str, words: str) -> None:
    screen.type(line)
    screen.wait(line)
    screen.press("enter")
    screen.wait(words)


def test_what_the_terminal_answered_is_told_and_nothing_is_written(cli: Cli) -> None:
    env = {"TERM_PROGRAM": "vscode"}
    with on_screen(cli, columns=120, env=env) as screen:
        screen.wait(" · ")
        command(screen, "/terminal-setup", "the terminal has told nothing of itself")
        assert "keybindings.json; nothing is changed from here" in screen.text
        screen.type("\x1b[?62;4c")
        command(screen, "/terminal-setup", "comes as Enter, which sends")
        screen.type("\x1b[?1u\x1b[?62;4;22c")
        command(screen, "/terminal-setup", "Nothing needs to be set: Shift+Enter begins a new line.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert not list(cli.home.rglob("keybindings.json"))


def test_focus_shows_the_conversation_alone_and_then_all_as_before(cli: Cli) -> None:
    (cli.work / "a.txt").write_text("".join(f"row {n}\n" for n in range(9)), encoding="utf-8")
    for _ in range(2):
        cli.script(wire.exchange(wire.tool_use("Bash", {"command": "cat a.txt"})))
        cli.script(wire.exchange(wire.text("It has rows.")))
    with on_screen(cli, "--allow", "Bash", rows=40) as screen:
        screen.wait(" · ")
        command(screen, "/focus", "shown in a line from here on")
        command(screen, "first", "It has rows.")
        assert "row 0" not in screen.text
        command(screen, "/focus", "shown in short from here on")
        screen.type("second")
        screen.wait("> second")
        screen.press("enter")
        screen.wait(lambda: screen.text.count("It has rows.") == 2)
        assert "row 0" in screen.text
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_a_token_of_a_subscription_is_refused_with_the_way_to_a_key(cli: Cli) -> None:
    done = cli.run("-p", "/setup-token")
    assert done.code != 0 and "only a vendor's own program makes such a token" in done.err
    assert "caliban login keeps a key" in done.err
