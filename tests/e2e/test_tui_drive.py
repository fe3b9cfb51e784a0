"""What stands around a conversation on the screen: the start, the status, the shell, and every way out."""

from __future__ import annotations

import json
import os
import signal
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command_kit import Cli, needs_procfs
from hang_guard import wait_until
from screen_kit import Screen, on_screen

from caliban_provider_anthropic.testing import wire

LISTENS_LATER = "listens once you stop typing"


IDLE_S = 1.2
"""Longer than whatever would look again and again."""


def is_sane(screen: Screen) -> bool:
    """Whether the terminal has its modes again, and the last word on pastes and focus is off."""
    sent = bytes(screen.sent)
    ended = all(
        sent.rfind(f"\x1b[?{mode}l".encode()) > sent.rfind(f"\x1b[?{mode}h".encode()) for mode in (2004, 1004)
    )
    return ended and screen.modes == screen.modes_before


def test_what_is_typed_before_the_editor_is_there_is_its_first_input(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("Early bird.")))
    with on_screen(cli, starts=True) as screen:
        screen.wait(lambda: b"\x1b7" in screen.sent)
        assert b"\x1b[?1004h" not in screen.sent, "the first frame came with the editor"
        screen.type("hello there")
        screen.press("enter")
        screen.wait("Early bird.")
        assert sum("hello there" in line for line in screen.scrollback) == 1
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert is_sane(screen)


@pytest.mark.parametrize("term", ["xterm-256color", "dumb"])
def test_enter_before_anything_is_there_sends_what_was_typed(cli: Cli, term: str) -> None:
    cli.script(wire.exchange(wire.text("Early bird.")), wire.exchange(wire.text("And another.")))
    with on_screen(cli, env={"TERM": term}) as screen:
        screen.type("hello there\rand again\r")
        screen.wait("Early bird.")
        screen.wait("And another.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    sent = [body["messages"][-1]["content"][-1]["text"] for body in cli.bodies()]
    assert sent == ["hello there", "and again"]


def test_settings_that_cannot_be_read_end_it_with_their_code_below_the_box(cli: Cli) -> None:
    cli.configure("this is no toml")
    with on_screen(cli) as screen:
        assert screen.ended() == 78
        assert "caliban: " in screen.text
        assert "Traceback" not in screen.text
        assert is_sane(screen)


def test_without_a_key_three_ways_on_are_named_and_the_screen_stays(cli: Cli) -> None:
    cli.extra["ANTHROPIC_API_KEY"] = ""
    with on_screen(cli) as screen:
        screen.wait("Three ways on")
        assert "caliban login" in screen.text
        screen.wait("no key yet")
        screen.press("ctrl+d")
        assert screen.ended() == 78
        assert is_sane(screen)


def test_the_status_line_says_where_and_a_script_of_ones_own_colours_it(cli: Cli) -> None:
    (cli.work / ".git").mkdir()
    (cli.work / ".git" / "HEAD").write_text("ref: refs/heads/topic/one\n")
    status = cli.home / "told.json"
    words = r"\033[31mred\033[2J\033[0m rest\nsecond"
    cli.configure(
        f"[statusLine]\ncommand = 'cat > {status}.new; mv {status}.new {status}; printf \"{words}\"'\n"
    )
    cli.script(wire.exchange(wire.text("Well.")))
    with on_screen(cli, columns=120) as screen:
        screen.wait("(topic/one)")
        screen.wait("red rest")
        assert "second" not in screen.text
        screen.type("hi")
        screen.press("enter")
        screen.wait("Well.")
        wait_until(lambda: json.loads(status.read_text())["context_window"]["total_output_tokens"])
        facts = json.loads(status.read_text())
        assert facts["workspace"]["git_branch"] == "topic/one"
        assert facts["model"]["id"] in screen.text
        (cli.work / ".git" / "HEAD").write_text("ref: refs/heads/other\n")
        screen.press("ctrl+l")
        screen.wait("(other)")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert b"\x1b[2J" not in screen.sent


def test_a_line_behind_an_exclamation_mark_runs_past_the_rules_and_is_no_history(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("I know nothing.")))
    with on_screen(cli, "--deny", "Bash:rm *") as screen:
        screen.wait("anthropic/")
        screen.type("!echo made-$((40+2)); echo oops >&2")
        screen.press("enter")
        screen.wait("made-42")
        screen.wait("oops")
        screen.type("!rm -rf nothing")
        screen.press("enter")
        screen.wait("is not run")
        screen.type("what?")
        screen.press("enter")
        screen.wait("I know nothing.")
        assert "made-42" not in json.dumps(cli.bodies()[-1])
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_an_interrupt_ends_the_shell_and_gives_back_what_waits(
    cli: Cli, is_gone: Callable[[int], bool]
) -> None:
    with on_screen(cli) as screen:
        screen.wait("anthropic/")
        screen.type("!echo $$ > pid; exec sleep 1000")
        screen.press("enter")
        wait_until(lambda: (cli.work / "pid").exists() and (cli.work / "pid").read_text().strip())
        screen.type("and then this")
        screen.press("enter")
        screen.wait("… and then this")
        screen.press("ctrl+c")
        screen.wait("was interrupted")
        screen.wait("> and then this")
        assert is_gone(int((cli.work / "pid").read_text()))
        screen.press("ctrl+c", "ctrl+d")
        assert screen.ended() == 0
        assert cli.bodies() == []


