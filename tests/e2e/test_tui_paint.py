"""How the real command uses a terminal: full screen, lines, colours, and a terminal that stops reading."""

from __future__ import annotations

import re
import signal

from command_kit import Cli
from hang_guard import HANG_S
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

SGR = re.compile(rb"\x1b\[([0-9;]*)m")


def said(screen: Screen, prompt: str, answer: str) -> None:
    """Ask, and wait for the answer."""
    screen.type(prompt)
    screen.wait(prompt)
    screen.press("enter")
    screen.wait(answer)


def test_the_full_screen_is_left_with_all_that_was_said_on_it_and_nothing_twice(cli: Cli) -> None:
    for words in ("First answer.", "Second answer.", "Third answer."):
        cli.script(wire.exchange(wire.text(words)))
    with on_screen(cli) as screen:
        screen.wait("claude")
        said(screen, "one", "First answer.")
        said(screen, "/tui full", "claude")
        screen.wait(lambda: b"\x1b[?1049h" in screen.sent)
        said(screen, "two", "Second answer.")
        screen.press("pageup", "pagedown")
        said(screen, "three", "Third answer.")
        screen.wait(" s · ")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        before, _, rest = bytes(screen.sent).partition(b"\x1b[?1049h")
        _, left, after = rest.rpartition(b"\x1b[?1049l")
        assert left
        assert before.count(b"First answer.") == 1
        assert after.count(b"First answer.") == 0
        assert after.count(b"Second answer.") == after.count(b"Third answer.") == 1
        assert screen.modes == screen.modes_before


def test_a_dumb_terminal_is_sent_lines_and_no_sequence(cli: Cli) -> None:
    call = wire.tool_use("Bash", {"command": "touch here.txt"})
    cli.script(wire.exchange(call), wire.exchange(wire.text("Plain answer.")))
    with on_screen(cli, env={"TERM": "dumb"}, rows=40) as screen:
        screen.wait(">")
        said(screen, "hello", "e edit the rule")
        assert "May Bash run?" in screen.text
        screen.press("y")
        screen.wait("assistant: Plain answer.")
        screen.wait("done: ")
        assert "prompt: hello" in screen.text
        assert "tool: " in screen.text
        assert (cli.work / "here.txt").exists()
        screen.press("shift+tab")
        screen.wait("mode: ")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert b"\x1b" not in screen.sent
        assert screen.modes == screen.modes_before


def test_without_colours_and_without_unicode_nothing_of_them_is_sent(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("**Strong** `code` and a [link](http://example.org).")))
    with on_screen(cli, env={"NO_COLOR": "1", "LC_ALL": "C"}) as screen:
        screen.wait("claude")
        said(screen, "hello", "Strong code")
        screen.wait(" s - ")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        codes = {code for match in SGR.finditer(bytes(screen.sent)) for code in match[1].split(b";")}
        assert codes <= {b"", b"1", b"2", b"3", b"4", b"7", b"9"}
        assert b"1" in codes
        assert bytes(screen.sent).isascii()


def test_a_theme_of_a_persons_own_paints_and_one_that_is_none_is_told_of(cli: Cli) -> None:
    themes = cli.home / ".config" / "caliban" / "themes"
    themes.mkdir(parents=True)
    (themes / "mine.toml").write_text('[roles]\nprompt = "#123456"\n')
    (themes / "broken.toml").write_text('[roles]\npromt = "red"\n')
    cli.configure('[tui]\ntheme = "mine"\n')
    cli.script(wire.exchange(wire.text("Painted.")))
    with on_screen(cli, env={"COLORTERM": "truecolor"}) as screen:
        screen.wait("claude")
        said(screen, "hello", "Painted.")
        assert b"38;2;18;52;86" in screen.sent, bytes(screen.sent)
        said(screen, "/theme light", "claude")
        screen.wait(lambda: b"38;2;0;95;116" in screen.sent or b"38;2;106;106;106" in screen.sent)
        said(screen, "/theme broken", "did you mean")
        assert "broken.toml" in screen.text


def test_a_terminal_that_stops_reading_holds_up_no_run_and_gets_every_line_later(cli: Cli) -> None:
    long = "\n\n".join(f"line {number} " + "of words " * 8 for number in range(3_000))
    cli.script(wire.exchange(wire.text(long)), wire.exchange(wire.text("The second answer.")))
    with on_screen(cli) as screen:
        screen.wait("claude")
        screen.hold()
        screen.type("go on")
        screen.press("enter")
        assert cli.server.wait_for(lambda server: len(server.requests) == 1, max_s=HANG_S)
        screen.type("and on")
        screen.press("enter")
        assert cli.server.wait_for(lambda server: len(server.requests) == 2, max_s=HANG_S)
        screen.release()
        screen.wait("The second answer.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        numbers = [int(match[1]) for row in screen.scrollback if (match := re.match(r"line (\d+) of", row))]
        assert numbers == list(range(3_000))


def test_a_terminal_that_never_reads_again_does_not_keep_the_command(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("\n\n".join("words " * 12 for _ in range(3_000)))))
    with on_screen(cli) as screen:
        screen.wait("claude")
        screen.hold()
        screen.type("go on")
        screen.press("enter")
        assert cli.server.wait_for(lambda server: len(server.requests) == 1, max_s=HANG_S)
        screen.process.send_signal(signal.SIGTERM)
        assert screen.process.wait(HANG_S) == 124
