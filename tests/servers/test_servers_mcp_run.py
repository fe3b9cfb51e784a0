"""Each tool of servers that nobody here wrote, called through the real command by a scripted model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from test_servers_mcp_wire import CALLS, command, need

from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.servers

SLOW = {"duration": 0.1, "steps": 1}
"""What keeps a tool for long operations from taking its time."""


def sample(schema: Any, name: str) -> Any:
    """A value that fits, as far as a schema says what does."""
    if not isinstance(schema, Mapping):
        return "x"
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return sample(schema[key][0], name)
    match schema.get("type"):
        case "integer" | "number":
            return SLOW.get(name, 1)
        case "boolean":
            return False
        case "array":
            return []
        case "object":
            return arguments(schema)
        case _:
            return "x"


def arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a tool needs, and whatever would make it quicker."""
    properties = schema.get("properties") or {}
    named = {*(schema.get("required") or ()), *(SLOW.keys() & properties.keys())}
    return {name: SLOW.get(name, sample(properties.get(name), name)) for name in named}


@pytest.mark.parametrize("name", CALLS)
def test_every_tool_of_a_server_answers_through_the_real_command(cli, name, tmp_path):
    argv = command(name, cli.work)
    need(Path(argv[1] if argv[0] == "node" else argv[0]))
    servers = {"theirs": {"command": argv[0], "args": argv[1:], "cwd": str(cli.work)}}
    config = ("--mcp-config", json.dumps({"mcpServers": servers}))
    examined = cli.run("mcp", "doctor", "theirs", *config, "--json")
    (row,) = map(json.loads, examined.out.splitlines())
    assert examined.code == 0 and row["tools"], examined.out
    flags = ("-p", "go", "--output-format", "stream-json", *config, "--allow", "mcp__theirs__*")
    eager = ("--settings", '{"mcp_wait": 120, "tools": {"lazy_mcp": false}}')
    cli.script(wire.exchange(wire.text("Ready.")))
    first = cli.run(*flags, *eager)
    assert first.frames[0]["mcp_servers"] == [{"name": "theirs", "status": "connected"}], first.err
    offered = [tool for tool in cli.bodies()[0]["tools"] if tool["name"].startswith("mcp__theirs__")]
    assert len(offered) == len(row["tools"])
    calls = [wire.tool_use(tool["name"], arguments(tool["input_schema"]), id=f"c{number}")
             for number, tool in enumerate(offered)]  # fmt: skip
    cli.script(wire.exchange(*calls), wire.exchange(wire.text("Done.")))
    done = cli.run(*flags, *eager)
    assert (done.code, done.frames[-1]["result"]) == (0, "Done."), done.err
    results = done.of("tool_result")
    assert len(results) == len(offered) and done.frames[-1]["permission_denials"] == []
    texts = [json.dumps(result["content"]) for result in results]
    assert not [
        text for text in texts if "cannot be used" in text or "no answer" in text or "went away" in text
    ]
    assert any(not result["is_error"] for result in results) or name in ("fetch", "git", "time")
