"""Kinds of agents in Markdown files: every field, and what is said of a file that is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from caliban_agent_core.subagent.definition import AgentDefinition
from caliban_agent_core.subagent.files import MAX_DEFINITIONS, find_agents

WHOLE = """\
---
name: reviewer
description: Reviews a diff
tools: Read, Grep
disallowedTools: [Bash]
model: some-model
effort: high
maxTurns: 7
background: true
initialPrompt: Begin with the diff.
permissionMode: plan
color: blue
---

You review.
"""


def write(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text)
    return path


def test_a_file_says_everything_of_an_agent(tmp_path: Path) -> None:
    path = write(tmp_path / "agents", "a.md", WHOLE)
    agents = find_agents([tmp_path / "agents", tmp_path / "not there"])
    assert agents.problems == ()
    assert agents.definitions == (
        AgentDefinition(
            name="reviewer",
            description="Reviews a diff",
            prompt="You review.",
            tools=("Read", "Grep"),
            denied_tools=("Bash",),
            reads_only=True,
            model="some-model",
            effort="high",
            max_turns=7,
            background=True,
            initial_prompt="Begin with the diff.",
            source=str(path),
        ),
    )


def test_a_short_file_takes_its_name_from_that_of_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, "short.md", "---\ndescription: Use when: it rains\n---\n")
    (kind,) = find_agents([tmp_path]).definitions
    assert kind == AgentDefinition(name="short", description="Use when: it rains", source=str(path))


def test_the_first_folder_counts_and_other_files_do_not(tmp_path: Path) -> None:
    write(tmp_path / "one", "a.md", "---\ndescription: first\n---\n")
    write(tmp_path / "two", "a.md", "---\ndescription: second\n---\n")
    write(tmp_path / "two", "b.txt", "---\ndescription: no\n---\n")
    agents = find_agents([tmp_path / "one", tmp_path / "two"])
    assert [(kind.name, kind.description) for kind in agents.definitions] == [("a", "first")]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("just text", "it has no description"),
        ("---\nname: a b\ndescription: d\n---\n", "'a b' is no name for an agent"),
        ("---\ndescription: d\n", "the front matter has no end"),
        (
            "---\ndescription: d\nmaxTurns: many\n---\n",
            "maxTurns must be a whole number from 1 on, not 'many'",
        ),
        ("---\ndescription: d\nmaxTurns: 0\n---\n", "maxTurns must be a whole number from 1 on, not '0'"),
        (
            "---\ndescription: d\neffort: x\n---\n",
            "effort must be one of low, medium, high, xhigh, max, not 'x'",
        ),
        ("---\ndescription: d\nbackground: 1\n---\n", "background must be true or false, not '1'"),
        ("---\ndescription: d\ntools: {a: b}\n---\n", "tools must be a list of the names of tools"),
        ("---\ndescription: [d]\n---\n", "description must be text"),
    ],
)
def test_a_broken_file_is_left_out_and_named(tmp_path: Path, text: str, words: str) -> None:
    path = write(tmp_path, "x.md", text)
    write(tmp_path, "good.md", "---\ndescription: good\n---\n")
    agents = find_agents([tmp_path])
    assert [kind.name for kind in agents.definitions] == ["good"]
    assert agents.problems == (f"the agent in {path} is left out: {words}",)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("memory: user", "memory does nothing in this version"),
        (
            "mcpServers: {a: {command: x}}",
            "servers that stand in the file of an agent are not started: name those of settings or plugins",
        ),
        ("mood: good", "mood does nothing in this version"),
        ("tools: Read, Bash(git *)", "a tool cannot be narrowed for an agent, and is left out: Bash"),
        (
            "disallowedTools: Bash(rm *)",
            "a tool cannot be denied in part for an agent, and is left out as a whole: Bash",
        ),
        ("model: haiku", "the model 'haiku' is a name that is not known here; it takes that of its caller"),
        (
            "permissionMode: bypassPermissions",
            "permissionMode 'bypassPermissions' does nothing: the mode of the run holds for its agents",
        ),
    ],
)
def test_a_field_that_does_nothing_is_named(tmp_path: Path, line: str, words: str) -> None:
    path = write(tmp_path, "x.md", f"---\ndescription: d\n{line}\n---\n")
    agents = find_agents([tmp_path])
    assert agents.problems == (f"the agent x ({path}): {words}",)
    (kind,) = agents.definitions
    assert kind.model is None and "Bash" not in (kind.tools or ())


def test_a_part_that_is_denied_denies_the_whole_tool(tmp_path: Path) -> None:
    write(tmp_path, "x.md", "---\ndescription: d\ndisallowedTools: Write, Bash(rm -rf *)\ntools: '*'\n---\n")
    (kind,) = find_agents([tmp_path]).definitions
    assert (kind.tools, kind.denied_tools) == (None, ("Write", "Bash"))


def test_no_more_are_taken_than_a_request_can_hold(tmp_path: Path) -> None:
    for number in range(MAX_DEFINITIONS + 1):
        write(tmp_path, f"a{number:02}.md", "---\ndescription: d\n---\n")
    agents = find_agents([tmp_path])
    assert len(agents.definitions) == MAX_DEFINITIONS
    assert agents.problems == ("the agent a64 is left out: there are 64 others",)
