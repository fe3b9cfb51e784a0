from __future__ import annotations

import doctest
import json

import pytest
from common_strategies import any_text, clean_text, objects
from hypothesis import given
from hypothesis import strategies as st

from caliban_common import arguments
from caliban_common.arguments import Arguments
from caliban_common.errors import ArgumentError, CalibanError
from caliban_common.text import clean, half_pair, one_line, plural


@given(any_text)
def test_cleaned_text_can_be_encoded_and_is_as_long_but_for_joined_pairs(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert clean(cleaned) is cleaned
    assert len(cleaned.encode("utf-16-le")) == len(text.encode("utf-16-le", "surrogatepass"))


@given(clean_text)
def test_clean_text_is_left_alone(text: str) -> None:
    assert clean(text) is text


PIECES = st.sampled_from(
    ["\\ud83d", "\\ude00", "\\uD83D", "\\uDe00", "\\\\", "\\n", "\\u00e9", "a", "ud83d", "\u00e9"]
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_half_a_character_is_found_in_json_where_its_text_cannot_be_written(inside: str) -> None:
    text = json.loads(f'"{inside}"')
    at = half_pair(f'"{inside}"')
    assert (at is None) == (clean(text) is text)
    if at is not None:
        assert f'"{inside}"'[at : at + 2] == "\\u"
        assert clean(json.loads(f'"{inside[: at - 1]}"')) == json.loads(f'"{inside[: at - 1]}"')


def test_halves_of_a_pair_that_meet_again_are_one_character() -> None:
    assert clean("a\ud83d\ude00b\ude00\ud83d") == "a😀b\ufffd\ufffd"


@given(any_text, st.integers(1, 30))
def test_one_line_is_one_printable_line_within_its_bound(text: str, max_chars: int) -> None:
    line = one_line(text, max_chars=max_chars)
    assert len(line) <= max_chars
    assert line.isprintable()


def test_one_line_says_where_it_was_cut() -> None:
    assert one_line(" a\n\tb  c ", max_chars=5) == "a b c"
    assert one_line("a\x1b[2Jb") == "a\ufffd[2Jb"
    assert one_line("abcdef", max_chars=4) == "abc…"


def test_plurals_are_english() -> None:
    assert [plural(n, "file") for n in (0, 1, 2)] == ["0 files", "1 file", "2 files"]


def test_an_error_shows_its_hint() -> None:
    assert str(CalibanError("it broke", hint="mend it")) == "it broke\nhint: mend it"
    assert str(CalibanError("it broke")) == "it broke"


KNOWN = ("path", "limit", "all")


def test_arguments_are_read_with_their_types_and_defaults() -> None:
    given = Arguments({"path": "a", "limit": 3.0, "all": True}, known=KNOWN)
    assert (given.string("path"), given.integer("limit", 1, low=1, high=3), given.boolean("all", False)) == (
        "a",
        3,
        True,
    )
    empty = Arguments({"path": None}, known=KNOWN)
    assert (empty.optional_string("path"), empty.string("path", "d")) == (None, "d")
    assert (empty.integer("limit", 7, low=1, high=9), empty.boolean("all", False)) == (7, False)
    assert Arguments({"all": [{"a": 1}]}, known=KNOWN).objects("all") == ({"a": 1},)
    assert empty.objects("all", required=False) == ()


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"pth": "a"}, "unknown argument 'pth' (known: path, limit, all)"),
        ({}, "missing required argument 'path'"),
        ({"path": 3}, "argument 'path' must be a string, got an integer"),
        ({"path": ["a"]}, "argument 'path' must be a string, got an array"),
        ({"path": "a", "limit": True}, "argument 'limit' must be an integer, got a boolean"),
        ({"path": "a", "limit": 2.5}, "argument 'limit' must be an integer, got a number"),
        ({"path": "a", "limit": 0}, "argument 'limit' must be between 1 and 9, got 0"),
        ({"path": "a", "limit": float("inf")}, "argument 'limit' must be an integer, got a number"),
        ({"path": "a", "all": "yes"}, "argument 'all' must be true or false, got a string"),
    ],
)
def test_what_is_wrong_with_an_argument_is_told_to_the_model(values: dict[str, object], said: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        given = Arguments(values, known=KNOWN)
        given.string("path")
        given.integer("limit", 1, low=1, high=9)
        given.boolean("all", False)
    assert caught.value.message == said


@given(objects(any_text | st.sampled_from(KNOWN), finite=False))
def test_whatever_a_model_sends_is_read_or_an_argument_error(values: dict[str, object]) -> None:
    try:
        given = Arguments(values, known=KNOWN)
        given.string("path")
        given.optional_string("path")
        given.integer("limit", 1, low=1, high=9)
        given.boolean("all", False)
    except ArgumentError:
        pass


def test_the_examples_in_docstrings_hold() -> None:
    assert doctest.testmod(arguments).failed == 0
