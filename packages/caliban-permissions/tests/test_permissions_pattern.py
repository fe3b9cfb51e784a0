"""The grammar of patterns: every documented form, and what is wrong with the others."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_permissions.pattern import Anywhere, Bare, Glob, Keys, Prefix, parse_pattern


@pytest.mark.parametrize(
    ("text", "argument"),
    [
        ("Bash", Bare()),
        ("*", Bare()),
        ("mcp__*", Bare()),
        ("Bash:git *", Glob("git *")),
        ("Bash(git *)", Glob("git *")),
        ("Bash:echo (hi)", Glob("echo (hi)")),
        ("Bash(echo (hi))", Glob("echo (hi)")),
        ("Bash(scp host:/tmp/*)", Glob("scp host:/tmp/*")),
        ("Bash:~rm *", Anywhere("rm *")),
        ("Bash(~rm *)", Anywhere("rm *")),
        ("Bash(git log:*)", Prefix("git log")),
        ("Bash:git log:*", Prefix("git log")),
        ("Read(~/.ssh/**)", Glob("~/.ssh/**")),
        ("Read:~rm", Anywhere("rm")),
        ("Edit(//abs/**)", Glob("//abs/**")),
        ("Bash:FOO=1 make", Glob("FOO=1 make")),
        ("WebFetch(domain:a.example)", Glob("domain:a.example")),
        ("x:a.b=1,c=d*", Keys("a.b=1,c=d*", ((("a", "b"), "1"), (("c",), "d*")))),
        ("x:a=1,2", Keys("a=1,2", ((("a",), "1,2"),))),
        ("Bash:command=git *", Keys("command=git *", ((("command",), "git *"),))),
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
