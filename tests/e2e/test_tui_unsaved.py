"""What a person changes where nothing can be written holds for the session; that is said, with the reason."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from closed_kit import closed, obey_modes
from command_kit import Cli
from screen_kit import Screen, on_screen

if sys.platform == "win32":
    pytest.skip("needs modes of files", allow_module_level=True)

READY = "anthropic/"
READ_ONLY = 0o500


def command(screen: Screen, line: str) -> None:
    screen.wait(READY)
    screen.type(line)
    screen.wait(lambda: line in screen.text)
    screen.press("enter")


def leave(screen: Screen) -> None:
    screen.press("ctrl+d")
    assert screen.ended() == 0


@pytest.fixture
def bound(cli: Cli) -> Iterator[Callable[..., object]]:
    """The command on a screen, as somebody whom the modes of files bind."""
    with closed(cli.home.parent / "tried"):
        pass
    yield lambda *args, **options: on_screen(cli, *args, prepare=obey_modes, columns=160, rows=30, **options)


def test_a_theme_is_saved_and_is_there_at_the_next_start(cli: Cli) -> None:
    file = cli.home / ".config" / "caliban" / "settings.toml"
    with on_screen(cli, columns=160) as screen:
        command(screen, "/theme light")
        screen.wait(f"theme: light, saved in {file}")
        command(screen, "/theme dark")
        screen.wait(f"theme: dark, saved in {file}")
        command(screen, "/theme light")
        screen.wait(lambda: screen.text.count("theme: light, saved in") == 2)
        assert "count from now on" not in screen.text
        leave(screen)
    assert 'theme = "light"' in file.read_text()
    assert cli.run("config", "get", "tui.theme").out.strip().strip('"') == "light"


def test_a_theme_that_a_project_outranks_is_said_to_be(cli: Cli) -> None:
    cli.run("config", "set", "tui.theme", "dark", "--scope", "project")
    cli.run("trust", "add", "--yes")
    with on_screen(cli, columns=160) as screen:
        command(screen, "/theme light")
        screen.wait("saved in ")
        screen.wait("counts before this one")
        leave(screen)


def test_a_theme_that_cannot_be_saved_holds_for_this_session_and_says_why(
    cli: Cli, bound: Callable[..., object]
) -> None:
    with closed(cli.home / ".config" / "caliban", READ_ONLY) as folder, bound() as screen:
        command(screen, "/theme light")
        screen.wait("theme: light, for this session only: it is not saved: ")
        screen.wait("ermission denied")
        leave(screen)
    assert not list(folder.iterdir())


def test_a_file_that_is_read_only_is_left_alone(cli: Cli, bound: Callable[..., object]) -> None:
    file = cli.configure("max_turns = 5\n")
    file.chmod(0o444)
    with bound() as screen:
        command(screen, "/theme light")
        screen.wait("theme: light, for this session only: it is not saved: ")
        screen.wait("is read-only")
        command(screen, "/config max_turns 9")
        screen.wait("is read-only")
        leave(screen)
    assert file.read_text() == "max_turns = 5\n"


def test_a_theme_is_not_lost_where_settings_are_json(cli: Cli) -> None:
    file = cli.home / ".config" / "caliban" / "settings.json"
    file.parent.mkdir(parents=True)
    file.write_text("{}")
    with on_screen(cli, columns=160) as screen:
        command(screen, "/theme light")
        screen.wait("theme: light, for this session only: it is not saved: ")
        screen.wait("JSON is read but not written")
        leave(screen)


def test_a_broken_theme_is_not_saved(cli: Cli) -> None:
    folder = cli.home / ".config" / "caliban" / "themes"
    folder.mkdir(parents=True)
    (folder / "mine.toml").write_text("base = 3\n")
    with on_screen(cli, columns=160) as screen:
        command(screen, "/theme mine")
        screen.wait("mine.toml")
        leave(screen)
    assert not (folder.parent / "settings.toml").exists()


def test_a_setting_that_cannot_be_written_is_refused_with_the_reason(
    cli: Cli, bound: Callable[..., object]
) -> None:
    with closed(cli.home / ".config" / "caliban", READ_ONLY), bound() as screen:
        command(screen, "/config max_turns 9")
        screen.wait("ermission denied")
        command(screen, "/config")
        screen.wait("changes go to: user, ")
        screen.type("/tui.mouse\r")
        screen.wait("ermission denied")
        screen.press("esc")
        screen.wait(lambda: "/ tui.mouse" not in screen.text)
        screen.press("q")
        screen.wait(lambda: "changes go to" not in screen.text)
        leave(screen)


def test_a_rule_that_cannot_be_taken_out_says_so_in_the_list(cli: Cli, bound: Callable[..., object]) -> None:
    folder = cli.home / ".config" / "caliban"
    cli.configure('[[permissions.rules]]\npattern = "Bash:rm *"\naction = "deny"\n')
    with closed(folder, READ_ONLY), bound() as screen:
        command(screen, "/permissions")
        screen.wait("deny  Bash:rm *")
        screen.press("d")
        screen.wait("Delete deny Bash:rm * from ")
        screen.press("down", "enter")
        screen.wait("ermission denied")
        screen.wait("deny  Bash:rm *")
        screen.press("q")
        screen.wait(lambda: "next mode" not in screen.text)
        leave(screen)


def test_a_project_is_trusted_for_the_session_where_that_cannot_be_saved(
    cli: Cli, bound: Callable[..., object]
) -> None:
    place = cli.work / ".caliban" / "settings.toml"
    place.parent.mkdir()
    place.write_text('[[permissions.rules]]\npattern = "Bash:ls"\naction = "allow"\n')
    with closed(trust_folder(cli), READ_ONLY), bound() as screen:
        screen.wait("Do you trust this project?")
        screen.wait(lambda: "listens once" not in screen.text)
        screen.press("y")
        screen.wait("trusted for this session only")
        screen.wait("ermission denied")
        screen.wait(READY)
        leave(screen)


def trust_folder(cli: Cli) -> Path:
    """The folder in which consents are kept."""
    folder = cli.home / ".local" / "share" / "caliban" / "trust"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
