"""`/config` and `/mcp` as lists on the terminal, through the real command; without one they print."""

from __future__ import annotations

import json
import urllib.request

from command_kit import Cli
from hang_guard import HANG_S
from login_kit import served
from mcp_kit import given
from screen_kit import Screen, on_screen

from caliban_mcp_client.testing.oauth import OAuthRules

ECHO = {"tools": {"echo": {"description": "say it"}}}


def opened(screen: Screen, line: str, words: str) -> str:
    screen.wait(" · ")
    screen.type(line)
    screen.wait(line)
    screen.press("enter")
    return screen.wait(words)


def leave(screen: Screen) -> None:
    screen.press("q")
    screen.wait(lambda: "q closes" not in screen.text and "changes go to" not in screen.text)
    screen.press("ctrl+d")
    assert screen.ended() == 0


def test_settings_are_searched_toggled_typed_and_taken_out_in_the_file_that_is_named(cli: Cli) -> None:
    own = cli.home / ".config" / "caliban" / "settings.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text('# mine\nmax_turns = 5\n[env]\nMY_TOKEN = "sk-abcdefghijklmnop"\n', encoding="utf-8")
    with on_screen(cli, columns=200, rows=30) as screen:
        text = opened(screen, "/config", "changes go to: user, ")
        assert str(own) in text and "max_turns = 5  user " in text and "sk-abcdef" not in text
        screen.type("/tui.mouse")
        screen.wait("/ tui.mouse")
        screen.wait(lambda: "max_turns" not in screen.text)
        screen.press("enter")
        screen.wait("tui.mouse is set in ")
        screen.wait("> tui.mouse = true")
        screen.press("enter")
        screen.wait("> tui.mouse = false")
        screen.press("tab")
        screen.wait("changes go to: project, ")
        screen.press("esc")
        screen.wait(lambda: "/ tui.mouse" not in screen.text and "max_turns = 5" in screen.text)
        screen.type("/max_turns")
        screen.wait("/ max_turns")
        screen.press("enter")
        screen.wait("max_turns, in project")
        screen.type("\x15lots")
        screen.wait("> lots")
        screen.press("enter")
        screen.wait("max_turns` must be ")
        screen.press("enter")
        screen.wait("max_turns, in project")
        screen.type("\x159")
        screen.wait("> 9")
        screen.press("enter")
        screen.wait("max_turns: no effect until this project is trusted")
        assert "> max_turns = 5  user " in screen.text
        kept = cli.work / ".caliban" / "settings.toml"
        assert "max_turns = 9" in kept.read_text(encoding="utf-8")
        screen.press("esc")
        screen.wait(lambda: "/ max_turns" not in screen.text and "tui.mouse" in screen.text)
        screen.type("u")
        screen.wait("max_turns is no longer set in ")
        leave(screen)
    text = own.read_text(encoding="utf-8")
    assert text.startswith("# mine\nmax_turns = 5\n") and "mouse = false" in text
    assert "max_turns" not in kept.read_text(encoding="utf-8")
    printed = cli.run("-p", "/config").out
    assert "max_turns = 5" in printed and "/config KEY VALUE sets one" in printed


def test_a_server_is_seen_switched_off_and_on_and_connected_anew(cli: Cli) -> None:
    flags = ("--mcp-config", given(desk=ECHO, lost={"exit": 3}))
    with on_screen(cli, *flags, columns=120, rows=30) as screen:
        opened(screen, "/mcp", "● desk  connected · 1 tool")  # before that there may be no row to be chosen
        screen.press("r")
        screen.wait("desk is connected: 1 tool")
        assert "● desk" in screen.text
        screen.press("d")
        screen.wait("desk is off in this session")
        screen.wait("○ desk  disabled")
        screen.press("r")
        screen.wait("d switches it on")
        screen.press("d")
        screen.wait("● desk  connected · 1 tool")
        screen.press("q")
        screen.wait(lambda: "MCP servers" not in screen.text)
        screen.press("ctrl+d")
        assert screen.ended() == 0
    printed = cli.run("-p", "/mcp", *flags).out
    assert "Server  State" in printed and "desk" in printed and "enter ·" not in printed


def test_one_logs_in_to_a_server_from_the_list_and_has_its_tools_then(cli: Cli) -> None:
    with served(OAuthRules()) as world:
        cli.configure(f'[mcp_servers.notes]\nurl = "{world.url}"\n')
        with on_screen(cli, columns=160, rows=40) as screen:
            opened(screen, "/mcp", "notes")
            screen.press("l")
            screen.wait("paste that address here")
            rows = [row.strip() for row in screen.lines]
            first = next(place for place, row in enumerate(rows) if row.startswith("http"))
            address = "".join(rows[first : rows.index("", first)])
            with urllib.request.urlopen(world.browse(address), timeout=HANG_S) as page:
                page.read()
            screen.wait("logged in to the MCP server notes")
            screen.wait(" · ")
            opened(screen, "/mcp", "● notes  connected")
            screen.press("q")
            screen.wait(lambda: "MCP servers" not in screen.text)
            screen.press("ctrl+d")
            assert screen.ended() == 0
    tokens = json.loads((cli.home / ".local/share/caliban/mcp-tokens.json").read_text(encoding="utf-8"))
    assert len(tokens["keys"]) == 1
    assert b"access_token" not in bytes(screen.sent)


def test_a_login_without_a_terminal_says_where_it_is_done(cli: Cli) -> None:
    done = cli.run("-p", "/mcp login notes")
    assert done.code != 0 and "caliban mcp login notes is for a shell" in done.err
