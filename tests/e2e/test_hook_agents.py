"""Hooks that are agents, through the real command: what they may do, and what their verdict comes to."""

from __future__ import annotations

import json
from typing import Any

import pytest

from caliban_provider_anthropic.testing import wire

DONE = wire.exchange(wire.text("done"))
CALL = wire.exchange(wire.tool_use("Bash", {"command": "touch made"}, id="t1"))


def hooked(cli, *hooks: dict[str, Any], event: str = "PreToolUse") -> None:
    path = cli.home / ".config" / "caliban" / "settings.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": {event: [{"hooks": [{"type": "agent", **one} for one in hooks]}]}}))


def look(name: str = "Read", **args: Any):
    return wire.exchange(wire.tool_use(name, args, id="h1"))


def result(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"][-1])


@pytest.mark.parametrize(
    ("verdict", "runs"), [('{"ok": true}', True), ('{"ok": false, "reason": "odd"}', False)]
)
def test_an_agent_looks_at_files_before_it_judges(cli, verdict, runs):
    (cli.work / "rules.txt").write_text("touch nothing\n")
    hooked(cli, {"prompt": "Do the rules allow it? $ARGUMENTS"})
    cli.script(CALL, look(path="rules.txt"), wire.exchange(wire.text(verdict)), DONE)
    done = cli.run("-p", "go", "--allow", "Bash")
    assert done.code == 0, done.err
    assert (cli.work / "made").exists() is runs
    first, second = cli.bodies()[1:3]
    assert "Do the rules allow it?" in json.dumps(first["messages"])
    assert "touch made" in json.dumps(first["messages"])
    assert {tool["name"] for tool in first["tools"]} >= {"Read", "Grep", "Glob"}
    assert not {tool["name"] for tool in first["tools"]} & {"Bash", "Write", "Edit", "Agent", "TodoWrite"}
    assert "touch nothing" in result(second)
    assert ("odd" in result(cli.bodies()[3])) is not runs


@pytest.mark.parametrize(
    "answers",
    [
        (wire.exchange(wire.text("It looks fine to me.")),),
        (wire.exchange(wire.text('{"ok": "yes"}')),),
        tuple(look("Glob", pattern=str(n)) for n in range(2)),
    ],
    ids=["words", "another form", "no end"],
)
def test_an_agent_without_a_verdict_is_a_hook_without_an_answer(cli, answers):
    hooked(cli, {"prompt": "All right?"})
    cli.script(CALL, *answers, DONE)
    done = cli.run("-p", "go", "--allow", "Bash", "--max-turns", "2")
    assert not (cli.work / "made").exists()
    assert "a hook gave no answer" in result(cli.bodies()[-1]), done.err


def test_an_agent_of_a_kind_is_asked_by_its_words_and_only_reads(cli):
    agents = cli.home / ".config" / "caliban" / "agents"
    agents.mkdir(parents=True)
    (agents / "judge.md").write_text(
        "---\nname: judge\ndescription: judges\ntools: Read, Bash\nmodel: claude-haiku-4-5\n---\nBe strict.\n"
    )
    hooked(cli, {"prompt": "All right?", "agent": "judge"})
    cli.script(CALL, look("Bash", command="touch other"), wire.exchange(wire.text('{"ok": true}')), DONE)
    done = cli.run("-p", "go", "--allow", "Bash")
    assert (done.code, (cli.work / "made").exists()) == (0, True), done.err
    assert not (cli.work / "other").exists()
    asked = cli.bodies()[1]
    assert [tool["name"] for tool in asked["tools"]] == ["Read"]
    assert (asked["model"], "Be strict." in json.dumps(asked["system"])) == ("claude-haiku-4-5", True)


def test_an_agent_that_nobody_waits_for_decides_nothing_and_no_hook_hears_of_it(cli):
    hooked(cli, {"prompt": "Note it.", "async": True, "once": True})
    cli.script(CALL, *[wire.exchange(wire.text("done"))] * 2)
    done = cli.run("-p", "go", "--allow", "Bash")
    assert (done.code, done.out, (cli.work / "made").exists()) == (0, "done\n", True), done.err
    assert len(cli.bodies()) == 3


def test_what_an_agent_spends_counts(cli):
    hooked(cli, {"prompt": "All right?"})
    cli.script(CALL, wire.exchange(wire.text('{"ok": true}')), DONE)
    done = cli.run("-p", "go", "--allow", "Bash", "--output-format", "json")
    alone = done.json["total_cost_usd"]
    path = cli.home / ".config" / "caliban" / "settings.json"
    path.write_text("{}")
    cli.script(CALL, DONE)
    done = cli.run("-p", "go", "--allow", "Bash", "--output-format", "json")
    assert alone == pytest.approx(done.json["total_cost_usd"] * 1.5)
