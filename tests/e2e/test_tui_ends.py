"""Stopping, hanging up and dying: the terminal is sane, children are gone, the session is whole."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from command_kit import Cli
from hang_guard import HANG_S, wait_until
from screen_kit import Screen, on_screen
from starts_kit import TRUE_START

from caliban_provider_anthropic.testing import wire


class ShellWindow:
    """A window of tmux with a shell that controls jobs; the terminal's modes before are in `before`."""

    def __init__(self, cli: Cli, folder: Path) -> None:
        self._socket = str(folder / "s")
        shell = [
            "env",
            "-i",
            *(f"{name}={value}" for name, value in cli.env.items()),
            "TERM=screen-256color",
            "PS1=ready: ",
        ]
        shell += ["bash", "--norc", "--noprofile", "-i"]
        self.run(
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
            "-c",
            str(cli.work),
            shlex.join(shell),
        )

    def run(self, *args: str) -> str:
        command = ["tmux", "-S", self._socket, *args]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_S).stdout

    def type(self, *keys: str) -> None:
        self.run("send-keys", *keys)

    @property
    def text(self) -> str:
        return self.run("capture-pane", "-p", "-S", "-")

    def wait(self, words: str, count: int = 1) -> None:
        end_s = time.monotonic() + HANG_S / 5
        while self.text.count(words) < count:
            assert time.monotonic() < end_s, f"{words!r} does not come:\n{self.text}"
            time.sleep(0.05)


@pytest.fixture
def window(cli: Cli, tmp_path: Path) -> Iterator[ShellWindow]:
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed")
    shown = ShellWindow(cli, tmp_path)
    yield shown
    subprocess.run(["tmux", "-S", str(tmp_path / "s"), "kill-server"], capture_output=True, check=False)


def test_ctrl_z_stops_it_as_a_job_and_fg_goes_on(cli: Cli, window: ShellWindow) -> None:
    cli.script(wire.exchange(wire.text("Still here.")))
    window.wait("ready:")
    window.type("stty -a > before", "Enter")
    window.type(shlex.join(TRUE_START), "Enter")
    window.wait("anthropic/")
    window.type("half a thought")
    window.wait("> half a thought")
    window.type("C-z")
    window.wait("Stopped")
    window.type("stty -a > after; echo as-$((6*7))", "Enter")
    window.wait("as-42")
    assert (cli.work / "after").read_text() == (cli.work / "before").read_text()
    window.type("fg", "Enter")
    window.wait("anthropic/")
    window.type(" and more", "Enter")
    window.wait("Still here.")
    window.type("C-d")
    window.wait("caliban --resume")
    window.type("echo back-$((6*7))", "Enter")
    window.wait("back-42")


def start_sleep(cli: Cli, screen: Screen) -> int:
    """Let a line of the shell sleep; its process."""
    screen.wait("anthropic/")
    screen.type("!echo $$ > pid; exec sleep 1000")
    screen.press("enter")
    place = cli.work / "pid"
    wait_until(lambda: place.exists() and place.read_text().strip())
    return int(place.read_text())


def test_a_window_that_is_closed_takes_the_children_with_it(
    cli: Cli, window: ShellWindow, is_gone: Callable[[int], bool]
) -> None:
    window.wait("ready:")
    window.type(f"exec {shlex.join(TRUE_START)}", "Enter")
    window.wait("anthropic/")
    window.type("!echo $PPID $$ > pid; exec sleep 1000", "Enter")
    place = cli.work / "pid"
    wait_until(lambda: place.exists() and place.read_text().strip())
    window.run("kill-server")
    for process in place.read_text().split():
        assert is_gone(int(process))


def test_a_killed_one_leaves_a_session_that_goes_on(cli: Cli, is_gone: Callable[[int], bool]) -> None:
    cli.script(wire.exchange(wire.text("First answer.")), wire.exchange(wire.text("Second answer.")))
    with on_screen(cli, "--session", "kept") as screen:
        screen.wait("anthropic/")
        screen.type("first question")
        screen.press("enter")
        screen.wait("First answer.")
        child = start_sleep(cli, screen)
        os.kill(screen.process.pid, signal.SIGKILL)
        screen.process.wait(HANG_S)
        assert is_gone(child)
    with on_screen(cli, "--continue") as screen:
        screen.wait("First answer.")
        screen.wait("anthropic/")
        screen.type("second question")
        screen.press("enter")
        screen.wait("Second answer.")
        assert "first question" in json.dumps(cli.bodies()[-1])
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert "caliban --resume kept" in screen.text


def test_another_session_opens_below_the_same_screen_and_a_wrong_one_changes_nothing(cli: Cli) -> None:
    answers = ("In two.", "In one.", "In two again.")
    cli.script(*(wire.exchange(wire.text(answer)) for answer in answers))
    assert cli.run("--session", "two", "-p", "to two").code == 0
    with on_screen(cli, "--session", "one", columns=120) as screen:
        screen.wait("anthropic/")
        screen.type("to one")
        screen.press("enter")
        screen.wait("In one.")
        screen.type("/resume nosuch")
        screen.press("enter")
        screen.wait("no session here is like")
        screen.type("/resume two")
        screen.press("enter")
        screen.wait("In two.")
        screen.type("to two again")
        screen.press("enter")
        screen.wait("In two again.")
        sent = json.dumps(cli.bodies()[-1])
        assert "to two" in sent
        assert "In one." not in sent
        screen.press("ctrl+d")
        assert screen.ended() == 0
        assert "caliban --resume two" in screen.text


def test_who_leaves_while_a_prompt_is_at_work_is_told_how_it_ended_and_how_to_come_back(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("I wait."), wire.tool_use("Bash", {"command": "sleep 600"})))
    with on_screen(cli, "--session", "kept", "--allow", "Bash:sleep *") as screen:
        screen.wait("anthropic/")
        screen.type("go")
        screen.press("enter")
        screen.wait("sleep 600")
        screen.press("ctrl+d")
        assert screen.ended() == 0
        last = [line for line in screen.lines if line]
    assert last[-1] == "caliban --resume kept goes on with this conversation"
    assert "interrupted" in last
