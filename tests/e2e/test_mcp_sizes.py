"""How much MCP servers put before a model: the cap on their results, and what `caliban context` counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp_kit import given, table

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
STREAM = ("-p", "go", "--output-format", "stream-json", "--allow", "mcp__desk__big")
BIG = {"tools": {"big": {"text": "0123456789", "times": 9000}}}
CAP = "CALIBAN_MAX_MCP_OUTPUT_TOKENS"


def big(cli, *flags: str, env: dict[str, str]) -> str:
    """What the model reads of a result of 90,000 characters."""
    cli.script(wire.exchange(wire.tool_use("mcp__desk__big", {}, id="c1")), DONE)
    done = cli.run(*STREAM, "--mcp-config", given(desk=BIG), *flags, env=env)
    assert done.code == 0, done.err
    block = cli.bodies()[-1]["messages"][-1]["content"][0]["content"]
    return block if isinstance(block, str) else block[0]["text"]


def test_the_results_of_servers_have_a_cap_of_their_own_and_lose_nothing(cli):
    plain = big(cli, env={})
    assert plain.startswith("[truncated: 90000 chars in all; the whole text is in ")
    assert big(cli, env={CAP: "25000"}) == "0123456789" * 9000
    small = big(cli, env={CAP: "2500"})
    assert len(small) <= 10_000
    path = Path(small.partition("the whole text is in ")[2].partition("]")[0])
    assert path.read_text() == "0123456789" * 9000
    # A longer one stays whole when the session goes on, also where others are cut.
    whole = big(cli, "--session", "s", env={CAP: "25000"})
    cli.script(DONE)
    done = cli.run("-p", "more", "-r", "s", env={CAP: "25000"})
    assert done.code == 0, done.err
    results = [
        block
        for message in cli.bodies()[-1]["messages"]
        for block in message["content"]
        if isinstance(block, dict) and block["type"] == "tool_result"
    ]
    assert whole in json.dumps(results)


@pytest.mark.parametrize("value", ["many", "0", "-1", "2.5", "1e4", "99999999999"])
def test_a_cap_that_is_no_number_is_refused_before_anything_is_sent(cli, value):
    done = cli.run("-p", "go", env={CAP: value})
    assert done.code == 78 and f"{CAP} must be a number of tokens" in done.err
    assert cli.bodies() == []


def test_context_counts_what_is_remembered_of_servers_and_names_those_it_knows_nothing_of(cli, tmp_path):
    note = tmp_path / "pids"
    server = {"tools": {"echo": {"description": "word " * 100}}, "note": str(note)}
    cli.configure("mcp_wait = 30\n" + table("desk", server))
    before = cli.run("context")
    assert (
        "of the MCP server desk no run has seen the tools yet" in before.out and "mcp tools" not in before.out
    )
    assert not note.exists(), "nothing is started to count it"
    cli.script(DONE)
    assert cli.run("-p", "go").code == 0
    started = note.read_text()
    after = cli.run("context")
    (row,) = [line for line in after.out.splitlines() if line.startswith("mcp tools")]
    assert row.endswith("1: mcp__desk__echo") and 100 < int(row.split()[2].replace(",", "")) < 200
    assert "no run has seen" not in after.out
    data = cli.run("context", "--json").json
    (tool,) = [one for one in data["tools"] if one.get("server") == "desk"]
    assert data["mcp_servers_unknown"] == [] and data["mcp_tools_found_later"] == 0
    assert sum(one["tokens"] for one in data["tools"]) <= data["total_tokens"]
    assert tool["name"] == "mcp__desk__echo"
    held = cli.run("context", "--settings", '{"tools": {"lazy_mcp": true}}')
    assert "left to a search: 1 tool of MCP servers" in held.out
    assert note.read_text() == started
