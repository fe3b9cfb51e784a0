"""What people complain about most in the MCP of other harnesses, each as a run of the real command."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from login_kit import log_in, served
from mcp_kit import SCRIPT, given

from caliban_mcp_client.testing.oauth import OAuthRules
from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
STREAM = ("-p", "go", "--output-format", "stream-json")
LONG = "a_tool_with_a_name_that_its_author_made_longer_than_any_vendor_takes"
OBJECT = {"type": "object", "properties": {"x": {"type": "string"}}}


def call(name, args=None, *, id="c1"):
    return wire.exchange(wire.tool_use(name, args or {}, id=id))


def texts(done) -> list[str]:
    return [frame["content"][0].get("text") for frame in done.of("tool_result")]


def test_names_too_long_and_schemas_that_are_broken_cost_no_turn_and_no_other_tool(cli):
    """anthropics/claude-code#20643, #31800, #88049; b101, b102"""
    tools = {
        f"{LONG}_one": {"text": "one"},
        f"{LONG}_two": {"text": "two"},
        "any_of": {"schema": {"anyOf": [OBJECT, OBJECT, OBJECT]}, "text": "any"},
        "if_then": {"schema": {"allOf": [OBJECT, {"if": OBJECT, "then": OBJECT}]}, "text": "if"},
        "no_schema": {"more": {"inputSchema": "ABSENT", "description": None, "annotations": 7}, "text": "no"},
        "no_type": {"more": {"outputSchema": {"properties": {}}}, "text": "type"},
        "schema_is_text": {"more": {"inputSchema": "object"}, "text": "text"},
        "fine": {"schema": OBJECT, "text": "fine"},
    }
    cli.script(DONE)
    config = ("--mcp-config", given(desk={"tools": tools}))
    assert cli.run(*STREAM, *config).code == 0
    names = [tool["name"] for tool in cli.bodies()[0]["tools"] if tool["name"].startswith("mcp__")]
    assert all(len(name) <= 64 for name in names) and len(set(names)) == len(names) == 8
    cli.script(*(call(name, {"x": "y"}, id=f"c{n}") for n, name in enumerate(names)), DONE)
    done = cli.run(*STREAM, *config, "--allow", "mcp__desk__*")
    assert done.code == 0, done.err
    assert sorted(texts(done)) == ["any", "fine", "if", "no", "one", "text", "two", "type"]


def test_a_start_that_failed_is_tried_again_by_the_next_run(cli, tmp_path):
    """github/copilot-cli#4421"""
    what = tmp_path / "what.json"
    entry = {"command": sys.executable, "args": ["-S", "-E", str(SCRIPT), f"@{what}"]}
    cli.configure("mcp_wait = 30\n")
    config = ("--mcp-config", json.dumps({"mcpServers": {"desk": entry}}))
    what.write_text(json.dumps({"exit": 1}))
    cli.script(DONE)
    assert cli.run(*STREAM, *config).frames[0]["mcp_servers"] == [{"name": "desk", "status": "failed"}]
    what.write_text(json.dumps({"tools": {"echo": {"text": "there"}}}))
    cli.script(call("mcp__desk__echo"), DONE)
    done = cli.run(*STREAM, *config, "--allow", "mcp__desk__echo")
    assert done.frames[0]["mcp_servers"] == [{"name": "desk", "status": "connected"}]
    assert texts(done) == ["there"]


def tokens_file(cli) -> Path:
    return cli.home / ".local" / "share" / "caliban" / "mcp-tokens.json"


def kept(cli) -> dict:
    (text,) = json.loads(tokens_file(cli).read_text())["keys"].values()
    return json.loads(text)["credential"]


def age(cli) -> None:
    """Let the access token of the one login be over."""
    data = json.loads(tokens_file(cli).read_text())
    ((key, text),) = data["keys"].items()
    login = json.loads(text)
    login["credential"]["tokens"]["expires_at"] = 1.0
    data["keys"][key] = json.dumps(login)
    tokens_file(cli).write_text(json.dumps(data))


@pytest.mark.skipif(sys.platform == "win32", reason="answers are pasted into a pipe")
def test_a_login_is_renewed_in_silence_and_ends_in_words_and_never_in_a_loop(cli):
    """b109; openai/codex#27165"""
    run = (*STREAM, "--allow", "mcp__notes__*")
    with served(OAuthRules(rotates=False)) as world:
        cli.configure(f'mcp_wait = 30\n[mcp_servers.notes]\nurl = "{world.url}"\n')
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        assert log_in(cli, world, "notes", "--mcp-oauth-port", str(port))[0] == 0
        before = kept(cli)["tokens"]["refresh"]
        age(cli)
        cli.script(call("mcp__notes__echo", {"text": "hi"}), DONE)
        done = cli.run(*run)
        assert texts(done) == ["echo: hi"], done.err
        assert world.refreshes == 1 and kept(cli)["tokens"]["refresh"] == before != ""
        # The server forgets the token in the midst of its life: renewed once more, and nobody hears of it.
        world.revoke()
        cli.script(call("mcp__notes__echo", {"text": "hi"}), DONE)
        done = cli.run(*run)
        assert (texts(done), world.refreshes, done.of("warning")) == (["echo: hi"], 2, [])
        # Both are dead: a run says what to do, opens nothing, and asks no second time.
        world.revoke(refresh=True)
        asked = len(world.forms)
        cli.script(call("mcp__notes__echo", {"text": "hi"}), DONE)
        done = cli.run(*run)
        assert done.code == 0 and "wants a new login" in texts(done)[0]
        assert "caliban mcp login notes" in texts(done)[0]
        assert len(world.forms) <= asked + 1 and world.log.count(("GET", "/tenant/authorize")) == 0
        # One login; the port of the client that was registered is taken, so another one is registered.
        asked, registered = len(world.forms), len(world.registrations)
        with socket.create_server(("127.0.0.1", port)):
            code, _, err = log_in(cli, world, "notes")
        assert code == 0, err
        assert [form["grant_type"] for form in world.forms[asked:]] == ["authorization_code"]
        (fresh,) = world.registrations[registered:]
        assert urlsplit(fresh["redirect_uris"][0]).port != port
        assert world.double_spends == 0


@pytest.mark.skipif(sys.platform == "win32", reason="answers are pasted into a pipe")
def test_an_answer_with_another_state_is_no_login(cli):
    """b109"""
    with served(OAuthRules(state="another")) as world:
        cli.configure(f'[mcp_servers.notes]\nurl = "{world.url}"\n')
        code, out, err = log_in(cli, world, "notes")
        assert code == 1 and "state" in err and "Traceback" not in err
        assert not any(form["grant_type"] == "authorization_code" for form in world.forms)
        assert parse_qs(out) == {}
    assert not tokens_file(cli).exists() or json.loads(tokens_file(cli).read_text())["keys"] == {}
