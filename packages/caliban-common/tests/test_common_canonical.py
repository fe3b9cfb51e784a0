"""What models send is taken where it means one thing only, and left alone everywhere else."""

from __future__ import annotations

import pytest

from caliban_common.canonical import canonical_arguments
from caliban_common.tool import ToolSpec

SPEC = ToolSpec(
    name="T",
    description="",
    input_schema={
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer"},
            "share": {"type": "number"},
            "all": {"type": "boolean"},
            "either": {"type": ["string", "integer"]},
            "timeout_seconds": {"type": "integer"},
            "items": {"type": "array"},
            "members": {"type": "object"},
            "kind": {"type": "string", "enum": ["a", "b"]},
            "words": {"type": "string"},
            "where": {"type": "string"},
            "needed": {"type": "integer"},
        },
        "required": ["needed"],
    },
    aliases={
        "file_path": "path",
        "filename": "path",
        "timeout": "timeout_seconds",
        "timeout_s": "timeout_seconds",
    },
    extras=("description",),
    roles={"where": "reads"},
)


@pytest.mark.parametrize(
    ("sent", "taken"),
    [
        ({"file_path": "a"}, {"path": "a"}),
        ({"file_path": "a", "path": "a"}, {"path": "a"}),
        ({"description": "x", "offset": "2"}, {"offset": 2}),
        ({"offset": " -3 ", "share": "0.5", "all": "TRUE"}, {"offset": -3, "share": 0.5, "all": True}),
        ({"timeout": 120000}, {"timeout_seconds": 120}),
        ({"timeout": "120001"}, {"timeout_seconds": 121}),
        ({"timeout": 30}, {"timeout_seconds": 30}),
        ({"timeout_s": 5000}, {"timeout_seconds": 5000}),
        ({"file_path": "a", "filename": "a"}, {"path": "a"}),
        ({"items": ' [{"a": [1]}, "b"]\n'}, {"items": [{"a": [1]}, "b"]}),
        ({"members": '{"a": "1"}'}, {"members": {"a": "1"}}),
        ({"offset": "", "all": "", "items": "", "members": "", "kind": "", "where": "", "timeout": ""}, {}),
        ({"where": "", "words": "x"}, {"words": "x"}),
    ],
)
def test_what_means_one_thing_is_taken_as_that(sent, taken):
    assert canonical_arguments(SPEC, sent) == taken


@pytest.mark.parametrize(
    "sent",
    [
        {},
        {"path": "5", "offset": 2, "all": False},
        {"offset": "2 or 3"},
        {"offset": "2.5"},
        {"offset": "٣"},
        {"offset": "1" * 30},
        {"all": "yes"},
        {"share": "nan"},
        {"either": "5"},
        {"unknown": "x"},
        {"items": "a, b"},
        {"items": '{"a": 1}'},
        {"items": "[1, 2"},
        {"items": "[1] and [2]"},
        {"items": "[NaN]"},
        {"items": "[" * 300 + "]" * 300},
        {"items": "[" * 200_000},
        {"members": "[1]"},
        {"members": '{"a": 1, "a": 2}'},
        {"path": '["a"]'},
        {"words": ""},
        {"needed": ""},
        {"either": ""},
        {"where": " "},
        {"path": None, "offset": None},
    ],
)
def test_what_may_mean_more_stays_the_same_object(sent):
    assert canonical_arguments(SPEC, sent) is sent


def test_two_names_with_two_values_are_left_for_the_tool_to_refuse():
    sent = {"path": "a", "file_path": "b"}
    assert canonical_arguments(SPEC, sent) == sent
    assert canonical_arguments(SPEC, {"file_path": "a", "filename": "b"}) == {"path": "a", "filename": "b"}


def test_a_tool_without_properties_gets_what_was_sent():
    sent = {"offset": "2"}
    assert canonical_arguments(ToolSpec(name="T", description="", input_schema={}), sent) is sent