def test_a_note_goes_into_the_file_of_the_project(cli: Cli) -> None:
    (cli.work / "AGENTS.md").write_text("# Rules")
    with on_screen(cli, columns=150) as screen:
        screen.wait("anthropic/")
        screen.type("# tabs are evil")
        screen.press("enter")
        screen.wait("Where does this note go?")
        screen.wait(lambda: LISTENS_LATER not in screen.text)
        screen.press("p")
        screen.wait("noted in")
        assert (cli.work / "AGENTS.md").read_text() == "# Rules\n- tabs are evil\n"
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_shift_tab_goes_through_the_modes_and_names_the_latch(cli: Cli) -> None:
    with on_screen(cli, columns=150) as screen:
        screen.wait("anthropic/")
        for chip in ("accept edits", "plan", "don't ask"):
            screen.press("shift+tab")
            screen.wait(chip)
        screen.press("shift+tab")
        screen.wait("--allow-dangerously-skip-permissions")
        assert "don't ask" not in screen.text.splitlines()[-1]
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_a_signal_ends_it_with_children_and_a_sane_terminal(cli: Cli, is_gone: Callable[[int], bool]) -> None:
    for number, code in ((signal.SIGTERM, 124), (signal.SIGHUP, 124)):
        (cli.work / "pid").unlink(missing_ok=True)
        with on_screen(cli) as screen:
            screen.wait("anthropic/")
            screen.type("!echo $$ > pid; exec sleep 1000")
            screen.press("enter")
            wait_until(lambda: (cli.work / "pid").exists() and (cli.work / "pid").read_text().strip())
            os.kill(screen.process.pid, number)
            assert screen.ended() == code
            assert is_sane(screen)
            assert is_gone(int((cli.work / "pid").read_text()))


def test_what_programs_write_past_the_screen_becomes_a_notice(cli: Cli) -> None:
    with on_screen(cli) as screen:
        screen.wait("anthropic/")
        target = Path(f"/proc/{screen.process.pid}/fd/2")
        target.write_text("a library says \x1b[2Jboo\n")
        screen.wait("a library says")
        assert b"\x1b[2J" not in screen.sent
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_how_to_come_back_is_the_last_line(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("Sure.")))
    with on_screen(cli) as screen:
        screen.wait("anthropic/")
        screen.type("remember me")
        screen.press("enter")
        screen.wait("Sure.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert "caliban --resume" in screen.text
        assert screen.modes[3] == termios.tcgetattr(screen._theirs)[3]


def test_what_a_command_prints_is_seen_while_it_runs(cli: Cli) -> None:
    with on_screen(cli) as screen:
        screen.wait("anthropic/")
        screen.type("!echo half-$((20+1)); until [ -e go ]; do sleep 0.05; done; echo whole-$((40+2))")
        screen.press("enter")
        screen.wait("half-21")
        assert "whole-42" not in screen.text
        (cli.work / "go").touch()
        screen.wait("whole-42")
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_settings_say_how_the_screen_is_used_and_the_end_takes_all_of_it_back(cli: Cli) -> None:
    cli.configure('[tui]\npainter = "full"\nmouse = true\ntitle = true\ntheme = "nosuch"\n')
    cli.script(wire.exchange(wire.text("On the whole screen.")))
    with on_screen(cli) as screen:
        screen.wait("there is no theme")
        screen.wait("anthropic/")
        screen.type("hello")
        screen.press("enter")
        screen.wait("On the whole screen.")
        sent = bytes(screen.sent)
        assert b"\x1b[?1049h" in sent
        assert b"\x1b[?1006h" in sent
        assert b"\x1b]2;caliban" in sent
        screen.type("/tui inline")
        screen.press("enter")
        screen.wait(lambda: b"\x1b[?1049l" in screen.sent)
        screen.wait("On the whole screen.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert is_sane(screen)
        assert screen.sent.rfind(b"\x1b[?1006l") > screen.sent.rfind(b"\x1b[?1006h")
        assert b"\x1b[23;2t" in screen.sent


def switches(pid: int) -> int:
    """How often its threads have gone to sleep so far."""
    states = (status.read_text() for status in Path(f"/proc/{pid}/task").glob("*/status"))
    return sum(int(state.partition("\nvoluntary_ctxt_switches:")[2].split()[0]) for state in states)


@needs_procfs
def test_an_idle_screen_sleeps_and_another_size_wakes_it(cli: Cli) -> None:
    with on_screen(cli) as screen:
        screen.wait("anthropic/")
        before = -1

        def sleeps() -> bool:
            nonlocal before
            time.sleep(IDLE_S)
            last, before = before, switches(screen.process.pid)
            return last == before

        screen.wait(sleeps)
        screen.resize(50, 12)
        screen.wait(lambda: switches(screen.process.pid) > before)
        screen.type("x")
        screen.wait("> x")
        screen.press("ctrl+c", "ctrl+d")
        assert screen.ended() == 0
