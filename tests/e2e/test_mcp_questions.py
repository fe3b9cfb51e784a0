"""What MCP servers ask in runs without a person: rules and hooks answer, and the rest is declined."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mcp_kit import given

from caliban_provider_anthropic.testing import wire

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="hooks are shell scripts")

DONE = wire.exchange(wire.text("Done."))
STREAM = ("-p", "go", "--output-format", "stream-json", "--allow", "mcp__desk__*")
FORM = {"type": "object", "properties": {"name": {"type": "string"}, "n": {"type": "integer", "default": 3}}}
ASKS = {"message": "Who\u200b are you?", "requestedSchema": FORM}
URL = {"mode": "url", "message": "Log in.", "url": "https://user@example.com/x", "elicitationId": "e1"}
SERVERS = given(desk={"tools": {"form": {"asks": ASKS}, "address": {"asks": URL}}})


def hooked(cli, **commands: str) -> Path:
    """Hooks by event, each a line of a shell; every event stands in the file that this gives."""
    log = cli.work.parent / "log"
    hooks = {}
    for event, command in commands.items():
        path = cli.work.parent / f"{event}.sh"
        path.write_text(f"#!/bin/sh\n(cat; echo) >> '{log}'\n{command}\n")
        path.chmod(0o755)
        hooks[event] = [{"matcher": "desk", "hooks": [{"type": "command", "command": str(path)}]}]
    folder = cli.home / ".config" / "caliban"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "settings.json").write_text(json.dumps({"hooks": hooks}))
    return log


def says(event: str, **members: object) -> str:
    answer = {"hookSpecificOutput": {"hookEventName": event, **members}}
    return f"echo '{json.dumps(answer)}'"


def asked(cli, *flags: str, tools: tuple[str, ...] = ("form",)):
    """What the server was told by each call, and the run."""
    calls = [wire.exchange(wire.tool_use(f"mcp__desk__{name}", {}, id=name)) for name in tools]
    cli.script(*calls, DONE)
    done = cli.run(*STREAM, "--mcp-config", SERVERS, *flags)
    assert done.code == 0, done.err
    return [json.loads(frame["content"][0]["text"]) for frame in done.of("tool_result")], done


def warned(done, kind: str) -> list[str]:
    return [frame["message"] for frame in done.of("warning") if frame["subtype"] == kind]


def test_hooks_are_told_what_a_server_asks_and_answer_it(cli):
    log = hooked(
        cli, Elicitation=says("Elicitation", action="accept", content={"name": "Ada"}), ElicitationResult=""
    )
    heard, done = asked(cli, "--include-hook-events")
    assert heard == [{"action": "accept", "content": {"name": "Ada", "n": 3}}]
    first, second = map(json.loads, log.read_text().split("\n")[:-1])
    mine = ("hook_event_name", "mcp_server_name", "mode")
    assert [first[name] for name in mine] == ["Elicitation", "desk", "form"]
    assert first["requested_schema"] == FORM and first["message"] == ASKS["message"]
    assert [second[name] for name in mine] == ["ElicitationResult", "desk", "form"]
    assert (second["action"], second["content"]) == ("accept", {"name": "Ada"})
    assert first["session_id"] == second["session_id"] == done.frames[0]["session_id"]
    (words,) = warned(done, "mcp_answered")
    assert "are you?' (a hook said so)" in words and "\u200b" not in words


def test_an_answer_may_be_changed_before_the_server_hears_it_or_taken_back(cli):
    hooked(
        cli,
        Elicitation=says("Elicitation", action="accept", content={"name": "Ada"}),
        ElicitationResult=says("ElicitationResult", action="accept", content={"name": "Bob", "n": 1}),
    )
    assert asked(cli)[0] == [{"action": "accept", "content": {"name": "Bob", "n": 1}}]
    hooked(
        cli,
        Elicitation=says("Elicitation", action="accept", content={"name": "Ada"}),
        ElicitationResult="echo 'no names' >&2; exit 2",
    )
    heard, done = asked(cli)
    assert heard == [{"action": "decline"}]
    assert "a hook: no names" in warned(done, "mcp_declined")[0]


@pytest.mark.parametrize(
    ("hook", "why"),
    [
        ("echo 'nobody may ask' >&2; exit 2", "a hook: nobody may ask"),
        (
            says("Elicitation", action="accept", content={"n": "x"}),
            "the answer is none: n must be a whole number",
        ),
        (says("Elicitation", action="accept", content={"other": 1}), "the form has no field 'other'"),
        (says("Elicitation", action="accept", content=[1]), "a hook gave no answer"),
        (says("Elicitation", action="maybe"), "a hook gave no answer"),
        ("kill -9 $$", "a hook gave no answer"),
        (says("Elicitation", action="cancel"), "a hook said so"),
    ],
)
def test_what_is_no_clear_answer_is_a_no(cli, hook, why):
    hooked(cli, Elicitation=hook)
    heard, done = asked(cli)
    assert heard == [{"action": "cancel" if "cancel" in hook else "decline"}]
    (words,) = warned(done, "mcp_declined")
    assert why in words


def test_an_address_that_is_none_to_open_is_declined_whatever_a_hook_says(cli):
    log = hooked(cli, Elicitation=says("Elicitation", action="accept"))
    heard, done = asked(cli, tools=("address",))
    assert heard == [{"action": "decline"}]
    event = json.loads(log.read_text().split("\n")[0])
    assert (event["mode"], event["url"], event["elicitation_id"]) == ("url", URL["url"], "e1")
    (words,) = warned(done, "mcp_declined")
    assert "example.com" in words and "holds a name or a password" in words and "nothing was opened" in words


def test_a_rule_declines_before_any_hook_is_asked(cli):
    log = hooked(cli, Elicitation=says("Elicitation", action="accept", content={"name": "Ada"}))
    heard, done = asked(cli, "--deny", "Elicit(desk)")
    assert heard == [{"action": "decline"}] and not log.exists()
    assert "(a rule denies it)" in warned(done, "mcp_declined")[0]
    heard, _ = asked(cli, "--deny", "Elicit(other)")
    assert heard[0]["action"] == "accept"


def test_a_resource_of_a_prompt_needs_no_rule_and_a_rule_denies_it(cli):
    servers = given(desk={"tools": {}, "resources": {"mem://a": "the text"}})
    cli.configure("mcp_wait = 30\n")
    for flags, attached in ((("--allow", "Read"), True), (("--deny", "ReadMcpResource"), False)):
        cli.script(DONE)
        done = cli.run("-p", "look at @desk:mem://a", "--mcp-config", servers, *flags)
        assert done.code == 0, done.err
        assert ("the text" in json.dumps(cli.bodies()[-1]["messages"])) is attached, done.err
