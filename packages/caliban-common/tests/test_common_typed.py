from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from common_strategies import any_text, json_values
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct

from caliban_common.errors import DataError
from caliban_common.typed import MAX_FAULTS, fitting, shown, typed


class Leaf(Struct, frozen=True, kw_only=True, tag_field="kind", tag="leaf"):
    weight: float
    colour: Literal["red", "green"] = "green"


class Twig(Struct, frozen=True, kw_only=True, tag_field="kind", tag="twig", forbid_unknown_fields=True):
    leaves: tuple[Leaf, ...] = ()


class Tree(Struct, frozen=True, kw_only=True):
    name: str
    parts: tuple[Leaf | Twig, ...] = ()
    height: Annotated[int, Meta(ge=0)] | None = None
    marks: Annotated[Mapping[Annotated[str, Meta(max_length=3)], bool], Meta(max_length=2)] = {}


WORDS = st.sampled_from(
    ["name", "parts", "height", "marks", "kind", "leaf", "twig", "weight", "colour", "leaves", "red"]
)


def test_data_that_fits_is_the_value() -> None:
    data = {"name": "oak", "parts": [{"kind": "twig", "leaves": [{"kind": "leaf", "weight": 1}]}], "more": 1}
    assert typed(data, Tree, what="a tree") == Tree(name="oak", parts=(Twig(leaves=(Leaf(weight=1.0),)),))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "a tree must be an object, not null"),
        ({}, "a tree has no 'name'"),
        ({"name": "x" * 61, "height": "x" * 61}, "a tree's height must be a whole number, not a long string"),
        ({"name": "", "height": -1}, "a tree's height must be a whole number ≥ 0, not -1"),
        ({"name": "", "marks": {"a": 1}}, "a value of a tree's marks must be true or false"),
        ({"name": "", "marks": {"aaaa": True}}, "a key of a tree's marks must be a string of length ≤ 3"),
        (
            {"name": "", "marks": {"a": True, "b": True, "c": True}},
            "a tree's marks must be an object of length ≤ 2, not an object",
        ),
        ({"name": "", "parts": [{}]}, "a tree's parts[0] has no 'kind'"),
        ({"name": "", "parts": [{"kind": "bud"}]}, "a tree's parts[0].kind must be leaf or twig, not 'bud'"),
        (
            {"name": "", "parts": [{"kind": "\ud800"}]},
            "a tree's parts[0].kind must be leaf or twig, not '\\ud800'",
        ),
        (
            {"name": "", "parts": [{"kind": "leaf", "weight": 1, "colour": "blue"}]},
            "a tree's parts[0].colour must be green or red, not 'blue'",
        ),
        (
            {"name": "", "parts": [{"kind": "twig", "leaves": [{"kind": "leaf", "weight": [1]}]}]},
            "a tree's parts[0].leaves[0].weight must be a number, not a list",
        ),
        (
            {"name": "", "parts": [{"kind": "twig", "fruit": 1}]},
            "a tree's parts[0] has the unknown member 'fruit' (known: kind, leaves)",
        ),
    ],
)
def test_what_does_not_fit_is_named_with_its_place_and_what_was_expected(data: object, words: str) -> None:
    with pytest.raises(DataError) as caught:
        typed(data, Tree, what="a tree")
    assert caught.value.message == words


def test_the_smallest_part_that_does_not_fit_is_left_out_and_named_but_for_nulls() -> None:
    data = {"name": "oak", "height": "tall", "marks": None, "parts": [{"kind": "leaf", "weight": 1}, 7]}
    assert fitting(data, Tree, what="a tree") == (
        Tree(name="oak", parts=(Leaf(weight=1.0),)),
        [
            "a tree's height must be a whole number, not 'tall'; it is left out",
            "a tree's parts[1] must be an object, not 7; it is left out",
        ],
    )
    assert data["parts"] == [{"kind": "leaf", "weight": 1}, 7]


def test_what_is_required_is_not_left_out() -> None:
    with pytest.raises(DataError, match="a tree's name must be a string, not 3"):
        fitting({"name": 3}, Tree, what="a tree")


def test_a_list_of_nothing_but_faults_costs_a_few_passes_only() -> None:
    tree, remarks = fitting({"name": "oak", "parts": [7] * 100_000}, Tree, what="a tree")
    assert (tree, len(remarks)) == (Tree(name="oak"), MAX_FAULTS)


@given(json_values(WORDS | any_text, finite=False))
def test_any_data_is_a_value_or_a_data_error(data: Any) -> None:
    for read in (typed, fitting):
        try:
            read(data, Tree, what="a tree")
        except DataError:
            pass


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        (2**300, "a long number"),
        ("a\n", "'a\\n'"),
        ((), "a list"),
        ({}, "an object"),
    ],
)
def test_a_value_is_shown_as_a_person_calls_it(value: object, words: str) -> None:
    assert shown(value) == words
