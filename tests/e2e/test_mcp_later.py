"""A server whose tools are remembered begins behind the first request, through the real command."""

from __future__ import annotations

from mcp_kit import table

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
