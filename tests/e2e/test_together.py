"""Plugins, MCP servers, hooks, settings and rules beside each other, through the real command."""

from __future__ import annotations

import json
from pathlib import Path

import mcp_kit
import plugin_kit as kit

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
STREAM = ("-p", "go", "--output-format", "stream-json")
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
ECHO = {"tools": {"echo": {"description": "Say it again.", "schema": TEXT}}}
ECHO_NAME = "mcp__plugin_kit_db__echo"
RULED = ("--allow", ECHO_NAME)


def call(name, args=None, *, id="c1"):
    return wire.exchange(wire.tool_use(name, args or {}, id=id))


def texts(done):
    return [frame["content"][0].get("text") for frame in done.of("tool_result")]


def offered(body) -> list[str]:
    return [tool["name"] for tool in body.get("tools", ()) if tool["name"].startswith("mcp__")]


def plugin(folder: Path, *, name="kit", more=None, **servers) -> Path:
    """A plugin with these servers, whose program lies in it."""
    entries = {server: mcp_kit.entry(what) for server, what in servers.items()}
    for one in entries.values():
        one["args"][2] = "${CLAUDE_PLUGIN_ROOT}/server.py"
        one["env"] = {"PLACE": "${CALIBAN_PLUGIN_ROOT}"}
    files = {
        ".claude-plugin/plugin.json": json.dumps({"name": name, "version": "1.0.0", "description": "a kit"}),
        ".mcp.json": json.dumps({"mcpServers": entries}),
        "server.py": mcp_kit.SCRIPT.read_text(),
        **(more or {}),
    }
    return kit.write(folder, files)


def installed(cli, folder: Path) -> None:
    done = cli.run("plugin", "install", "--dir", str(folder), "--yes")
    assert done.code == 0, done.err


def test_the_server_of_an_installed_plugin_is_started_and_its_tool_runs(cli, tmp_path):
    installed(cli, plugin(tmp_path / "kit", db=ECHO))
    cli.script(call(ECHO_NAME, {"text": "hello"}), DONE)
    done = cli.run(*STREAM, *RULED)
    assert (done.code, done.frames[-1]["result"]) == (0, "Done."), done.err
    assert done.frames[0]["mcp_servers"] == [{"name": "kit:db", "status": "connected"}]
    assert offered(cli.bodies()[0]) == [ECHO_NAME]
    assert texts(done) == ['{"text": "hello"}']
    assert "not started" not in done.err

    listed = cli.run("mcp", "list", "--json")
    row = json.loads(listed.out)
    assert (row["name"], row["scope"], row["state"], row["tools"]) == ("kit:db", "plugin", "", 1), listed.err
    assert row["place"].endswith(".mcp.json: `db`")
    doctor = cli.run("mcp", "doctor", "kit:db")
    assert (doctor.code, "1 tool" in doctor.out) == (0, True), doctor.out
    assert "kit:db (would be used)" in cli.run("doctor").out
