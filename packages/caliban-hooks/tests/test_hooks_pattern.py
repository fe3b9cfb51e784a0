"""Expressions in linear time: what Python's own say, and what is refused."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_hooks.errors import PatternRefused
from caliban_hooks.matcher import Matcher
from caliban_hooks.pattern import LinearPattern

atoms = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\w", r"\d", "[a-c_]", "^", "$", r"\."])
pieces = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}", "{2}", "*?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=8,
)


@given(pieces, st.text(alphabet="abc_1.", max_size=8))
def test_it_finds_what_python_finds(pattern: str, text: str) -> None:
    # `$` of Python also stands before a last line feed, and there is none here.
    assert LinearPattern(pattern).search(text) is (re.search(pattern, text) is not None)


def test_what_takes_others_for_ever_takes_it_no_time() -> None:
    assert not LinearPattern("^(a+)+$").search("a" * 5_000 + "b")
    assert not LinearPattern("(a|aa)+c").search("a" * 5_000)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "(",
            ")",
            "a)",
            "[",
            "[a",
            "*",
            "a**",
            "a{2",
            "a{9999}",
            "(?=a)",
            "(?P<x>a)",
            r"\1",
            r"\b",
            "\\",
            "?",
        ),
        *("a{3,1}", "[z-a]", "(" * 60 + ")" * 60, "x" * 2_000, "((a{100}){100}){100}"),
    ],
)
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(PatternRefused):
        LinearPattern(text)


@pytest.mark.parametrize(
    ("matcher", "names", "fits"),
    [
        ("", ("Bash",), True),
        ("*", ("Bash",), True),
        ("Bash", ("Bash",), True),
        ("Bash", ("BashOutput",), False),
        ("Edit|Write", ("Write",), True),
        ("Edit, Write", ("Write",), True),
        ("Edit|Write", ("MultiEdit",), False),
        ("bash", ("Bash",), False),
        ("Task", ("Agent", "Task"), True),
        ("mcp__memory__.*", ("mcp__memory__read",), True),
        ("^Notebook", ("NotebookEdit",), True),
        ("Bash", (), True),
    ],
)
def test_a_matcher_is_names_or_an_expression(matcher: str, names: tuple[str, ...], fits: bool) -> None:
    assert Matcher(matcher).matches(names) is fits
