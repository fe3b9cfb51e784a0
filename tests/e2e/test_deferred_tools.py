"""Tools of other packages that are held back until a search finds them, through the real command."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from caliban_provider_anthropic.testing import wire

MODULE = """
from caliban_common.tool import ToolOutput, ToolSpec

class Desk:
    def __init__(self, name, about, kind="read", deferred=True):
        schema = {"type": "object", "properties": {"q": {"type": "string"}}}
        self.spec = ToolSpec(
            name=name, description=about, input_schema=schema, kind=kind, main_argument="q", deferred=deferred
        )

    def conflict_key(self, args):
        return None

    async def invoke(self, args, context):
        return ToolOutput.of(f"{self.spec.name} of {args.get('q')}")

FIND = Desk("crm_find", "Find a customer by name.")
BILL = Desk("crm_bill", "Write a bill to a customer.", kind="other")
RAIN = Desk("weather", "Tell whether it rains.")
PLAIN = Desk("plain", "Always at hand.", deferred=False)
LONG = Desk("long", "An essay. " * 5000)
"""
LAZY = "[tools]\nlazy_mcp = true\n"
DONE = wire.exchange(wire.text("Done."))
STREAM = ("-p", "go", "--output-format", "stream-json")


@pytest.fixture
def desks(tmp_path: Path) -> Any:
    """Installs the named tools of a package; the environment that has it."""

    def install(*names: str) -> dict[str, str]:
        info = tmp_path / "site" / "desks-1.dist-info"
        info.mkdir(parents=True)
        lines = "".join(f"{name.lower()} = desks:{name}\n" for name in names)
        (info / "entry_points.txt").write_text(f"[caliban.tools]\n{lines}")
        (tmp_path / "site" / "desks.py").write_text(MODULE)
        beside = (str(tmp_path / "site"), os.environ.get("PYTHONPATH"))
        return {"PYTHONPATH": os.pathsep.join(filter(None, beside))}

    return install


def call(name: str, args: dict[str, Any], *, id: str = "c1") -> Any:
    return wire.exchange(wire.tool_use(name, args, id=id))


def search(query: str, *, id: str = "s1", **more: Any) -> Any:
    return call("ToolSearch", {"query": query, **more}, id=id)


def offered(cli: Any) -> list[list[str]]:
    """The tools of each request, from the one that starts agents on."""
    named = [[tool["name"] for tool in body["tools"]] for body in cli.bodies()]
    return [names[names.index("Agent") + 1 :] if "Agent" in names else names for names in named]


def answers(cli: Any) -> list[str]:
    """The results that the last request ends with."""
    blocks = [
        block for block in cli.bodies()[-1]["messages"][-1]["content"] if block["type"] == "tool_result"
    ]
    return ["".join(part["text"] for part in block["content"]) for block in blocks]


def test_a_tool_is_held_back_until_a_search_finds_it_and_can_be_called_then(cli, desks):
    cli.configure(LAZY)
    cli.script(search("customer name"), call("crm_find", {"q": "Ada"}), DONE)
    done = cli.run(*STREAM, "--allow", "crm_find", env=desks("FIND", "RAIN"))
    assert (done.code, done.frames[-1]["result"]) == (0, "Done.")
    assert offered(cli) == [["ToolSearch"], ["ToolSearch", "crm_find"], ["ToolSearch", "crm_find"]]
    hit, ran = (frame["content"][0]["text"] for frame in done.of("tool_result"))
    head, line = hit.split("\n")
    assert head == "→ ToolSearch 'customer name': 1 tool, to be called from your next reply on"
    assert json.loads(line) == {
        "name": "crm_find",
        "description": "Find a customer by name.",
        "input_schema": {"type": "object", "properties": {"q": {"type": "string"}}},
    }
    assert ran == "crm_find of Ada"
    assert done.frames[-1]["permission_denials"] == [], "nobody is asked about a search"


def test_the_beginning_of_the_prompt_stays_as_it_was_up_to_the_tools_that_are_new(cli, desks):
    cli.configure(LAZY)
    cli.script(search("crm"), DONE)
    cli.run(*STREAM, env=desks("FIND", "BILL", "PLAIN"))
    first, second = cli.bodies()
    names = [tool["name"] for tool in second["tools"]]
    assert names[-3:] == ["ToolSearch", "crm_bill", "crm_find"]
    bare = [{k: v for k, v in tool.items() if k != "cache_control"} for tool in second["tools"]]
    assert bare[:-2] == [{k: v for k, v in tool.items() if k != "cache_control"} for tool in first["tools"]]
    assert "plain" in names and first["system"] == second["system"]


def test_a_call_that_nobody_searched_for_runs_and_its_tool_is_offered_from_then_on(cli, desks):
    cli.configure(LAZY)
    cli.script(call("crm_find", {"q": "Ada"}), DONE)
    done = cli.run(*STREAM, "--allow", "crm_find", env=desks("FIND", "RAIN"))
    assert done.code == 0, done.err
    assert answers(cli) == ["crm_find of Ada"]
    assert offered(cli) == [["ToolSearch"], ["ToolSearch", "crm_find"]]


def test_rules_hold_for_a_tool_that_is_held_back(cli, desks):
    cli.configure(LAZY)
    cli.script(call("crm_bill", {"q": "Ada"}), DONE)
    done = cli.run(*STREAM, env=desks("BILL"))
    assert [denial["tool_name"] for denial in done.frames[-1]["permission_denials"]] == ["crm_bill"]
    assert offered(cli)[1] == ["ToolSearch"], "what was denied needs no schema"


def test_a_tool_that_a_rule_denies_is_neither_found_nor_there(cli, desks):
    cli.configure(LAZY)
    cli.script(search("crm"), search("select:crm_bill", id="s2"), call("crm_bill", {"q": "x"}), DONE)
    done = cli.run(*STREAM, "--deny", "crm_bill", env=desks("FIND", "BILL"))
    crm, select, called = (frame["content"][0]["text"] for frame in done.of("tool_result"))
    assert "crm_find" in crm and "crm_bill" not in crm
    assert select.split("\n") == [
        "→ ToolSearch 'select:crm_bill': nothing is found",
        "no tool that is held back is called crm_bill",
        "there are: crm_find",
    ]
    assert called == "Error: invalid input: tool not found: crm_bill"


def test_with_room_for_one_schema_the_one_that_was_not_used_goes_and_the_answer_says_so(cli, desks):
    cli.configure(f"{LAZY}max_active_schemas = 1\n")
    cli.script(search("crm_find"), search("weather", id="s2"), call("crm_find", {"q": "Ada"}), DONE)
    done = cli.run(*STREAM, "--allow", "crm_find", env=desks("FIND", "RAIN"))
    assert offered(cli)[1:] == [
        ["ToolSearch", "crm_find"],
        ["ToolSearch", "weather"],
        ["ToolSearch", "crm_find"],
    ]
    first, second, *ran = (part["text"] for frame in done.of("tool_result") for part in frame["content"])
    gone = "no longer shown, for at most 1 schema can be: "
    assert gone not in first and second.endswith(f"\n{gone}crm_find")
    assert ran == ["crm_find of Ada", f"[{gone}weather]"]


def test_what_was_found_is_not_remembered_by_a_session_that_goes_on(cli, desks):
    cli.configure(LAZY)
    env = desks("FIND")
    cli.script(search("crm"), DONE, DONE)
    cli.run("-p", "go", "--session", "s", env=env)
    done = cli.run("-p", "on", "-r", "s", env=env)
    assert done.code == 0, done.err
    assert offered(cli) == [["ToolSearch"], ["ToolSearch", "crm_find"], ["ToolSearch"]]


@pytest.mark.parametrize(
    ("settings", "tools", "held"),
    [
        ("", ("FIND", "RAIN"), False),
        ("", ("FIND", "LONG"), True),
        ("[tools]\nlazy_mcp = false\n", ("FIND", "LONG"), False),
        (LAZY, ("PLAIN",), False),
    ],
)
def test_without_a_setting_tools_are_held_back_where_their_schemas_are_large(
    cli, desks, settings, tools, held
):
    cli.configure(settings)
    cli.script(DONE)
    assert cli.run("-p", "go", "--model", "claude-haiku-4-5", env=desks(*tools)).code == 0
    names = [tool["name"] for tool in cli.bodies()[0]["tools"]]
    assert ("ToolSearch" in names, "crm_find" in names) == (held, not held and "FIND" in tools)


def test_who_denies_the_search_has_all_tools_shown(cli, desks):
    cli.configure(LAZY)
    cli.script(DONE)
    assert cli.run("-p", "go", "--deny", "ToolSearch", env=desks("FIND")).code == 0
    names = [tool["name"] for tool in cli.bodies()[0]["tools"]]
    assert "ToolSearch" not in names and "crm_find" in names


def test_plan_mode_lets_the_model_search(cli, desks):
    cli.configure(LAZY)
    cli.script(search("crm"), DONE)
    cli.run(*STREAM, "--permission-mode", "plan", env=desks("FIND"))
    assert offered(cli)[1] == ["ToolSearch", "crm_find"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("lazy_mcp = 'yes'", "tools.lazy_mcp"),
        ("max_active_schemas = 0", "tools.max_active_schemas"),
        ("max_active_schemas = 'all'", "tools.max_active_schemas"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(cli, value, why):
    cli.configure(f"[tools]\n{value}\n")
    done = cli.run("-p", "go")
    assert done.code == 78 and why in done.err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({}, "query"),
        ({"query": " "}, "the query is empty"),
        ({"query": 7}, "argument 'query' must be a string"),
        ({"query": "crm", "max_results": 26}, "between 1 and 25"),
        ({"query": "select:"}, "names no tool"),
    ],
)
def test_a_search_that_makes_no_sense_is_answered(cli, desks, args, says):
    cli.configure(LAZY)
    cli.script(call("ToolSearch", args), DONE)
    done = cli.run(*STREAM, env=desks("FIND"))
    assert done.code == 0
    (answer,) = answers(cli)
    assert answer.startswith("Error: invalid input: ToolSearch:") and says in answer


def kind(cli: Any, head: str) -> None:
    folder = cli.home / ".config" / "caliban" / "agents"
    folder.mkdir(parents=True)
    (folder / "clerk.md").write_text(f"---\nname: clerk\ndescription: writes bills\n{head}---\nBe quick.\n")


@pytest.mark.parametrize(
    ("head", "shown"),
    [
        ("", ["ToolSearch", "crm_find"]),
        ("inherit_active_mcp: true\n", ["ToolSearch", "crm_find"]),
        ("inherit_active_mcp: false\n", ["ToolSearch"]),
        ("tools: ToolSearch, weather\n", ["ToolSearch"]),
        ("tools: Read, weather\n", ["weather"]),
        ("disallowedTools: crm_find\n", ["ToolSearch"]),
    ],
)
def test_an_agent_begins_with_what_its_caller_has_found_and_what_it_finds_is_its_own(cli, desks, head, shown):
    cli.configure(LAZY)
    kind(cli, head)
    task = {"description": "a bill", "prompt": "bill Ada", "subagent_type": "clerk"}
    cli.script(search("crm_find"), call("Agent", task, id="d1"), search("weather", id="s2"), DONE, DONE)
    done = cli.run(*STREAM, env=desks("FIND", "RAIN"))
    assert done.code == 0, done.err
    bodies = cli.bodies()
    before, after, last = ([tool["name"] for tool in body["tools"]] for body in bodies[2:5])
    ours = ("ToolSearch", "crm_find", "weather")
    assert [name for name in before if name in ours] == shown
    if "ToolSearch" in shown:
        assert [name for name in after if name in ours] == [*shown, "weather"]
    assert [name for name in last if name in ours] == ["ToolSearch", "crm_find"]


def test_a_package_cannot_take_the_name_of_the_search(cli, desks, tmp_path):
    env = desks("FIND")
    (tmp_path / "site" / "desks.py").write_text(MODULE.replace('"crm_find"', '"ToolSearch"'))
    cli.script(DONE)
    done = cli.run("-p", "go", env=env)
    assert done.code == 0 and "'ToolSearch' already" in done.err


@pytest.mark.parametrize("strict", [(), ("--strict",)], ids=["plain", "strict"])
def test_a_run_that_searched_for_tools_plays_again(cli: Any, desks: Any, strict: tuple[str, ...]) -> None:
    env = desks("FIND", "BILL", "PLAIN")
    cli.configure(LAZY)
    cli.script(search("customer"), call("crm_find", {"q": "Ada"}), call("crm_bill", {"q": "1"}), DONE)
    done = cli.run(*STREAM, "--record", "run.jsonl", "--allow", "crm_bill", env=env)
    assert done.code == 0, done.err
    asked = len(cli.bodies())
    again = cli.run("replay", "run.jsonl", *strict, env=env if strict else None)
    assert (again.code, again.out) == (0, done.out), again.err
    assert len(cli.bodies()) == asked
