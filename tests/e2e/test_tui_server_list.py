"""The list of servers on the terminal follows what happens to them, and keeps what a person does in it."""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

from command_kit import Cli
from mcp_kit import SCRIPT, entry
from screen_kit import on_screen


def started(argument: str) -> dict[str, Any]:
    return {"command": sys.executable, "args": ["-S", "-E", str(SCRIPT), argument]}


def test_the_list_shows_by_itself_that_a_server_is_gone_and_what_was_chosen_stays(cli: Cli) -> None:
    note = cli.work / "alpha.pid"
    echo = {"echo": {"description": "say it"}}
    alpha = cli.work / "alpha.json"
    alpha.write_text(json.dumps({"tools": echo, "note": str(note)}), encoding="utf-8")
    servers = {"alpha": started(f"@{alpha}"), "beta": entry({"tools": echo})}
    flags = ("--mcp-config", json.dumps({"mcpServers": servers}))
    with on_screen(cli, *flags, columns=120, rows=30) as screen:
        screen.wait(" · ")
        screen.type("/mcp")
        screen.wait("> /mcp")
        screen.press("enter")
        screen.wait(lambda: "● alpha  connected" in screen.text and "● beta  connected" in screen.text)
        screen.press("down")
        screen.wait("> ● beta")
        screen.type("/")
        screen.wait("/ ")
        alpha.write_text(json.dumps({"exit": 3}), encoding="utf-8")  # it cannot be started again
        os.kill(int(note.read_text(encoding="utf-8").split()[-1]), signal.SIGKILL)
        screen.wait("○ alpha  failed")
        assert "> ● beta" in screen.text
        screen.type("dq")  # still a letter of the search
        screen.wait("nothing fits")
        screen.press("esc")
        screen.wait("● beta  connected")
        screen.press("esc")
        screen.wait(lambda: "MCP servers" not in screen.text)
        screen.press("ctrl+d")
        assert screen.ended() == 0


def test_the_list_is_used_while_a_server_is_waited_for_and_what_comes_of_it_is_told(cli: Cli) -> None:
    gate = cli.work / "alpha.json"
    gate.write_text(json.dumps({"silent": True}), encoding="utf-8")
    servers = {"alpha": started(f"@{gate}"), "beta": entry({"tools": {"echo": {"description": "say it"}}})}
    flags = ("--mcp-config", json.dumps({"mcpServers": servers}))
    with on_screen(cli, *flags, columns=120, rows=30) as screen:
        screen.wait(" · ")
        screen.type("/mcp")
        screen.wait("> /mcp")
        screen.press("enter")
        screen.wait(lambda: "◐ alpha  pending" in screen.text and "● beta  connected" in screen.text)
        screen.press("r")
        screen.wait("alpha: connecting …")
        screen.press("down")
        screen.wait("> ● beta")
        screen.press("r")
        screen.press("up")
        screen.wait("beta is connected: 1 tool")
        screen.wait("> ◐ alpha")
        screen.press("q")
        screen.wait(lambda: "MCP servers" not in screen.text)
        screen.press("ctrl+d")
        assert screen.ended() == 0
