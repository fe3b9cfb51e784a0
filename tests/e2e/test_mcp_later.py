"""A server whose tools are remembered begins behind the first request, through the real command."""

from __future__ import annotations

import json
import sys
import time

from hang_guard import HANG_S
from mcp_kit import SCRIPT, table

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
STREAM = ("-p", "go", "--output-format", "stream-json")
ECHO = {"tools": {"echo": {"description": "Say it again.", "schema": {"type": "object"}}}}


def test_one_that_is_remembered_is_offered_at_once_and_begins_without_being_asked(cli, tmp_path):
    note = tmp_path / "pids"
    cli.configure(table("desk", {**ECHO, "note": str(note)}))
    cli.script(DONE)
    first = cli.run(*STREAM)
    assert first.frames[0]["mcp_servers"] == [{"name": "desk", "status": "connected"}], first.err
    starts = len(note.read_text().split())

    wait = f'until [ "$(wc -w < {note})" -gt {starts} ]; do sleep 0.05; done; echo begun'
    cli.script(wire.exchange(wire.tool_use("Bash", {"command": wait}, id="c1")), DONE)
    second = cli.run(*STREAM, "--allow", "Bash")
    assert second.code == 0, second.err
    assert second.frames[0]["mcp_servers"] == [{"name": "desk", "status": "pending"}]
    assert any(tool["name"] == "mcp__desk__echo" for tool in cli.bodies()[1]["tools"])
    assert ["Stdout:\nbegun\n" in frame["content"][0]["text"] for frame in second.of("tool_result")] == [True]


def test_what_is_remembered_for_long_is_waited_for_once_a_week(cli, tmp_path):
    """Runs that always end before their servers have answered would offer an old list for ever."""
    what = tmp_path / "what.json"
    what.write_text(json.dumps(ECHO))
    server = {"command": sys.executable, "args": ["-S", "-E", str(SCRIPT), f"@{what}"]}
    servers = ("--mcp-config", json.dumps({"mcpServers": {"desk": server}}))
    cli.script(DONE, DONE, DONE, DONE)
    cli.configure(f"mcp_wait = {HANG_S}\n")
    assert cli.run(*STREAM, *servers).code == 0
    [kept] = (cli.home / ".cache" / "caliban" / "mcp").glob("*.json")

    what.write_text(json.dumps({"tools": {**ECHO["tools"], "more": {"description": "More."}}}))
    age(kept, 8)
    second = cli.run(*STREAM, *servers)
    assert second.frames[0]["mcp_servers"] == [{"name": "desk", "status": "connected"}], second.err

    what.write_text(json.dumps({"silent": True}))
    age(kept, 8)
    cli.configure("mcp_wait = 0\n")
    third = cli.run(*STREAM, *servers)
    assert (third.frames[0]["mcp_servers"], "are not there yet" in third.err) == (
        [{"name": "desk", "status": "pending"}],
        False,
    )
    cli.configure(f"mcp_wait = {HANG_S}\n")
    assert cli.run(*STREAM, *servers).code == 0  # nobody waits for it again
    offered = [[tool["name"] for tool in body["tools"]] for body in cli.bodies()]
    has = [[name in names for name in ("mcp__desk__echo", "mcp__desk__more")] for names in offered]
    assert has == [[True, False], [True, True], [True, True], [True, True]]


def age(kept, days):
    entry = json.loads(kept.read_bytes())
    kept.write_text(json.dumps({**entry, "saved_at": time.time() - days * 24 * 3600}))
