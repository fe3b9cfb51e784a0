"""The request `initialize` of a host, with what its MCP servers are: the real command, and its frames."""

from __future__ import annotations

from typing import Any

import pytest
from hosted_kit import HostedTools, ToolHost

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
CALL = wire.exchange(wire.tool_use("mcp__calc__add", {"a": 2}, id="c1"))
BEGUN = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {"listChanged": True}},
    "serverInfo": {"name": "calc", "version": "1"},
}
LIST = {"tools": [{"name": "add", "description": "Add.", "inputSchema": {"type": "object"}}]}
WHOLE = {"initializeResult": BEGUN, "toolsListResult": LIST}


def methods(host: ToolHost) -> list[str]:
    """What the command has asked the servers of the host, in order."""
    return [one["message"]["method"] for one in host.requests if one["subtype"] == "mcp_message"]


def offered(cli: Any, number: int = -1) -> list[str]:
    return [tool["name"] for tool in cli.bodies()[number]["tools"] if tool["name"].startswith("mcp__")]


def test_a_server_whose_manifest_is_given_is_known_before_it_was_asked_and_asked_anew_later(cli):
    calc = HostedTools(add=lambda args: 5, more=lambda args: 6)
    cli.script(CALL, DONE, DONE)
    host = ToolHost(cli, {"calc": calc}, "--allow", "mcp__calc__*", named=False)
    answer = host.done("initialize", sdkMcpServers=["calc"], sdkMcpServerManifests={"calc": WHOLE})
    assert answer["sdk_mcp_manifests_parked"] == {"calc": "parked"} and "errors" not in answer
    frames = host.prompt("one")
    (result,) = [frame for frame in frames if frame["type"] == "tool_result"]
    assert (result["content"][0]["text"], result["is_error"]) == ("5", False)
    assert offered(cli, 0) == ["mcp__calc__add"], "of two tools the manifest names one"
    assert methods(host) == ["notifications/initialized", "tools/call"]
    again = host.done("initialize", sdkMcpServers=["calc"], sdkMcpServerManifests={"calc": WHOLE})
    assert again["sdk_mcp_manifests_parked"] == {"calc": "already_connected"} and "errors" not in again
    host.done("mcp_reconnect", serverName="calc")
    assert methods(host)[2:] == ["initialize", "notifications/initialized", "tools/list"]
    host.prompt("two")
    assert offered(cli) == ["mcp__calc__add", "mcp__calc__more"]
    assert host.end() == (0, "")


def test_without_a_list_in_its_manifest_a_server_is_asked_for_that_alone(cli):
    cli.script(DONE)
    host = ToolHost(cli, {"calc": HostedTools(add=lambda args: 5)}, named=False)
    manifests = {"calc": {"initializeResult": BEGUN, "toolsListResult": None}}
    host.done("initialize", sdkMcpServers=["calc"], sdkMcpServerManifests=manifests)
    host.prompt("one")
    assert (methods(host), offered(cli)) == (["notifications/initialized", "tools/list"], ["mcp__calc__add"])
    assert host.end()[0] == 0


def with_begun(**members: Any) -> dict[str, Any]:
    return {**WHOLE, "initializeResult": {**BEGUN, **members}}


MALFORMED: dict[str, Any] = {
    "nothing": None,
    "word": "x",
    "list": [WHOLE],
    "empty": {},
    "begun": {"initializeResult": [], "toolsListResult": LIST},
    "version": with_begun(protocolVersion=20250618),
    "capabilities": with_begun(capabilities=["tools"]),
    "info": with_begun(serverInfo="calc"),
    "info name": with_begun(serverInfo={"name": None, "version": "1"}),
    "tools": {**WHOLE, "toolsListResult": LIST["tools"]},
    "tools text": {**WHOLE, "toolsListResult": {"tools": "add"}},
    "tool": {**WHOLE, "toolsListResult": {"tools": [7]}},
    "tool name": {**WHOLE, "toolsListResult": {"tools": [{"name": ""}]}},
    "half": with_begun(instructions="\ud800"),
    "nan": with_begun(number=float("nan")),
}


def test_a_manifest_that_is_none_is_answered_so_and_its_server_is_asked(cli):
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    manifests = {**MALFORMED, "future": with_begun(protocolVersion="2031-01-01"), "calc": {"x": deep}}
    cli.script(CALL, DONE)
    host = ToolHost(cli, {"calc": HostedTools(add=lambda args: 5)}, "--allow", "mcp__calc__*", named=False)
    answer = host.done("initialize", sdkMcpServers=["calc"], sdkMcpServerManifests=manifests)
    assert answer["sdk_mcp_manifests_parked"] == {
        **dict.fromkeys(MALFORMED, "malformed"),
        "future": "protocol_version_mismatch",
        "calc": "malformed",
    }
    assert methods(host) == ["initialize", "notifications/initialized", "tools/list"]
    assert "5" in str(host.prompt("one"))
    assert host.end() == (0, "")


def test_a_manifest_without_a_server_is_not_honoured_by_its_name(cli):
    cli.configure('denied_mcp_servers = ["calc"]\n')
    cli.script(DONE)
    host = ToolHost(cli, {"calc": HostedTools(), "gone": HostedTools()}, named=False)
    manifests = {"calc": WHOLE, "gone": WHOLE, "a b__c": WHOLE}
    answer = host.done(
        "initialize", sdkMcpServers=["calc", "a b__c"], mcpServers={}, sdkMcpServerManifests=manifests
    )
    assert answer["sdk_mcp_manifests_parked"] == dict.fromkeys(manifests, "not_honoured")
    assert answer["errors"].keys() == {"calc", "a b__c"} and "denied_mcp_servers" in answer["errors"]["calc"]
    host.prompt("one")
    assert (methods(host), offered(cli)) == ([], [])
    assert host.end()[0] == 0


@pytest.mark.parametrize(
    ("members", "words"),
    [
        (
            {"hooks": {"Stop": []}, "jsonSchema": {}, "promptSuggestions": True},
            "hooks, promptSuggestions is not",
        ),
        ({"sdkMcpServers": "calc"}, "sdkMcpServers is no list of names"),
        ({"sdkMcpServers": [1]}, "sdkMcpServers is no list of names"),
        ({"sdkMcpServerManifests": [WHOLE]}, "sdkMcpServerManifests is no object of manifests"),
        ({"mcpServers": 7}, "mcpServers is no object of servers"),
    ],
)
def test_what_initialize_cannot_do_is_refused_by_its_name_and_none_of_it_is_done(cli, members, words):
    cli.script(DONE)
    host = ToolHost(cli, {"calc": HostedTools()}, named=False)
    given = {"sdkMcpServers": ["calc"], "sdkMcpServerManifests": {"calc": WHOLE}, **members}
    assert words in host.refused("initialize", **given)
    assert host.done("mcp_status") == {"mcpServers": []}
    assert host.done("initialize", hooks=None, systemPrompt=[""], mcpServers={"x": {"command": "/none"}}) == {
        "commands": [],
        "agents": [],
        "models": [],
        "account": {},
        "mcp_servers_applied": False,
        "errors": {"x": host_error(host)},
    }
    assert host.end()[0] == 0


def host_error(host: ToolHost) -> str:
    """Why the one server of the run is not there."""
    (row,) = host.done("mcp_status")["mcpServers"]
    return str(row["error"])
