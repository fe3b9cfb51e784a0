"""Asking: a suggestion allows what it was made for; answers of a session, modes in a row, `explain` alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_common.message import ToolUseBlock
from caliban_common.permission import Decision
from caliban_permissions import Engine, Rule, RuleSet, explain
from caliban_permissions.modes import CHIPS, CYCLE, next_mode
from caliban_permissions.names import guide_spec

SPECS = {name: spec for name in ("Bash", "Write", "Edit", "Read", "WebFetch") if (spec := guide_spec(name))}
PROGRAMS = ("make", "pytest", "npm", "git", "cargo", "docker", "rm", "cp", "python3", "go")
WORDS = st.sampled_from(
    [
        *("install", "push", "test", "deploy", "--all", "-q", "src/a.py", "origin", "main", "'a b'", '"x y"'),
        *("file*", "-C", "..", "build", "./run.sh", "remote", "add", "stash", "pop", "a\\ b", "HEAD~1"),
    ]
)
NAMES = st.sampled_from(["out.txt", "docs/a.md", "../beside.txt", "'a b.txt'", "x"])


@st.composite
def simple(draw: Any) -> str:
    words = [draw(st.sampled_from(PROGRAMS)), *draw(st.lists(WORDS, max_size=3))]
    if draw(st.booleans()):
        words += [draw(st.sampled_from([">", ">>", "2>"])), draw(NAMES)]
    return " ".join(words)


COMMANDS = st.lists(simple(), min_size=1, max_size=3).flatmap(
    lambda parts: st.sampled_from([" && ", "; ", " | "]).map(lambda glue: glue.join(parts))
)


def engine(tmp_path: Path, *allowed: str, **layers: Any) -> Engine:
    rules = {scope: tuple(Rule(pattern=p, action=a) for a, p in rows) for scope, rows in layers.items()}
    made = Engine(
        RuleSet(**rules),
        mode="default",
        workspace=tmp_path,
        interactive=True,
        home=tmp_path / "home",
        vouched=SPECS.values(),
    )
    return made.with_answers([Rule(pattern=pattern, action="allow") for pattern in allowed])


def decide(made: Engine, command: str) -> Decision:
    return made.decide(SPECS["Bash"], {"command": command})


@settings(deadline=None, max_examples=examples(80))
@given(command=COMMANDS, other=st.sampled_from(["zz9", "xargs", "sudo make", "bash"]), data=st.data())
def test_a_suggestion_taken_allows_the_command_and_none_beside_it(tmp_path_factory, command, other, data):
    tmp_path = tmp_path_factory.getbasetemp()
    asked = decide(engine(tmp_path), command)
    if asked.action != "ask" or not asked.suggestions:
        return
    taken = engine(tmp_path, *asked.suggestions)
    assert decide(taken, command).action == "allow"
    written = engine(tmp_path, user=[("allow", pattern) for pattern in asked.suggestions])
    assert decide(written, command).action == "allow"
    for glue in (" && ", "; ", " | ", " || ", "\n", " & "):
        assert decide(taken, f"{command}{glue}{other} x").action != "allow"
        assert decide(taken, f"{other} x{glue}{command}").action != "allow"
    for nested in (f"{command} $({other} x)", f"{command} `{other} x`", f"$({other} x) {command}"):
        assert decide(taken, nested).action != "allow"
    assert decide(taken, f"{command} > {tmp_path}/elsewhere.txt").action != "allow"
    program, _, rest = command.partition(" ")
    assert decide(taken, f"{other} {rest}").action != "allow"
    assert decide(taken, f"./{program} {rest}").action != "allow"


@settings(deadline=None, max_examples=examples(60))
@given(
    program=st.sampled_from(("git", "cargo", "npm", "docker", "go")),
    verbs=st.permutations(("push", "run", "zz")),
)
def test_a_suggestion_covers_one_sub_command(tmp_path_factory, program, verbs):
    tmp_path = tmp_path_factory.getbasetemp()
    asked = decide(engine(tmp_path), f"{program} {verbs[0]} a")
    assert asked.suggestions
    taken = engine(tmp_path, *asked.suggestions)
    assert decide(taken, f"{program} {verbs[0]} a").action == "allow"
    assert decide(taken, f"{program} {verbs[1]} a").action == "ask"
    assert decide(taken, f"{program} -c x=y {verbs[0]} a").action == "ask"


@settings(deadline=None, max_examples=examples(60))
@given(
    name=st.text(st.characters(codec="ascii", exclude_characters="/\x00"), min_size=1, max_size=12),
    other=st.sampled_from(["a.md", "../a.md", "docs/../b", "x/y"]),
    tool=st.sampled_from(["Write", "Edit"]),
)
def test_a_suggestion_for_a_file_is_that_file(tmp_path_factory, name, other, tool):
    tmp_path = tmp_path_factory.getbasetemp()
    args = {"path": f"docs/{name}"}
    asked = engine(tmp_path).decide(SPECS[tool], args)
    if asked.action != "ask" or not asked.suggestions:
        return
    taken = engine(tmp_path, *asked.suggestions)
    assert taken.decide(SPECS[tool], args).action == "allow"
    assert tool not in asked.suggestions
    if other != name:
        assert taken.decide(SPECS[tool], {"path": f"docs/{other}"}).action == "ask"
    assert decide(taken, f"make > {tmp_path}/docs/zz").action == "ask"


@pytest.mark.parametrize(
    ("command", "layers"),
    [
        ("make", {"managed": [("ask", "Bash:make*")]}),
        ("touch .git/config", {}),
        ("make $WHAT", {}),
        ("rm -rf ~", {}),
    ],
)
def test_nothing_is_suggested_where_no_rule_could_last(tmp_path, command, layers):
    asked = decide(engine(tmp_path, **layers), command)
    assert (asked.action, asked.suggestions) == ("ask", ())


def test_an_answer_lifts_what_asks_and_no_deny(tmp_path):
    layers = {"user": [("ask", "Bash:git *")], "cli": [("deny", "Bash:git push --force*")]}
    taken = engine(tmp_path, "Bash(git push:*)", **layers)
    assert decide(taken, "git push origin").action == "allow"
    assert decide(taken, "git push --force").action == "deny"
    assert decide(taken, "git fetch").action == "ask"
    assert decide(engine(tmp_path, "Bash", **layers), "git push --force; ls").action == "deny"
    mine = engine(tmp_path, **layers).with_answers([Rule(pattern="Bash:make *", action="deny")])
    assert decide(mine, "make x").action == "deny"


def test_modes_go_round_and_bypass_has_a_latch():
    row = []
    mode: Any = "default"
    for _ in CYCLE:
        mode = next_mode(mode, may_bypass=True).mode
        row.append(mode)
    assert row == [*CYCLE[1:], "default"]
    latched = next_mode("dontAsk", may_bypass=False)
    assert latched.mode == "default" and "bypassPermissions was not allowed" in latched.warning
    assert next_mode("disabled", may_bypass=True).mode == "disabled"
    assert set(CHIPS) == {*CYCLE[1:], "disabled"}


def test_a_call_is_explained_alone(tmp_path):
    rules = [Rule(pattern="Bash:git *", action="allow"), Rule(pattern="Bash:~rm *", action="deny")]
    call = ToolUseBlock(id="t", name="Bash", input={"command": "git fetch && sudo rm -r x"})
    explained = explain(call, rules, workspace=tmp_path)
    assert isinstance(explained, Decision)
    assert (explained.action, explained.rule, explained.by) == ("deny", "Bash:~rm *", "rule")
    assert [(part.action, part.text) for part in explained.commands] == [
        ("allow", "git fetch"),
        ("deny", "sudo rm -r x"),
    ]
    free = explain(call, RuleSet(), workspace=tmp_path, mode="dontAsk")
    assert (free.action, free.mode) == ("allow", "dontAsk")
    unknown = ToolUseBlock(id="t", name="mcp__a__b", input={})
    assert explain(unknown, (), workspace=tmp_path).action == "ask"
