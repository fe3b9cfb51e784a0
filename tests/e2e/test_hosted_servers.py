"""MCP servers that live in the program which drives the command: the real command, and a host of frames."""

from __future__ import annotations

import json

from hosted_kit import HostedTools, ToolHost

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
CONFIG = json.dumps({"mcpServers": {"calc": {"type": "sdk", "name": "calc"}}})


def call(name, args=None, *, id="c1"):
    return wire.exchange(wire.tool_use(name, args or {}, id=id))


def offered(cli, number: int = -1) -> list[str]:
    return [tool["name"] for tool in cli.bodies()[number]["tools"] if tool["name"].startswith("mcp__")]


def results(frames) -> list[tuple[str, bool]]:
    return [
        (frame["content"][0]["text"], frame["is_error"]) for frame in frames if frame["type"] == "tool_result"
    ]


def test_the_tools_of_a_host_are_there_with_the_first_prompt_and_are_called_in_it(cli):
    calc = HostedTools(add=lambda args: args["a"] + args["b"], bad=lambda args: "x")
    cli.script(
        call("mcp__calc__add", {"a": 2, "b": 3}, id="toolu_1"), DONE, call("mcp__calc__later", {}), DONE, DONE
    )
    host = ToolHost(cli, {"calc": calc}, "--allow", "mcp__calc__*", "--deny", "mcp__calc__bad")
    frames = host.prompt("one")
    assert frames[0]["type"] == "system" and frames[0]["subtype"] == "init"
    assert results(frames) == [("5", False)]
    assert offered(cli, 0) == ["mcp__calc__add"]
    assert calc.methods() == ["initialize", "notifications/initialized", "tools/list", "tools/call"]
    meta = calc.messages[-1]["params"]["_meta"]
    assert meta["claudecode/toolUseId"] == "toolu_1" and "progressToken" in meta
    assert "elicitation" not in calc.messages[0]["params"]["capabilities"]
    (row,) = host.done("mcp_status")["mcpServers"]
    assert (row["status"], row["config"]) == ("connected", {"type": "sdk", "name": "calc"})
    # The host's list changes: the next prompt has the new one, and nobody has to look at it first.
    calc.tools = {"later": lambda args: "later"}
    news = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
    assert host.done("mcp_message", server_name="calc", message=news) == {}
    while host.done("mcp_status")["mcpServers"][0]["tools"][0]["name"] != "later":
        pass
    assert results(host.prompt("two")) == [("later", False)]
    assert offered(cli, 2) == ["mcp__calc__later"]
    for members, words in (
        ({"server_name": "gone", "message": news}, "'gone' is no MCP server that lives in the host"),
        ({"server_name": "calc", "message": {**news, "id": 1}}, "is no notification"),
        ({"server_name": "calc", "message": [1]}, "is no notification"),
        ({}, "says no server_name"),
    ):
        assert words in host.refused("mcp_message", **members)
    code, err = host.end()
    assert (code, err) == (0, "")


def test_a_host_brings_its_servers_in_the_midst_of_a_session(cli):
    tray = HostedTools(take=lambda args: "taken")
    cli.script(DONE, call("mcp__tray__take"), DONE)
    host = ToolHost(cli, {"tray": tray}, "--allow", "mcp__tray__take", named=False)
    host.prompt("one")
    assert offered(cli) == []
    given = {"tray": {"type": "sdk", "name": "tray"}, "none": {"type": "sdk", "name": "none"}}
    answer = host.done("mcp_set_servers", servers=given)
    assert answer["added"] == ["tray", "none"]
    assert "not found" in answer["errors"]["none"]
    assert results(host.prompt("two")) == [("taken", False)]
    assert host.done("mcp_set_servers", servers={}) == {
        "added": [],
        "removed": ["tray", "none"],
        "errors": {},
    }
    assert host.end()[0] == 0


def test_whatever_a_host_answers_no_call_waits_for_ever(cli):
    """Each call of a tool is answered in another way that is none."""
    calc = HostedTools(add=lambda args: 5)
    fine = {"jsonrpc": "2.0", "id": 0, "result": {"content": [{"type": "text", "text": "late"}]}}
    odd = [
        {"subtype": "error", "error": "the callback raised"},
        {"subtype": "success", "response": {}},
        {"subtype": "success", "response": {"mcp_response": None}},
        {"subtype": "success", "response": {"mcp_response": [1, "x"]}},
        {"subtype": "success", "response": {"mcp_response": fine}},
        {"subtype": "success", "response": "text"},
        {"subtype": "what"},
        {"subtype": "success", "response": {"mcp_response": {"jsonrpc": "2.0", "id": 8, "error": 5}}},
    ]
    left = list(odd)

    def others(request):
        is_call = request["subtype"] == "mcp_message" and request["message"]["method"] == "tools/call"
        return left.pop(0) if is_call and left else None

    turns = [call("mcp__calc__add", {"a": n}, id=f"c{n}") for n in range(len(odd) + 1)]
    cli.script(*turns, DONE)
    host = ToolHost(cli, {"calc": calc}, "--allow", "mcp__calc__add", others=others)
    outcomes = results(host.prompt("one"))
    assert [is_error for _, is_error in outcomes] == [True] * len(odd) + [False]
    assert outcomes[-1] == ("5", False)
    assert "the callback raised" in outcomes[0][0] and "holds no mcp_response" in outcomes[1][0]
    assert host.end()[0] == 0


