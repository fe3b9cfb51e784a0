"""The grammar of patterns: every documented form, and what is wrong with the others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_permissions.rules.pattern import Anywhere, ArgumentGlob, Bare, KeyPairs, Prefix, parse_pattern


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("Bash", Bare()),
        ("*", Bare()),
        ("mcp__*", Bare()),
        ("Bash:git *", ArgumentGlob("git *")),
        ("Bash(git *)", ArgumentGlob("git *")),
        ("Bash:echo (hi)", ArgumentGlob("echo (hi)")),
        ("Bash(echo (hi))", ArgumentGlob("echo (hi)")),
        ("Bash(scp host:/tmp/*)", ArgumentGlob("scp host:/tmp/*")),
        ("Bash:~rm *", Anywhere("rm *")),
        ("Bash(~rm *)", Anywhere("rm *")),
        ("Bash(git log:*)", Prefix("git log")),
        ("Bash:git log:*", Prefix("git log")),
        ("Read(~/.ssh/**)", ArgumentGlob("~/.ssh/**")),
        ("Read:~rm", Anywhere("rm")),
        ("Edit(//abs/**)", ArgumentGlob("//abs/**")),
        ("Bash:FOO=1 make", ArgumentGlob("FOO=1 make")),
        ("WebFetch(domain:a.example)", ArgumentGlob("domain:a.example")),
        ("x:a.b=1,c=d*", KeyPairs("a.b=1,c=d*", ((("a", "b"), "1"), (("c",), "d*")))),
        ("x:a=1,2", KeyPairs("a=1,2", ((("a",), "1,2"),))),
        ("Bash:command=git *", KeyPairs("command=git *", ((("command",), "git *"),))),
    ],
)
def test_each_form_has_its_argument(text: str, argument: Any) -> None:
    pattern = parse_pattern(text)
    assert (pattern.argument, pattern.problem) == (argument, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Bash()",
        "Bash(git *",
        "Bash:",
        ":git *",
        "(git *)",
        "Ba[d",
        "Bash:[unclosed",
        "Bash:{a,b} *",
        "Bash(:*)",
        "Bash:~",
    ],
)
def test_what_cannot_be_read_is_said_and_matches_nothing(text: str, scene: Any) -> None:
    assert parse_pattern(text).problem
    assert scene.verdict("git status", ("allow", text)) == "ask"


@given(st.text(max_size=40))
def test_parsing_never_raises(text: str) -> None:
    parse_pattern(text)


@given(st.text(alphabet="Bash():~*=.,[]{}\\ a", max_size=20))
def test_parsing_never_raises_on_syntax(text: str) -> None:
    parse_pattern(text)


def test_the_bare_name_of_a_server_names_its_tools() -> None:
    pattern = parse_pattern("mcp__a")
    assert pattern.names_server("mcp__a__tool")
    assert not pattern.names_server("mcp__ab__tool")
    assert not parse_pattern("mcp__a:x=1").names_server("mcp__a__tool")
