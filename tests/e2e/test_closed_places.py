"""Folders of somebody else: what is in them is left out and told, or the error says what to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from closed_kit import closed, obey_modes, run_bound
from command_kit import Cli
from screen_kit import on_screen

from caliban_provider_anthropic.testing import wire

if sys.platform == "win32":
    pytest.skip("needs modes of files", allow_module_level=True)

UNFORESEEN = "the system refused"
HINT = "hint: look whose it is, and each folder above it\n"
PARTS = (
    "home/.claude",
    "home/.claude/agents",
    "home/.config/caliban/agents",
    "home/.config/caliban/skills",
    "home/.agents",
    "work/.claude",
    "work/.claude/agents",
    "work/.caliban/agents",
)
STORE = "home/.local/share/caliban/sessions"


def place(cli: Cli, name: str) -> Path:
    return cli.home.parent / name


@pytest.mark.parametrize("name", PARTS)
def test_a_closed_folder_of_parts_costs_no_run_and_is_told(cli: Cli, name: str) -> None:
    cli.script(wire.exchange(wire.text("Hello")))
    with closed(place(cli, name)) as folder:
        done = run_bound(cli, "-p", "hi")
        assert (done.code, done.out, UNFORESEEN in done.err) == (0, "Hello\n", False), done.err
        lines = [line for line in done.err.splitlines() if str(folder) in line]
        assert lines and all("ermission denied" in line for line in lines), done.err
        for words in (("skills", "list"), ("sessions", "list"), ("trust", "show")):
            done = run_bound(cli, *words)
            assert (done.code, UNFORESEEN in done.err) == (0, False), (words, done.err)


@pytest.mark.parametrize("name", ["home/.claude", "work/.claude", "home/.local", STORE])
def test_the_doctor_looks_at_all_else(cli: Cli, name: str) -> None:
    with closed(place(cli, name)):
        done = run_bound(cli, "doctor")
    assert (done.code, UNFORESEEN in done.err) == (1, False), done.err
    assert " local — " in done.out  # the last row


@pytest.mark.parametrize("mode", [0, 0o600])
def test_sessions_that_nobody_may_look_at_are_not_none(cli: Cli, mode: int) -> None:
    cli.script(wire.exchange(wire.text("Hello")))
    assert cli.run("-p", "hi").code == 0
    with closed(place(cli, STORE)) as folder:
        folder.chmod(mode)
        done = run_bound(cli, "sessions", "list")
    expected = f"caliban: cannot look at {folder}: permission denied\n{HINT}"
    assert (done.code, done.out, done.err) == (66, "", expected)


def test_settings_in_a_closed_folder_are_told_with_the_way_on(cli: Cli) -> None:
    settings = cli.configure('model = "one"\n')
    with closed(settings.parent) as folder:
        for words in (("-p", "hi"), ("mcp", "list"), ("plugin", "list"), ("config", "get", "model")):
            done = run_bound(cli, *words)
            expected = f"caliban: cannot look at {folder}/settings.toml: permission denied\n{HINT}"
            assert (done.code, done.err) == (78, expected), words
        for words in (("config", "set", "model", "two"), ("mcp", "add", "x", "--", "true")):
            done = run_bound(cli, *words)
            assert (done.code, UNFORESEEN in done.err, HINT in done.err) == (1, False, True), done.err
    assert settings.read_text() == 'model = "one"\n'


def test_a_home_that_cannot_be_written_is_told_with_the_way_on(cli: Cli) -> None:
    with closed(cli.work / "probe"):
        pass
    plugin = cli.work / "plug" / ".claude-plugin" / "plugin.json"
    plugin.parent.mkdir(parents=True)
    plugin.write_text('{"name": "plug", "version": "1.0.0"}')
    with closed(cli.home, 0o500):
        for words in (
            ("config", "set", "model", "two"),
            ("mcp", "add", "x", "--", "true"),
            ("plugin", "install", "--dir", str(plugin.parents[1])),
        ):
            done = run_bound(cli, *words)
            assert (done.code, HINT in done.err) == (1, True), (words, done.err)
        assert list(cli.home.iterdir()) == []


def test_the_screen_opens_beside_a_closed_folder_and_says_so(cli: Cli) -> None:
    cli.script(wire.exchange(wire.text("Hello")))
    with (
        closed(place(cli, "home/.claude")) as folder,
        on_screen(cli, columns=200, rows=30, prepare=obey_modes) as screen,
    ):
        screen.wait("anthropic/")
        screen.wait(f"the agents in {folder}/agents: Permission denied")
        screen.type("hi")
        screen.press("enter")
        screen.wait("Hello")
        screen.press("ctrl+d")
        assert screen.ended() == 0
