"""Each key of the table through the real command, as far as somebody does what it says."""

from __future__ import annotations

from command_kit import Cli
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

READY = "anthropic/"


def leave(screen: Screen) -> None:
    """Clear the draft and leave."""
    screen.press("ctrl+c")
    screen.wait(lambda: any(line in (">", ":") for line in screen.lines))
    screen.press("ctrl+d")
    assert screen.ended() == 0


def test_new_lines_undo_and_answers_of_the_terminal(cli: Cli) -> None:
    with on_screen(cli) as screen:
        screen.wait(READY)
        screen.type("a\\\rb\x1b\rc\x1b[13;2ud\x1b[27;2;13~e\nf")
        screen.wait(lambda: screen.text.count("\n  ") >= 5)
        assert [line for line in screen.lines if line in ("> a", "  b", "  c", "  d", "  e", "  f")] == [
            "> a",
            "  b",
            "  c",
            "  d",
            "  e",
            "  f",
        ]
        screen.press("ctrl+c")
        screen.wait(lambda: "  f" not in screen.lines)
        screen.type("\x1b[I\x1b]11;rgb:0/0/0\x1b\\\x1b[?62;4c\x1b[?2026;2$y\x1b[?1u\x1b[99999zclean")
        screen.wait("> clean")
        screen.type("\x1b[99;5u")
        screen.wait(lambda: "> clean" not in screen.text)
        screen.type("one two")
        screen.wait("> one two")
        screen.press("ctrl+w")
        screen.wait(lambda: "> one" in screen.lines)
        screen.type("\x1f")
        screen.wait("> one two")
        screen.press("ctrl+l")
        screen.wait("> one two")
        leave(screen)


def test_a_paste_that_ends_itself_sends_nothing(cli: Cli) -> None:
    with on_screen(cli) as screen:
        screen.wait(READY)
        screen.type("\x1b[200~harmless\x1b[201~\r!touch evil\r\x03\x04\x1b[201~")
        screen.wait("^D")
        assert "> harmless" in screen.lines
        assert not (cli.work / "evil").exists()
        leave(screen)


def test_vim_keys_are_used_where_settings_say_so(cli: Cli) -> None:
    cli.configure('editor_mode = "vim"\n')
    cli.script(wire.exchange(wire.text("Done.")))
    with on_screen(cli) as screen:
        screen.wait(READY)
        screen.type("one two three")
        screen.wait("> one two three")
        screen.press("esc")
        screen.wait(": one two three")
        screen.type("0dw.")
        screen.wait(lambda: ": three" in screen.lines)
        screen.type("u")
        screen.wait(": two three")
        screen.press("ctrl+r")
        screen.wait(lambda: ": three" in screen.lines)
        screen.type("cwfour")
        screen.wait("> four")
        screen.press("enter")
        screen.wait("Done.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert "four" in str(cli.bodies()[-1])


def test_the_menu_fits_a_narrow_terminal(cli: Cli) -> None:
    with on_screen(cli, columns=40, rows=16) as screen:
        screen.wait(READY)
        screen.type("/")
        screen.wait("more")
        assert all(len(line) <= 40 for line in screen.lines)
        screen.press("down", "down", "up")
        screen.wait(lambda: sum(line.startswith("› /") for line in screen.lines) == 1)
        leave(screen)


def test_keys_open_and_close_the_views_that_the_table_names(cli: Cli) -> None:
    cli.configure('[tui.keys]\nbackground = ["f4"]\n')
    cli.script(wire.exchange(wire.text("The answer.")))
    with on_screen(cli, rows=40) as screen:
        screen.wait(READY)
        screen.press("?")
        text = screen.wait("Keys")
        assert "Alt+Up" in text
        assert "F4" in text
        screen.press("esc")
        screen.wait(lambda: "Alt+Up" not in screen.text)
        screen.type("say it\r")
        screen.wait("The answer.")
        for key in ("\x0f", "\x1b[5~"):
            screen.type(key)
            screen.wait(lambda: ">" not in screen.lines)
            screen.press("esc")
            screen.wait(lambda: ">" in screen.lines)
        screen.type("\x1bo")
        screen.wait("what tools say is shown")
        before = screen.text
        screen.press("shift+tab")
        screen.wait(lambda: screen.text != before)
        leave(screen)
