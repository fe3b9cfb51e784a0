"""What a host does with MCP servers over stream-json: the real command, frames, and real servers."""

from __future__ import annotations

import threading

from hang_guard import HANG_S
from host_kit import FrameHost
from login_kit import log_in, served
from mcp_kit import entry, table

from caliban_provider.testing.exchange import Exchange, Pause
from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
ECHO = {"tools": {"echo": {"description": "Say it again.", "schema": TEXT}}, "name": "desk server"}
OTHER = {"tools": {"other": {"annotations": {"readOnlyHint": True, "destructiveHint": False}}}}
ALLOWED = ("--allow", "mcp__desk__echo", "--allow", "mcp__tray__other")


def call(name, args=None, *, id="c1"):
    return wire.exchange(wire.tool_use(name, args or {}, id=id))


def offered(cli, number: int = -1) -> list[str]:
    """The tools of servers in a request."""
    return [tool["name"] for tool in cli.bodies()[number]["tools"] if tool["name"].startswith("mcp__")]


def texts(frames) -> list[str]:
    return [frame["content"][0]["text"] for frame in frames if frame["type"] == "tool_result"]


def states(host: FrameHost) -> dict[str, str]:
    return {row["name"]: row["status"] for row in host.done("mcp_status")["mcpServers"]}


def test_a_host_brings_servers_changes_and_takes_them_away_in_the_midst_of_a_session(cli, tmp_path, is_gone):
    note = tmp_path / "pids"
    host = FrameHost(cli, *ALLOWED)
    assert host.done("mcp_status") == {"mcpServers": []}
    cli.script(DONE, call("mcp__desk__echo", {"text": "hi"}), DONE, DONE, DONE, DONE)
    host.prompt("one")
    assert offered(cli) == []
    brought = {
        "desk": {**entry({**ECHO, "note": str(note)}), "type": "stdio"},
        "tray": entry(OTHER),
        "dead": entry({"exit": 3, "said": "no database"}),
        "a__b": entry(ECHO),
        "half": {"env": {}},
        "text": "npx",
        "odd": {"command": "x", "args": "y"},
    }
    answer = host.done("mcp_set_servers", servers=brought)
    assert (sorted(answer["added"]), answer["removed"]) == (["dead", "desk", "tray"], [])
    assert set(answer["errors"]) == {"dead", "a__b", "half", "text", "odd"}
    assert "has ended" in answer["errors"]["dead"]
    assert "args" in answer["errors"]["odd"] and "neither a command" in answer["errors"]["half"]
    assert texts(host.prompt("two")) == ['{"text": "hi"}']
    assert sorted(offered(cli)) == ["mcp__desk__echo", "mcp__tray__other"]
    rows = {row["name"]: row for row in host.done("mcp_status")["mcpServers"]}
    assert rows["desk"]["status"] == "connected" and rows["desk"]["scope"] == "cli"
    assert rows["desk"]["serverInfo"] == {"name": "desk server", "version": "1"}
    assert rows["desk"]["tools"] == [{"name": "echo", "description": "Say it again.", "annotations": {}}]
    assert rows["tray"]["tools"][0]["annotations"] == {"readOnly": True, "destructive": False}
    assert rows["dead"]["status"] == "failed" and "has ended" in rows["dead"]["error"]
    # The same once more: it is left in peace. Another one takes the place of what had its name.
    (first,) = note.read_text().split()
    again = {"desk": brought["desk"], "tray": entry({"tools": {"new": {}}})}
    answer = host.done("mcp_set_servers", servers=again)
    assert answer == {"added": ["tray"], "removed": ["tray", "dead"], "errors": {}}
    assert note.read_text().split() == [first]
    host.prompt("three")
    assert offered(cli) == ["mcp__desk__echo", "mcp__tray__new"]
    assert host.done("mcp_set_servers", servers={}) == {
        "added": [],
        "removed": ["desk", "tray"],
        "errors": {},
    }
    assert is_gone(int(first))
    assert host.done("mcp_status") == {"mcpServers": []}
    host.prompt("four")
    assert offered(cli) == []
    assert "no object" in host.refused("mcp_set_servers", servers=[1])
    assert "no object" in host.refused("mcp_set_servers")
    code, err = host.end()
    assert code == 0
    assert [line for line in err.splitlines() if "the MCP server dead is not there" not in line] == []


