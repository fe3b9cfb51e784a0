"""Plugins, MCP servers, hooks, settings and rules beside each other, through the real command."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import mcp_kit
import plugin_kit as kit
import pytest
from test_live_settings import edited, results

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


def states(done) -> list[tuple[str, str]]:
    """The servers of a run; one whose tools are known from before need not be there with the first frame."""
    rows = done.frames[0]["mcp_servers"]
    return [(row["name"], row["status"].replace("pending", "connected")) for row in rows]


def test_a_project_shows_its_servers_and_plugins_once_each_and_a_change_takes_both_away(cli):
    (cli.work / ".mcp.json").write_text(json.dumps({"mcpServers": {"own": mcp_kit.entry(ECHO)}}))
    folder = plugin(cli.work / ".caliban" / "plugins" / "kit", db=ECHO)
    shown = json.loads(cli.run("trust", "show", "--json").out)
    names = [(item["kind"], item["name"]) for item in shown["items"]]
    assert names == [
        ("plugin", "kit"),
        ("server", "mcp_servers.own.args"),
        ("server", "mcp_servers.own.command"),
    ]
    cli.script(DONE, DONE, DONE)
    assert states(cli.run(*STREAM)) == []
    assert cli.run("trust", "add", "--yes", "--digest", shown["digest"]).code == 0
    assert states(cli.run(*STREAM)) == [("own", "connected")]  # of the plugin nobody has said anything yet
    agreed = cli.run("plugin", "enable", "kit", "--yes")
    assert (agreed.code, "server kit:db" in agreed.out) == (0, True), agreed.err
    assert states(cli.run(*STREAM)) == [("kit:db", "connected"), ("own", "connected")]
    (folder / "server.py").write_text("import evil\n")
    cli.script(DONE)
    done = cli.run(*STREAM)
    assert states(done) == [] and "plugin kit" in done.err
    assert json.loads(cli.run("trust", "show", "--json").out)["digest"] != shown["digest"]


@pytest.mark.parametrize(
    ("flags", "there"),
    [
        (("--no-plugins",), ["own"]),
        (("--no-mcp",), []),
        (("--bare",), []),
        (("--strict-mcp-config", "--mcp-config", "{given}"), ["given"]),
        (("--bare", "--mcp-config", "{given}"), ["given"]),
        (("--bare", "--plugin-dir", "{folder}"), ["kit:db"]),
        (("--strict-mcp-config", "--plugin-dir", "{folder}"), []),
        (("--no-plugins", "--strict-mcp-config", "--mcp-config", "{given}"), ["given"]),
        (("--mcp-config", "{given}"), ["given", "kit:db", "own"]),
    ],
)
def test_flags_say_which_servers_there_are(cli, tmp_path, flags, there):
    folder = plugin(tmp_path / "kit", db=ECHO)
    cli.configure(mcp_kit.table("own", ECHO))
    installed(cli, folder)
    put = {"{given}": mcp_kit.given(given=ECHO), "{folder}": str(folder)}
    cli.script(DONE)
    done = cli.run(*STREAM, *(put.get(word, word) for word in flags))
    assert (done.code, states(done)) == (0, [(name, "connected") for name in there]), done.err
    assert len(offered(cli.bodies()[0])) == len(there)


def test_what_keeps_a_server_out_keeps_that_of_a_plugin_out_too(cli, tmp_path):
    installed(cli, plugin(tmp_path / "kit", db=ECHO, far=ECHO))
    off = cli.run("mcp", "disable", "kit:db")
    assert (off.code, "kit:db is disabled" in off.err) == (0, True), off.err
    assert cli.run("mcp", "disable", "kit:nothing").code == 66
    cli.script(DONE, DONE, DONE)
    done = cli.run(*STREAM)
    assert states(done) == [("kit:db", "disabled"), ("kit:far", "connected")], done.err
    assert "kit:db [disabled]" in " ".join(cli.run("mcp", "list").out.split())
    done = cli.run(*STREAM, "--deny", "mcp__plugin_kit_far__*")
    assert states(done) == [("kit:db", "disabled"), ("kit:far", "disabled")]
    cli.run("mcp", "enable", "kit:db")
    path = cli.home / ".config" / "caliban" / "settings.toml"
    more = '[mcp_servers."kit:far"]\ndisabled_tools = ["echo"]\nurl = "https://a.example"\n'
    path.write_text(f'denied_mcp_servers = ["kit:db"]\n{path.read_text()}{more}')
    done = cli.run(*STREAM)
    assert states(done) == [("kit:db", "disabled"), ("kit:far", "connected")], done.err
    assert offered(cli.bodies()[-1]) == []
    assert "`url` of the server kit:far has no effect" in done.err


def test_two_servers_whose_tools_would_have_one_name_are_told_apart_or_left_out(cli, tmp_path):
    installed(cli, plugin(tmp_path / "kit", **{"db": ECHO, "a.b": ECHO, "a_b": ECHO, "x" * 60: ECHO}))
    cli.configure(mcp_kit.table("plugin_kit_db", ECHO))
    cli.script(DONE)
    done = cli.run(*STREAM)
    assert "the server kit:db is left out: its tools would be called like those of plugin_kit_db" in done.err
    names = offered(cli.bodies()[0])
    assert {"mcp__plugin_kit_db__echo", "mcp__plugin_kit_a_b__echo"} < set(names)
    assert len(set(names)) == 4 and max(map(len, names)) <= 64


def test_rules_and_the_auto_mode_hold_for_the_tools_of_a_plugin(cli, tmp_path):
    tools = {
        name: {"schema": TEXT, "annotations": {"readOnlyHint": True, "destructiveHint": False}}
        for name in ("look", "wipe")
    }
    installed(cli, plugin(tmp_path / "kit", db={"tools": tools}))
    wipe = call("mcp__plugin_kit_db__wipe", {"text": "x"})
    cli.script(wipe, DONE)
    assert "denied" in texts(cli.run(*STREAM))[0]  # what it says of itself opens nothing
    cli.script(wipe, DONE)
    assert texts(cli.run(*STREAM, "--allow", "mcp__plugin_kit_db__*")) == ['{"text": "x"}']
    cli.configure('[mcp_servers."kit:db".permissions]\nallow = ["*"]\ndeny = ["wipe"]\n')
    cli.script(call("mcp__plugin_kit_db__look", {"text": "y"}), DONE, wipe, DONE)
    assert texts(cli.run(*STREAM)) == ['{"text": "y"}']
    assert "tool not found" in texts(cli.run(*STREAM))[0]
    cli.configure("")
    cli.script(wipe, DONE)  # no model is asked to judge what only the tool itself says
    done = cli.run(*STREAM, "--permission-mode", "auto")
    assert "auto mode: only mcp__plugin_kit_db__wipe itself says what it does" in texts(done)[0]


def test_an_agent_and_a_hook_of_a_plugin_may_leave_out_its_name(cli, tmp_path):
    guard = {"type": "mcp_tool", "server": "db", "tool": "judge", "input": {"text": "${tool_input.command}"}}
    no = json.dumps({"decision": "block", "reason": "the server says no"})
    db = {"tools": {"judge": {"schema": TEXT, "text": no}, "place": {"env": "CLAUDE_PLUGIN_ROOT"}}}
    more = {
        "agents/clerk.md": "---\ndescription: files things\nmcpServers: [db]\n---\nFile it.\n",
        "hooks/hooks.json": json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [guard]}]}}),
    }
    installed(cli, plugin(tmp_path / "kit", more=more, db=db))
    cli.configure(mcp_kit.table("other", ECHO))
    cli.script(
        call("Agent", {"description": "d", "prompt": "p", "subagent_type": "kit:clerk"}),
        wire.exchange(wire.text("below")),
        call("Bash", {"command": "touch made"}, id="c2"),
        call("mcp__plugin_kit_db__place", id="c3"),
        DONE,
    )
    done = cli.run(*STREAM, "--allow", "Bash", "--allow", "mcp__plugin_kit_db__place")
    assert done.code == 0, done.err
    assert offered(cli.bodies()[1]) == ["mcp__plugin_kit_db__judge", "mcp__plugin_kit_db__place"]
    _, blocked, place = texts(done)
    assert "the server says no" in blocked and not (cli.work / "made").exists()
    assert Path(place, "server.py").is_file()


def guarded(cli, **more) -> None:
    """A hook before every call, which is the tool `judge` of the server `desk`."""
    hook = {"type": "mcp", "mcp": "desk", "tool": "judge", **more}
    path = cli.home / ".config" / "caliban" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}}))


SAYS = {"schema": {"type": "object"}, "text": "{}"}


@pytest.mark.parametrize(
    ("desk", "more", "flags", "why"),
    [
        ({"tools": {"judge": SAYS}}, {}, (), ""),
        (None, {}, (), "the MCP server 'desk' is not one of this run"),
        (None, {"on_failure": "allow"}, (), ""),
        ({"tools": {"judge": SAYS}}, {}, ("--no-mcp",), "is not one of this run"),
        ({"tools": {"judgement": SAYS}}, {}, (), "offers no tool 'judge' here; did you mean judgement?"),
        ({"tools": {"judge": {**SAYS, "error": True}}}, {}, (), "says that it failed"),
        ({"tools": {"judge": SAYS}}, {}, ("--deny", "mcp__desk__judge"), "a rule denies"),
        ({"exit": 3}, {}, (), "desk"),
        ({"silent": True}, {"timeout": 1}, (), "did not answer within 1 s"),
    ],
)
def test_a_hook_asks_a_server_and_one_that_cannot_be_asked_lets_nothing_run(cli, desk, more, flags, why):
    guarded(cli, **more)
    cli.script(call("Bash", {"command": "touch made"}), DONE)
    servers = () if desk is None else ("--mcp-config", mcp_kit.given(desk=desk))
    done = cli.run(*STREAM, "--allow", "Bash", "--settings", '{"mcp_wait": 0}', *servers, *flags)
    assert done.code == 0, done.err
    assert (cli.work / "made").exists() is not bool(why)
    assert why in texts(done)[0] + done.err


def test_plugins_stay_in_a_run_whose_settings_change_and_a_switch_waits_for_a_start(cli, tmp_path):
    guard = {"type": "command", "command": "echo no >&2; exit 2"}
    hooks = {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [guard]}]}}
    installed(cli, plugin(tmp_path / "kit", more={"hooks/hooks.json": json.dumps(hooks)}, db=ECHO))
    path = cli.configure("")
    changed = (
        "[enabled_plugins]\nkit = false\n"
        '[[hooks.Stop]]\nhandlers = [{type = "command", command = "true"}]\n'
        '[mcp_servers."kit:db".permissions]\nallow = ["*"]\n'
    )
    answers = [
        call("Bash", {"command": "touch made"}),
        call("Bash", {"command": "touch made"}, id="c2"),
        call(ECHO_NAME, {"text": "x"}, id="c3"),
        DONE,
    ]
    with edited(cli, {0: lambda: path.write_text(changed)}, answers):
        done = cli.run("-p", "go", "--allow", "Bash")
    assert done.code == 0, done.err
    assert not (cli.work / "made").exists()  # its guard is asked as before
    assert "text" in results(cli.ended)[-1] and "denied" not in results(cli.ended)[-1]
    assert f"enabled_plugins.kit was changed in {path}:2 and counts from the next start on" in done.err


def test_an_import_carries_over_what_plugins_servers_and_the_sandbox_have_for_an_equal(cli):
    source = cli.home / "claude.json"
    oauth = {"clientId": "x", "odd": 1}
    foreign = {
        "enabledPlugins": {"kit@shop": True, "odd@shop": "yes"},
        "deniedMcpServers": [{"serverName": "bad"}, {"serverUrl": "https://*.example/*"}],
        "disabledMcpjsonServers": ["theirs", "their.other"],
        "extraKnownMarketplaces": {"shop": {"source": {"source": "github", "repo": "a/b"}}},
        "mcpServers": {"far": {"type": "http", "url": "https://a.example", "timeout": 5000, "oauth": oauth}},
        "hooks": {"Stop": [{"hooks": [{"type": "mcp_tool", "server": "far", "tool": "judge"}]}]},
        "sandbox": {"network": {"allowedDomains": ["a.example"], "odd": 1}, "filesystem": []},
    }
    source.write_text(json.dumps(foreign))
    done = cli.run("settings", "import", "--from", str(source), "--scope", "user", "--dry-run")
    assert done.code == 0, done.err
    assert tomllib.loads(done.out) == {
        "enabled_plugins": {"kit@shop": True},
        "denied_mcp_servers": [{"name": "bad"}, {"url": "https://*.example/*"}],
        "mcp_servers": {
            "theirs": {"disabled": True},
            "their_other": {"disabled": True},
            "far": {
                "type": "http",
                "url": "https://a.example",
                "tool_timeout_s": 5.0,
                "oauth_config": {"client_id": "x"},
            },
        },
        "hooks": foreign["hooks"],
        "sandbox": {"network": {"allowed_domains": ["a.example"]}},
    }
    for words in (
        "enabledPlugins.odd@shop: ",
        "extraKnownMarketplaces: a person",
        "mcpServers.far.oauth.odd: ",
        "sandbox.network.odd: ",
        "sandbox.filesystem: it is no table",
    ):
        assert words in done.err.replace('"', "")