def test_a_host_that_closes_its_input_in_a_call_is_waited_for_no_longer(cli):
    calc = HostedTools(add=lambda args: 5)
    cli.script(call("mcp__calc__add", {"a": 1}), DONE)
    host = ToolHost(cli, {"calc": calc}, "--allow", "mcp__calc__add")
    host.say({"type": "user", "content": "one"})
    while True:
        request = host.until_any(("control_request",))[-1]
        if request["request"]["message"]["method"] == "tools/call":
            host.process.stdin.close()
            break
        host.respond(request)
    frames = host.until_any(("result",))
    ((words, is_error),) = results(frames)
    assert is_error and "standard input has ended" in words
    host.process.stdin = None
    assert host.end()[0] == 0


def test_a_server_of_a_host_that_does_not_answer_is_named_and_costs_nobody_the_prompt(cli):
    cli.configure("mcp_wait = 0\n")
    cli.script(DONE)
    host = ToolHost(cli, {"calc": HostedTools()})
    host.respond = lambda frame: None
    host.prompt("one")
    assert offered(cli) == []
    assert host.done("mcp_status")["mcpServers"][0]["status"] == "pending"
    code, err = host.end()
    assert code == 0 and "are not there yet, and come with a later turn: calc" in err


def test_lists_of_settings_and_rules_hold_for_servers_of_a_host(cli):
    calc = HostedTools(add=lambda args: 5)
    cli.configure('denied_mcp_servers = ["calc"]\n')
    cli.script(DONE)
    host = ToolHost(cli, {"calc": calc})
    host.prompt("one")
    (row,) = host.done("mcp_status")["mcpServers"]
    assert (row["status"], calc.messages, offered(cli)) == ("disabled", [], [])
    assert host.end()[0] == 0


def test_without_a_program_on_the_other_end_its_servers_are_refused_by_name(cli, tmp_path):
    words = "the MCP server calc lives in a program (type sdk): "
    for flags, why in (
        (("-p", "hi"), "no program reads and writes the frames"),
        (("-p", "--input-format", "stream-json"), "no program reads and writes the frames"),
        (("-p", "hi", "--record", str(tmp_path / "tape.jsonl")), "--record cannot keep"),
    ):
        done = cli.run(*flags, "--mcp-config", CONFIG, stdin=b'{"type":"user","content":"hi"}\n')
        assert done.code == 78 and words + why in done.err, flags
    assert cli.bodies() == []
    (cli.work / ".mcp.json").write_text(CONFIG)
    cli.configure('[mcp_servers.mine]\ntype = "sdk"\n')
    cli.script(DONE)
    done = cli.run("-p", "hi", "--trust-project")
    assert done.code == 0
    assert "the server 'calc' is left out" in done.err and "the server 'mine' is left out" in done.err


def test_a_host_sets_the_mode_in_which_calls_of_a_server_are_judged(cli):
    calc = HostedTools(add=lambda args: 5)
    turns = [call("mcp__calc__add", {"a": n}, id=f"c{n}") for n in range(3)]
    cli.script(*(exchange for turn in turns for exchange in (turn, DONE)))
    host = ToolHost(cli, {"calc": calc}, "--permission-mode", "dontAsk")
    assert results(host.prompt("one")) == [("5", False)]
    assert host.done("set_mcp_permission_mode_override", serverName="calc", mode="default") == {}
    ((words, is_error),) = results(host.prompt("two"))
    assert is_error and "5" not in words
    warned = host.done("set_mcp_permission_mode_override", serverName="calc", mode="auto")
    assert "not prepared when the run began" in warned["warning"]
    assert results(host.prompt("three")) == [("5", False)]
    for members, words in (
        ({"serverName": "calc", "mode": "bypassPermissions"}, "neither default nor auto nor null"),
        ({"serverName": "calc", "mode": ["auto"]}, "neither default nor auto nor null"),
        ({"serverName": "gone", "mode": None}, "'gone' is not one of this run"),
        ({"mode": "auto"}, "names no server"),
    ):
        assert words in host.refused("set_mcp_permission_mode_override", **members)
    assert host.end()[0] == 0
