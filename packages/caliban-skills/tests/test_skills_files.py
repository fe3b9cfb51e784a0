"""Files of skills and commands: what is read of them, what is refused, and in which words."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.tool import ToolContext
from caliban_skills import (
    NoSuchSkill,
    Skill,
    SkillRefused,
    SkillTool,
    builtin_skills,
    loaded_text,
    make_catalog,
    skill_spec,
)
from caliban_skills.arguments import fill, with_arguments
from caliban_skills.builtins import builtin_body
from caliban_skills.command import CommandLine, CommandText, command_pieces, read_command
from caliban_skills.read import read_skill
from caliban_skills.tool import MANY, MAX_LISTED_CHARS

PATH = Path("skills/x/SKILL.md")
CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="t")


def read(head: str, body: str = "body") -> Skill:
    return read_skill(PATH, f"---\n{head}\n---\n{body}\n".encode(), "user")


def own(name: str, **fields) -> Skill:
    return Skill(name=name, **{"description": "d", "scope": "user", "path": Path(name, "SKILL.md"), **fields})


@pytest.mark.parametrize(
    ("head", "tools"),
    [
        ("description: Use for marketing work: writing\nallowed-tools: Read", ("Read",)),
        (
            "description: a # b\nallowed-tools: Read, Bash(git log:*), Grep",
            ("Read", "Bash(git log:*)", "Grep"),
        ),
        ("description: '@x'\nallowed-tools: Read Grep", ("Read", "Grep")),
        ("description: '*x'\nallowed-tools:\n  - Read\n  - Bash(npm run *)", ("Read", "Bash(npm run *)")),
        ("description: @x\nallowed-tools: [Read]", None),
        ("description: x\nallowed-tools: mcp__docs__*", ("mcp__docs__*",)),
    ],
)
def test_a_skill_keeps_its_tools_or_is_refused(head, tools):
    try:
        skill = read(f"name: x\n{head}")
    except SkillRefused as error:
        assert tools is None and error.message.startswith(f"{PATH}:4: `allowed-tools`")
    else:
        assert skill.allowed_tools == tools


def test_a_whole_file_says_all_that_it_can():
    skill = read(
        "name: x\ndescription: d\nwhen_to_use: soon\nlicense: MIT\nmetadata: {a: b}\nargument-hint: '[n]'\n"
        "paths: ['**/*.py', docs/*.md]\nuser-invocable: false\ndisable-model-invocation: true\nmodel: m\n"
        "new: 1",
        "a\n---\nb",
    )
    assert skill == Skill(
        name="x",
        description="d soon",
        scope="user",
        body="a\n---\nb",
        path=PATH,
        for_person_only=True,
        user_invocable=False,
        paths=("**/*.py", "docs/*.md"),
        argument_hint="[n]",
        notes=("model does nothing in this version",),
    )


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("description: d", ":1: `name` is missing"),
        ("name: x", ":1: `description` is missing"),
        ("name: y\ndescription: d", ":2: `name` must be the name of its folder, 'x', not 'y'"),
        ("name: ../x\ndescription: d", ":2: `name` must be 1 to 64 of a-z, 0-9 and -, not '../x'"),
        ("name: X\ndescription: d", ":2: `name` must be 1 to 64"),
        ("name: [x]\ndescription: d", ":2: `name` must be text"),
        ("name: " + "x" * 65 + "\ndescription: d", ":2: `name` must have at most 64"),
        ("name: x\ndescription: " + "d" * 1025, ":3: `description` must have at most 1,024"),
        ("name: x\ndescription: d\nallowed-tools: 'Read; rm'", ":4: `allowed-tools` must be names of tools"),
        ("name: x\ndescription: d\nallowed-tools: {Read: yes}", ":4: `allowed-tools` must be names of tools"),
    ],
)
def test_what_is_no_skill_is_refused_with_file_line_and_key(head, words):
    with pytest.raises(SkillRefused) as caught:
        read(head)
    assert caught.value.message.startswith(f"{PATH}{words}")


def test_of_two_with_one_name_the_first_counts_and_the_other_is_found_by_its_scope():
    first, second = own("commit", scope="project"), own("commit")
    catalog = make_catalog([first, second, *builtin_skills()])
    assert [skill.full_name for skill in catalog.shadowed] == ["user:commit", "builtin:commit"]
    assert catalog.find("commit") is catalog.find("project:commit") is first
    assert catalog.find("user:commit") is second
    with pytest.raises(NoSuchSkill, match="no skill 'user:commit'"):
        catalog.named("user:commit")
    with pytest.raises(NoSuchSkill) as caught:
        catalog.find("comit")
    assert caught.value.hint == "did you mean commit?"


def test_the_list_of_many_skills_is_bounded_and_the_tool_may_be_held_back():
    few = skill_spec(make_catalog([own(f"s{n}", description="w " * 500) for n in range(MANY)]))
    assert not few.deferred and len(few.description) < MAX_LISTED_CHARS + 200
    many = skill_spec(make_catalog([own(f"s{n}", description="w " * 500) for n in range(500)]))
    assert many.deferred and len(many.description) < MAX_LISTED_CHARS + 200
    assert many.description.count("\n- s") == 500
    assert skill_spec().description == "Load a skill before you begin such a task:"


@pytest.mark.parametrize(
    "args", [{}, {"name": 3}, {"name": "x", "args": []}, {"name": ""}, {"name": "a" * 9999}]
)
def test_a_call_that_is_none_is_an_error_and_no_fault(args):
    output = anyio.run(SkillTool(make_catalog(builtin_skills())).invoke, args, CONTEXT)
    assert output.is_error and len(output.text) < 500


def test_the_built_in_skills_have_words_and_take_arguments():
    for skill in builtin_skills():
        assert len(builtin_body(skill.name)) > 300
        assert loaded_text(skill, "this").rstrip().endswith(": this\n</skill>")


def test_arguments_are_put_in_once():
    assert fill("$1 $2 $ARGUMENTS", "$2 b") == "$2 b $2 b"
    assert fill("$12 $1x $ARGUMENTSX costs $5", "a") == "$12 $1x $ARGUMENTSX costs "
    assert with_arguments("say", "x") == "say\n\nx"
    assert with_arguments("$ARGUMENTS $1", "x") == "x $1"


def test_a_command_is_cut_into_words_and_lines():
    command = read_command(Path("c.md"), b"See !`git log $1` and `!`x`` (!`ls`).\n!`a\nb`", "user", "c")
    assert command.steers
    pieces = command_pieces(command, "HEAD")
    assert [piece for piece in pieces if isinstance(piece, CommandLine)] == [
        CommandLine(command="git log HEAD"),
        CommandLine(command="ls"),
    ]
    assert isinstance(pieces[-1], CommandText)
    assert not read_command(Path("c.md"), b"say !`` and wow!`x`", "user", "c").steers


@given(st.binary(max_size=400), st.text(max_size=40))
def test_any_bytes_are_a_skill_or_a_command_or_refused(data, said):
    for text in (data, b"---\nname: x\ndescription: d\n" + data):
        try:
            assert read_skill(PATH, text, "user").name == "x"
        except SkillRefused as error:
            assert str(PATH) in error.message
        try:
            command_pieces(read_command(PATH, text, "user", "x"), said, lines=False)
        except SkillRefused as error:
            assert str(PATH) in error.message


@given(st.text(max_size=60))
def test_a_line_holds_nothing_of_what_was_said_but_plain_characters(said):
    from caliban_skills import ArgumentRefused

    command = read_command(Path("c.md"), b"!`echo $ARGUMENTS`", "user", "c")
    try:
        line = next(piece for piece in command_pieces(command, said) if isinstance(piece, CommandLine))
    except ArgumentRefused:
        return
    assert not set(line.command) & set("`$;&|<>(){}[]*?~#!\\\"'\n\t")