def test_a_host_switches_servers_of_settings_and_begins_anew_with_them(cli, tmp_path, is_gone):
    note = tmp_path / "pids"
    cli.configure(
        'mcp_wait = 30\ndenied_mcp_servers = ["barred"]\n'
        + table("desk", {**ECHO, "note": str(note), "resources": {"mem://a": "the text"}})
        + table("asleep", OTHER, "disabled = true\n")
        + table("barred", ECHO)
    )
    cli.script(DONE, DONE, DONE)
    host = FrameHost(cli, "--deny", "ReadMcpResource(mem://secret)", "--allow", "mcp__desk__echo")
    host.prompt("one")
    assert states(host) == {"desk": "connected", "asleep": "disabled", "barred": "disabled"}
    assert host.done("mcp_toggle", serverName="desk", enabled=False) == {}
    assert host.done("mcp_toggle", serverName="asleep", enabled=True) == {}
    assert host.done("mcp_toggle", serverName="asleep", enabled=True) == {}
    assert is_gone(int(note.read_text()))
    assert states(host) == {"desk": "disabled", "asleep": "connected", "barred": "disabled"}
    host.prompt("two")
    assert offered(cli) == ["mcp__asleep__other"]
    assert "mcp_toggle enables it" in host.refused("mcp_reconnect", serverName="desk")
    assert "is not connected" in host.refused("mcp_read_resource", serverName="desk", uri="mem://a")
    assert host.done("mcp_toggle", serverName="desk", enabled=True) == {}
    second = int(note.read_text().split()[1])
    assert host.done("mcp_reconnect", serverName="desk") == {}
    assert is_gone(second) and len(note.read_text().split()) == 3
    read = host.done("mcp_read_resource", serverName="desk", uri="mem://a")
    assert read == {"contents": [{"uri": "mem://a", "mimeType": "", "text": "the text"}]}
    answer = host.done("mcp_call", tool="mcp__desk__echo", arguments={"text": "x"})
    assert answer == {"content": [{"type": "text", "text": '{"text": "x"}'}], "isError": False}
    host.prompt("three")
    assert set(offered(cli)) == {"mcp__asleep__other", "mcp__desk__echo"}
    # What cannot be done says why, and costs nothing.
    for request, words in (
        (("mcp_toggle", {"serverName": "barred", "enabled": True}), "settings deny it"),
        (("mcp_reconnect", {"serverName": "barred"}), "settings deny it"),
        (("mcp_toggle", {"serverName": "nobody", "enabled": True}), "'nobody' is not one of this run"),
        (("mcp_toggle", {"serverName": "desk"}), "neither true nor false"),
        (("mcp_reconnect", {}), "names no server"),
        (("mcp_reconnect", {"serverName": 7}), "names no server"),
        (("mcp_call", {"tool": "mcp__desk__gone"}), "offers a tool"),
        (("mcp_call", {"tool": "mcp__desk__echo", "arguments": [1]}), "is no object"),
        (("mcp_read_resource", {"serverName": "desk"}), "names nothing"),
        (("mcp_read_resource", {"serverName": "desk", "uri": "mem://none"}), ""),
        (("mcp_message", {"server_name": "desk"}), "'desk' is no MCP server that lives in the host"),
    ):
        subtype, members = request
        assert words in host.refused(subtype, **members), request
    server = {"servers": {"desk": entry(ECHO), "barred": entry(ECHO)}}
    assert host.done("mcp_set_servers", **server)["errors"] == {
        "desk": "there is a server desk already",
        "barred": "there is a server barred already",
    }
    assert host.end()[0] == 0


