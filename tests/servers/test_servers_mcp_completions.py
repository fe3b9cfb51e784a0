"""Servers that nobody here wrote say in the menu how an argument could go on: the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from screen_kit import on_screen
from test_servers_mcp_wire import command, need

from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.servers


def config(name: str, folder: Path) -> tuple[str, str]:
    argv = command(name, folder)
    need(Path(argv[1] if argv[0] == "node" else argv[0]))
    servers = {"theirs": {"command": argv[0], "args": argv[1:], "cwd": str(folder)}}
    return "--mcp-config", json.dumps({"mcpServers": servers})


def said(cli) -> str:
    return json.dumps([body["messages"] for body in cli.bodies()])


def test_a_server_of_the_typescript_kit_narrows_one_argument_by_another(cli):
    cli.script(wire.exchange(wire.text("Done.")))
    with on_screen(cli, *config("everything", cli.work), columns=120) as screen:
        screen.wait(" · ")
        screen.type("/mcp__theirs__completable-prompt S")
        screen.wait("  Sales")
        screen.press("down")
        screen.wait("› Sales")
        screen.press("tab")
        screen.wait("completable-prompt Sales")
        screen.type(" E")
        screen.wait("  Eve")
        screen.press("down", "tab")
        screen.wait("> /mcp__theirs__completable-prompt Sales Eve")
        screen.press("enter")
        screen.wait("Done.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert "promote Eve to the head of the Sales team" in said(cli)


@pytest.mark.parametrize("name", ["python-2", "python-1"])
def test_a_server_of_the_python_kit_completes_a_prompt_and_a_template(cli, name):
    cli.script(wire.exchange(wire.text("Done.")), wire.exchange(wire.text("Read.")))
    with on_screen(cli, *config(name, cli.work), columns=120) as screen:
        screen.wait(" · ")
        screen.type("/mcp__theirs__greet Ad")
        screen.wait("  Adam")
        screen.press("down", "down", "tab")
        screen.wait("> /mcp__theirs__greet Adam")
        screen.press("enter")
        screen.wait("Done.")
        screen.type("see @theirs:demo://B")
        screen.wait("  theirs:demo://Bob")
        screen.press("down", "tab")
        screen.wait("> see @theirs:demo://Bob")
        screen.press("enter")
        screen.wait("Read.")
        screen.press("ctrl+d")
        assert screen.ended() == 0
    assert "Hello Adam" in said(cli) and "it is Bob" in said(cli)
