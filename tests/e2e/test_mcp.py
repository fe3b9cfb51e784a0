"""MCP servers beside a run, through the real command: a real server over pipes, and a scripted model."""

from __future__ import annotations

import json

import pytest
from mcp_kit import given, table

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
STREAM = ("-p", "go", "--output-format", "stream-json")
ECHO = {"tools": {"echo": {"description": "Say it again.", "schema": {"type": "object", "properties": {"text": {"type": "string"}}}}}}


def call(name, args=None, *, id="c1"):
    return wire.exchange(wire.tool_use(name, args or {}, id=id))


def names(cli):
    return [[tool["name"] for tool in body.get("tools", ())] for body in cli.bodies()]


def texts(done):
    return [frame["content"][0]["text"] for frame in done.of("tool_result")]


def test_a_server_of_settings_is_there_with_the_first_request_and_its_tool_runs(cli):
    cli.configure(table("desk", ECHO))
    cli.script(call("mcp__desk__echo", {"text": "hello"}), DONE)
    done = cli.run(*STREAM, "--allow", "mcp__desk__echo")
    assert (done.code, done.frames[-1]["result"]) == (0, "Done."), done.err
    assert done.frames[0]["mcp_servers"] == [{"name": "desk", "status": "connected"}]
    assert names(cli)[0][-1] == "mcp__desk__echo"
    assert texts(done) == ['{"text": "hello"}']
