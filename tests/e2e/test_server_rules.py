"""Rules about arguments of servers' tools: one without a name matches nothing, and that is told."""

from __future__ import annotations

from mcp_kit import given

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
SERVERS = given(desk={"tools": {"echo": {"schema": TEXT}, "other": {"schema": TEXT}}})
WORDS = "tools of servers have no main argument: say which one is meant, as in mcp__desk__echo(name=words)"


def test_a_rule_that_names_no_argument_of_a_servers_tool_is_told_of(cli):
    cli.configure(
        "mcp_wait = 30\n[permissions]\n"
        'allow = ["mcp__desk__echo(hello)", "mcp__desk__other(text=hello)"]\n'
        'deny = ["mcp__desk__ec*:secret"]\n'
    )
    linted = cli.run("perms", "lint")
    assert "mcp__desk__echo(hello)" in linted.out and WORDS in linted.out
    assert "mcp__desk__ec*(name=words)" in linted.out
    assert "mcp__desk__other(text=hello)" not in linted.out
    calls = [
        wire.exchange(wire.tool_use(f"mcp__desk__{name}", {"text": "hello"}, id=name))
        for name in ("echo", "other")
    ]
    cli.script(*calls, DONE)
    done = cli.run("-p", "go", "--output-format", "stream-json", "--mcp-config", SERVERS)
    assert done.code == 0
    assert [frame["is_error"] for frame in done.of("tool_result")] == [True, False]
    output = done.err + " ".join(frame["message"] for frame in done.of("warning"))
    assert WORDS in output and "mcp__desk__ec*(name=words)" in output


def test_a_flag_that_matches_nothing_is_refused(cli):
    done = cli.run("-p", "go", "--allow", "mcp__desk__echo(hello)")
    assert done.code == 64 and WORDS in done.err
    assert cli.bodies() == []
