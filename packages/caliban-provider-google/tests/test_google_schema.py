"""Schemas reduced to what the wire takes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_provider_google.schema import reply_schema, tool_schema
from caliban_provider_google.testing.strict_schema import check_schema


def of(**schema: Any) -> Any:
    """What becomes of one property."""
    reduced = tool_schema({"type": "object", "properties": {"p": schema}})
    assert reduced is not None
    check_schema(reduced, "parameters")
    return reduced["properties"]["p"]


@pytest.mark.parametrize(
    ("schema", "reduced"),
    [
        (
            {"type": "string", "description": "d", "title": "t", "default": "x"},
            {"type": "STRING", "description": "d"},
        ),
        ({"type": ["string", "null"]}, {"type": "STRING", "nullable": True}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {"type": "STRING", "nullable": True}),
        (
            {"oneOf": [{"type": "string"}, {"type": "number"}], "description": "d"},
            {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}], "description": "d"},
        ),
        ({"const": "a"}, {"type": "STRING", "enum": ["a"]}),
        ({"const": 3}, {"type": "INTEGER", "description": "One of: 3."}),
        ({"enum": ["a", None]}, {"type": "STRING", "enum": ["a"], "nullable": True}),
        ({"enum": ["a", ""]}, {"type": "STRING", "description": "One of: a, ."}),
        (
            {"type": "integer", "exclusiveMinimum": 0, "maximum": 9},
            {"type": "INTEGER", "minimum": 1, "maximum": 9},
        ),
        ({"type": "number", "exclusiveMaximum": 1.5}, {"type": "NUMBER", "maximum": 1.5}),
        ({"type": "string", "format": "uri", "pattern": "^x$"}, {"type": "STRING"}),
        (
            {"type": "string", "format": "date-time", "minLength": 1},
            {"type": "STRING", "format": "date-time", "minLength": 1},
        ),
        ({"type": "array"}, {"type": "ARRAY", "items": {"type": "STRING"}}),
        (
            {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
            {"type": "ARRAY", "items": {"type": "INTEGER"}, "maxItems": 3},
        ),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "number"}]},
            {"type": "ARRAY", "items": {"anyOf": [{"type": "STRING"}, {"type": "NUMBER"}]}},
        ),
        ({"type": "object", "additionalProperties": False}, {"type": "OBJECT"}),
        ({}, {"type": "STRING"}),
        ({"properties": {"x": True}}, {"type": "OBJECT", "properties": {"x": {"type": "STRING"}}}),
        (
            {
                "allOf": [
                    {"type": "object", "properties": {"a": {}}, "required": ["a"]},
                    {"properties": {"b": {}}, "required": ["b"]},
                ]
            },
            {
                "type": "OBJECT",
                "properties": {"a": {"type": "STRING"}, "b": {"type": "STRING"}},
                "required": ["a", "b"],
            },
        ),
        (
            {"type": "object", "properties": {"a": {}}, "required": ["a", "z"]},
            {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}, "required": ["a"]},
        ),
        ({"type": "null"}, {"type": "STRING", "nullable": True}),
        ({"$ref": "https://example.org/x"}, {"type": "OBJECT"}),
        ({"$ref": "#/$defs/missing", "description": "d"}, {"type": "OBJECT", "description": "d"}),
    ],
)
def test_a_property_is_reduced(schema: dict[str, Any], reduced: dict[str, Any]) -> None:
    assert of(**schema) == reduced


def test_references_are_put_in_place_and_recursion_ends_in_a_free_object() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}, "tilde": {"$ref": "#/definitions/a~1b"}},
        "$defs": {
            "Node": {
                "type": "object",
                "description": "A node.",
                "properties": {"name": {"type": "string"}, "next": {"$ref": "#/$defs/Node"}},
            }
        },
        "definitions": {"a/b": {"type": "integer"}},
    }
    reduced = tool_schema(schema)
    assert reduced == {
        "type": "OBJECT",
        "properties": {
            "root": {
                "type": "OBJECT",
                "description": "A node.",
                "properties": {"name": {"type": "STRING"}, "next": {"type": "OBJECT"}},
            },
            "tilde": {"type": "INTEGER"},
        },
    }


def test_a_schema_that_grows_without_end_is_cut() -> None:
    names = [f"d{number}" for number in range(30)]
    definitions: dict[str, Any] = {
        name: {"type": "object", "properties": {other: {"$ref": f"#/$defs/{other}"} for other in names}}
        for name in names
    }
    schema = {"type": "object", "properties": {"p": {"$ref": "#/$defs/d0"}}, "$defs": definitions}
    reduced = tool_schema(schema)
    assert len(str(reduced)) < 500_000
    check_schema(reduced, "parameters")


def test_a_tool_without_parameters_has_no_schema() -> None:
    for schema in (
        {},
        {"type": "object"},
        {"type": "object", "properties": {}},
        {"properties": 7},
        {"type": 7},
    ):
        assert tool_schema(schema) is None


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from(["string", "null", "#/$defs/a", "#"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "items",
                    "anyOf",
                    "oneOf",
                    "allOf",
                    "$ref",
                    "$defs",
                    "enum",
                    "const",
                    "a",
                    "required",
                    "minimum",
                    "exclusiveMinimum",
                    "minLength",
                    "format",
                    "description",
                    "nullable",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(["type", "properties", "anyOf", "allOf", "$defs", "$ref"]), VALUES))
def test_whatever_comes_the_result_is_taken(schema: dict[str, Any]) -> None:
    reduced = tool_schema(schema)
    if reduced is not None:
        check_schema(reduced, "parameters")
    check_schema(reply_schema(schema), "response_schema")
