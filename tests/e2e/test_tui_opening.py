"""Keys behind a command that opens something wait for it; what takes long says so, and can be interrupted."""

from __future__ import annotations

import inspect
import json
import re
import shlex
import sys
import threading
from pathlib import Path

import pytest
from command_kit import Cli
from screen_kit import Screen, on_screen

from caliban.slash.table import BUILT_IN, HELP
from caliban_provider.testing.exchange import Exchange, Pause
from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs a pseudo-terminal", allow_module_level=True)

READY = "anthropic/"
BUSY = "esc interrupts"
SESSIONS = "Sessions of this workspace"


def gated(cli: Cli, command: str) -> Path:
    """A hook holds up the command until the file is there."""
    gate = cli.work.parent / "gate"
    place = shlex.quote(str(gate))
    waits = f"touch {place}.asked; until [ -e {place} ]; do sleep 0.02; done"
    line = f'case "$(cat)" in */{command}*) {waits};; esac'
    group = {"matcher": "", "hooks": [{"type": "command", "command": line, "timeout": 3600}]}
    path = cli.home / ".config" / "caliban" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {"UserPromptSubmit": [group]}}))
    return gate


def asked(gate: Path) -> bool:
    return Path(f"{gate}.asked").exists()


def sent(screen: Screen, line: str) -> None:
    screen.type(line)
    screen.wait(lambda: line in screen.text)
    screen.press("enter")


def leave(screen: Screen) -> None:
    screen.wait(lambda: BUSY not in screen.text)
    screen.press("ctrl+d")
    assert screen.ended() == 0


def two_sessions(cli: Cli) -> None:
    for name in ("first", "second"):
        cli.script(wire.exchange(wire.text(f"The {name} answer.")))
        assert cli.run("-p", f"the {name} question", "--session", name).code == 0


def test_every_command_that_opens_something_says_so() -> None:
    opening = {
        row.name
        for row in BUILT_IN
        if row.run and re.search(r"OpenView\(|ShownChoice\(", inspect.getsource(row.handler()))
    }
    assert "resume" in opening
    assert opening | {HELP} == {row.name for row in BUILT_IN if row.opens} | {HELP}


def test_keys_typed_behind_resume_go_to_the_list_once_it_is_open(cli: Cli) -> None:
    two_sessions(cli)
    gate = gated(cli, "resume")
    with on_screen(cli, columns=120) as screen:
        screen.wait(READY)
        sent(screen, "/resume")
        screen.wait(lambda: asked(gate))
        screen.press("/")
        screen.type("first")
        screen.press("enter")
        screen.type("go on")
        screen.wait("what you type waits until this is there")
        assert SESSIONS not in screen.text and "> /first" not in screen.text
        gate.touch()
        screen.wait("The first answer.")
        screen.wait("> go on")
        assert len(cli.bodies()) == 2, "a key was taken for a prompt"
        screen.press("ctrl+c")
        screen.wait(lambda: "go on" not in screen.lines[screen.cursor[0]])
        leave(screen)


def test_keys_typed_at_once_are_those_of_the_list(cli: Cli) -> None:
    two_sessions(cli)
    with on_screen(cli, columns=120) as screen:
        screen.wait(READY)
        screen.type("/resume")
        screen.wait("> /resume")
        screen.type("\r/second\r")
        screen.wait("The second answer.")
        assert len(cli.bodies()) == 2
        leave(screen)


def test_what_is_typed_behind_the_name_of_a_session_is_said_in_it(cli: Cli) -> None:
    two_sessions(cli)
    cli.script(wire.exchange(wire.text("It goes on.")))
    with on_screen(cli, columns=120) as screen:
        screen.wait(READY)
        screen.type("/resume first")
        screen.wait("> /resume first")
        screen.type("\rand more\r")
        screen.wait("It goes on.")
        leave(screen)
    messages = json.dumps(cli.bodies()[-1]["messages"])
    assert "the first question" in messages and "and more" in messages


def test_keys_typed_before_anything_is_open_wait_for_the_list_as_well(cli: Cli) -> None:
    two_sessions(cli)
    with on_screen(cli, columns=120) as screen:
        screen.type("/resume\r/first\r")
        screen.wait("The first answer.")
        assert len(cli.bodies()) == 2
        leave(screen)


def test_what_opens_nothing_leaves_words_in_the_draft_and_does_nothing_else(cli: Cli) -> None:
    gate = gated(cli, "effort")
    cli.script(wire.exchange(wire.text("An answer.")))
    with on_screen(cli, columns=120) as screen:
        screen.wait(READY)
        sent(screen, "hello")
        screen.wait("An answer.")
        sent(screen, "/effort")
        screen.wait(lambda: asked(gate))
        screen.press("up", "enter")
        screen.type("words to kex")
        screen.press("backspace")
        screen.type("ep")
        screen.wait("what you type waits")
        screen.press("ctrl+c")
        screen.wait("/effort was interrupted")
        screen.wait("> words to keep")
        screen.press("ctrl+c")
        screen.wait(lambda: "> words to keep" not in screen.text)
        leave(screen)
    assert len(cli.bodies()) == 1


def test_a_list_that_was_waited_for_opens_only_when_nobody_writes_and_the_prompt_behind_it_waits(
    cli: Cli,
) -> None:
    two_sessions(cli)
    answer = wire.exchange(wire.text("The long answer."))
    more = threading.Event()
    cli.script(
        Exchange(headers=answer.headers, steps=(Pause(more), *answer.steps)),
        wire.exchange(wire.text("Said in the other one.")),
    )
    with on_screen(cli, "--session", "third", columns=120) as screen:
        screen.wait(READY)
        sent(screen, "a question")
        screen.wait(BUSY)
        sent(screen, "/resume")
        screen.wait("… /resume")
        screen.type("for the chosen one")
        screen.wait("> for the chosen one")
        screen.press("tab")  # it waits behind the list
        screen.wait("… for the chosen one")
        more.set()
        screen.wait(SESSIONS)
        screen.press("/")
        screen.type("first")
        screen.press("enter")
        screen.wait("Said in the other one.")
        leave(screen)
    messages = json.dumps(cli.bodies()[-1]["messages"])
    assert "the first question" in messages and "for the chosen one" in messages


def test_a_command_that_takes_long_says_so_and_is_interrupted(cli: Cli) -> None:
    gate = gated(cli, "doctor")
    cli.script(wire.exchange(wire.text("An answer.")))
    with on_screen(cli, columns=120) as screen:
        screen.wait(READY)
        sent(screen, "/doctor")
        screen.wait(lambda: asked(gate))
        screen.wait(BUSY)
        screen.press("esc")
        screen.wait("esc again interrupts")
        screen.press("esc")
        screen.wait("/doctor was interrupted")
        screen.wait(lambda: BUSY not in screen.text)
        sent(screen, "hello")
        screen.wait("An answer.")
        leave(screen)


def test_a_doctor_whose_server_does_not_answer_is_interrupted(cli: Cli) -> None:
    never = threading.Event()
    answer = wire.exchange(wire.text("An answer."))
    cli.script(Exchange(headers=answer.headers, steps=(Pause(never), *answer.steps)))
    with on_screen(cli, columns=120) as screen:
        screen.wait(READY)
        sent(screen, "/doctor")
        screen.wait(BUSY)
        screen.press("ctrl+c")
        screen.wait("/doctor was interrupted")
        leave(screen)
    never.set()