def test_a_request_about_servers_waits_for_no_prompt(cli):
    go_on = threading.Event()
    cli.configure("mcp_wait = 30\n" + table("desk", ECHO))
    waits = Exchange(headers=DONE.headers, steps=(Pause(go_on, max_s=HANG_S), *DONE.steps))
    cli.script(waits, DONE)
    host = FrameHost(cli)
    host.say({"type": "user", "content": "one"})
    host.say({"type": "user", "content": "two"})
    assert states(host) == {"desk": "connected"}
    assert "result" not in [frame["type"] for frame in host.seen]
    go_on.set()
    assert host.end()[0] == 0
    assert host.seen[-1]["type"] == "result"


def test_a_login_made_elsewhere_counts_from_the_next_prompt_on(cli):
    with served() as world:
        cli.configure(f'mcp_wait = 30\n[mcp_servers.notes]\nurl = "{world.url}"\n')
        cli.script(DONE, wire.exchange(wire.tool_use("mcp__notes__echo", {"text": "hi"}, id="c1")), DONE)
        host = FrameHost(cli, "--allow", "mcp__notes__*")
        host.prompt("one")
        assert states(host) == {"notes": "needs-auth"}
        assert offered(cli) == []
        assert "caliban mcp login notes" in host.refused("mcp_reconnect", serverName="notes")
        code, _, err = log_in(cli, world, "notes")
        assert code == 0, err
        assert texts(host.prompt("two")) == ["echo: hi"]
        assert states(host) == {"notes": "connected"}
        assert host.end()[0] == 0


def test_a_recording_refuses_what_would_change_its_tools(cli, tmp_path):
    cli.configure("mcp_wait = 30\n" + table("desk", ECHO))
    cli.script(DONE)
    host = FrameHost(cli, "--record", str(tmp_path / "tape.jsonl"))
    host.prompt("one")
    assert states(host) == {"desk": "connected"}
    for subtype, members in (
        ("mcp_set_servers", {"servers": {}}),
        ("mcp_toggle", {"serverName": "desk", "enabled": False}),
        ("mcp_reconnect", {"serverName": "desk"}),
    ):
        assert "--record keeps the tools" in host.refused(subtype, **members)
    assert host.end()[0] == 0


def test_rules_lists_and_what_nobody_has_seen_hold_for_the_host_as_well(cli, tmp_path):
    log = tmp_path / "log"
    tools = {
        "grow": {"adds": {"extra": {"text": "there"}}},
        "barred": {"logs": str(log)},
        "picky": {"schema": TEXT},
    }
    cli.configure(
        'mcp_wait = 30\ndenied_mcp_servers = ["evil"]\n'
        + table("desk", {"tools": tools, "resources": {"mem://a": "the text"}})
    )
    cli.script(DONE)
    denied = ("ReadMcpResource", "mcp__desk__barred", "mcp__desk__picky:text=secret*")
    host = FrameHost(cli, *(word for rule in denied for word in ("--deny", rule)))
    host.prompt("one")
    assert host.done("mcp_set_servers", servers={"evil": entry(ECHO)}) == {
        "added": [],
        "removed": [],
        "errors": {"evil": "settings deny it (denied_mcp_servers)"},
    }
    assert host.refused("mcp_read_resource", serverName="desk", uri="mem://a") == "a rule denies it"
    assert "offers a tool" in host.refused("mcp_call", tool="mcp__desk__barred")
    picky = {"tool": "mcp__desk__picky"}
    assert host.refused("mcp_call", **picky, arguments={"text": "secret 1"}) == "a rule denies it"
    assert host.done("mcp_call", **picky, arguments={"text": "x"})["isError"] is False
    assert host.done("mcp_call", tool="mcp__desk__grow")["isError"] is False
    assert "new on its server" in host.refused("mcp_call", tool="mcp__desk__extra")
    assert host.end()[0] == 0 and not log.exists()


def test_a_run_over_frames_that_may_be_brought_servers_loads_nothing_of_them(cli):
    cli.script(DONE)
    host = FrameHost(cli, env={"PYTHONPROFILEIMPORTTIME": "1"})
    host.prompt("one")
    code, err = host.end()
    assert code == 0 and "caliban_common" in err
    assert "caliban_mcp" not in err and "caliban_headless.requests" not in err
