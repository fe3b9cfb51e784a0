"""`--permission-prompt-tool mcp__server__tool`: a tool of a server answers what is left to a person."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from mcp_kit import SCRIPT, given, table
from terminal_kit import on_terminal

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("Done."))
TOUCH = {"command": "touch made"}
NAME = "mcp__judge__decide"
ASK = ("-p", "go", "--output-format", "stream-json", "--permission-prompt-tool", NAME)
KEY = "sk-ant-api03-" + "a1B2" * 20


def judge(answer: object, **more: object) -> str:
    text = answer if isinstance(answer, str) else json.dumps(answer)
    return given(judge={"tools": {"decide": {"text": text, **more}, "other": {}}})


def touches(cli, *, id: str = "toolu_1") -> None:
    cli.script(wire.exchange(wire.tool_use("Bash", TOUCH, id=id)), DONE)


def test_the_tool_is_given_the_call_and_its_allow_runs_it(cli, tmp_path: Path):
    log = tmp_path / "log"
    cli.extra["ANTHROPIC_API_KEY"] = KEY
    command = {"command": f"touch made; : {KEY}"}
    cli.script(wire.exchange(wire.tool_use("Bash", command, id="toolu_1")), DONE)
    servers = judge({"behavior": "allow"}, logs=str(log))
    done = cli.run(*ASK, "--mcp-config", servers)
    assert (done.code, done.frames[-1]["permission_denials"]) == (0, []), done.err
    assert (cli.work / "made").exists()
    (asked,) = map(json.loads, log.read_text().splitlines())
    assert set(asked) == {"tool_name", "input", "tool_use_id"}
    assert (asked["tool_name"], asked["tool_use_id"]) == ("Bash", "toolu_1")
    assert asked["input"]["command"].startswith("touch made; : ") and KEY not in log.read_text()
    tools = [tool["name"] for tool in cli.bodies()[0]["tools"] if tool["name"].startswith("mcp__")]
    assert tools == ["mcp__judge__other"], "the model does not call who answers for a person"


def test_another_input_runs_in_its_place_and_is_judged_again(cli):
    touches(cli)
    other = judge({"behavior": "allow", "updatedInput": {"command": "touch other"}})
    assert cli.run(*ASK, "--mcp-config", other).code == 0
    assert [path.name for path in cli.work.iterdir()] == ["other"]
    touches(cli)
    done = cli.run(*ASK, "--mcp-config", other, "--deny", "Bash:touch other")
    assert len(done.frames[-1]["permission_denials"]) == 1


@pytest.mark.parametrize(
    ("answer", "more", "words"),
    [
        ({"behavior": "deny", "message": "not on a Sunday"}, {}, "not on a Sunday"),
        ({"behavior": "deny"}, {}, "the user said no"),
        ("yes", {}, "neither a success nor an error"),
        ({"behavior": "maybe"}, {}, "neither allow nor deny"),
        ({"behavior": "allow", "updatedInput": [1]}, {}, "updatedInput is no object"),
        ([{"behavior": "allow"}], {}, "neither a success nor an error"),
        ({"behavior": "allow"}, {"error": True}, "could not decide"),
        ({"behavior": "allow"}, {"content": []}, "neither a success nor an error"),
        ({"behavior": "deny", "message": "stop", "interrupt": True}, {}, ""),
    ],
)
def test_whatever_is_no_clear_yes_denies(cli, answer, more, words):
    touches(cli)
    done = cli.run(*ASK, "--mcp-config", judge(answer, **more))
    assert not (cli.work / "made").exists()
    (result,) = done.of("tool_result")
    assert words in result["content"][0]["text"]
    interrupted = isinstance(answer, dict) and answer.get("interrupt") is True
    assert done.frames[-1]["subtype"] == ("cancelled" if interrupted else "success")


def test_an_allow_with_rules_that_last_holds_for_its_call_and_says_so(cli):
    rule = {
        "type": "addRules",
        "rules": [{"toolName": "Bash"}],
        "behavior": "allow",
        "destination": "session",
    }
    call = wire.tool_use
    cli.script(wire.exchange(call("Bash", TOUCH, id="t1")), wire.exchange(call("Bash", TOUCH, id="t2")), DONE)
    log = cli.work.parent / "log"
    answer = {"behavior": "allow", "updatedPermissions": [rule]}
    done = cli.run(*ASK, "--mcp-config", judge(answer, logs=str(log)))
    assert len(log.read_text().splitlines()) == 2
    assert "holds for its call alone" in done.of("warning")[0]["message"]


def test_what_rules_decide_is_not_asked(cli):
    log = cli.work.parent / "log"
    servers = judge({"behavior": "allow"}, logs=str(log))
    touches(cli)
    done = cli.run(*ASK, "--mcp-config", servers, "--deny", "Bash:touch *")
    assert len(done.frames[-1]["permission_denials"]) == 1
    touches(cli)
    assert cli.run(*ASK, "--mcp-config", servers, "--allow", "Bash:touch *").code == 0
    assert (cli.work / "made").exists() and not log.exists()


def test_a_tool_that_cannot_be_asked_ends_the_run_before_anything_is_sent(cli):
    cli.configure("mcp_wait = 30\n" + table("judge", {"tools": {"other": {}}}) + table("dead", {"exit": 1}))
    cases = (
        (("mcp__nobody__decide",), "there are: dead, judge"),
        (("mcp__judge__decide",), "it offers: mcp__judge__other"),
        (("mcp__dead__decide",), "the MCP server dead is not there"),
        (("mcp__judge__other", "--deny", "mcp__judge__other"), "offers no such tool"),
    )
    for (name, *flags), words in cases[:3]:
        done = cli.run("-p", "go", "--permission-prompt-tool", name, *flags)
        assert (done.code, words in done.err) == (78, True), done.err
    (name, *flags), _ = cases[3]
    done = cli.run("-p", "go", "--permission-prompt-tool", name, *flags)
    assert (done.code, "a rule denies it" in done.err) == (78, True), done.err
    assert cli.bodies() == []


def test_a_tool_that_nobody_has_looked_at_answers_for_nobody(cli, tmp_path: Path):
    what = tmp_path / "what.json"
    server = {"command": sys.executable, "args": ["-S", "-E", str(SCRIPT), f"@{what}"]}
    config = ("--mcp-config", json.dumps({"mcpServers": {"judge": server}}))
    what.write_text(json.dumps({"tools": {"other": {}}}))
    cli.configure("mcp_wait = 30\n")
    cli.script(DONE)
    assert cli.run("-p", "go", *config).code == 0
    what.write_text(json.dumps({"tools": {"other": {}, "decide": {"text": '{"behavior": "allow"}'}}}))
    done = cli.run(*ASK, *config)
    assert (done.code, "nobody has looked at it" in done.err + done.out) == (78, True), done.err
    assert len(cli.bodies()) == 1


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_at_a_terminal_nobody_else_is_asked(cli):
    shown = on_terminal(cli, "--permission-prompt-tool", NAME)
    assert "at a terminal you are asked yourself" in shown
    assert cli.bodies() == []
