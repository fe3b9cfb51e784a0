"""JSON Schemas as the wire takes them."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_provider_anthropic.schema import reply_schema, tool_schema


def test_a_fine_tool_schema_stays_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a.b": {"type": "string"}}, "required": ["a.b"]}
    assert tool_schema(schema) == schema
    assert list(tool_schema(schema)) == list(schema)


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({}, {"type": "object"}),
        ({"type": "string"}, {"type": "object"}),
        ({"type": "object", "properties": None}, {"type": "object", "properties": None}),
        ({"type": "object", "properties": []}, {"type": "object"}),
        ({"type": "object", "oneOf": [], "allOf": [], "anyOf": []}, {"type": "object"}),
        (
            {"type": "object", "properties": {"": {}, "ok": {}}, "required": ["", "ok"]},
            {"type": "object", "properties": {"ok": {}}, "required": ["ok"]},
        ),
    ],
)
def test_a_tool_schema_is_made_acceptable(schema: dict[str, Any], sent: dict[str, Any]) -> None:
    assert tool_schema(schema) == sent


def test_a_reply_schema_keeps_its_structure_and_loses_its_bounds() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Answer",
        "type": "object",
        "properties": {
            "n": {"type": "integer", "minimum": 1, "description": "how many"},
            "when": {"type": "string", "format": "date-time", "maxLength": 40},
            "odd": {"type": "string", "format": "regex"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
            "kind": {"enum": ["a", "b"]},
            "maybe": {"type": ["string", "null"]},
            "either": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/Point"}]},
        },
        "required": ["n"],
        "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}}},
    }
    assert reply_schema(schema) == {
        "title": "Answer",
        "$defs": {
            "Point": {
                "type": "object",
                "properties": {"x": {"type": "number"}},
                "additionalProperties": False,
            }
        },
        "type": "object",
        "properties": {
            "n": {"description": "how many", "type": "integer"},
            "when": {"type": "string", "format": "date-time"},
            "odd": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
            "kind": {"enum": ["a", "b"]},
            "maybe": {"type": ["string", "null"]},
            "either": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Point"}]},
        },
        "additionalProperties": False,
        "required": ["n"],
    }


DEEP: dict[str, Any] = {"type": "string"}
for _ in range(100):
    DEEP = {"type": "array", "items": DEEP}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        {"type": "object", "properties": {"a": True}},
        {"type": "array"},
        {"type": "tuple"},
        {"type": []},
        {"anyOf": []},
        {"$ref": "#"},
        {"$ref": "https://example.org/schema"},
        {
            "$ref": "#/$defs/Tree",
            "$defs": {"Tree": {"type": "object", "properties": {"child": {"$ref": "#/$defs/Tree"}}}},
        },
        DEEP,
    ],
)
def test_a_reply_schema_that_cannot_be_enforced_is_not_sent(schema: dict[str, Any]) -> None:
    assert reply_schema(schema) is None


def test_definitions_that_share_others_are_each_looked_at_once() -> None:
    """There are 2³⁰ ways through these, and no circle."""
    pair = ("a", "b")
    shared: dict[str, Any] = {"d30": {"type": "string"}}
    for place in range(30):
        parts = {name: {"$ref": f"#/$defs/d{place + 1}"} for name in pair}
        shared[f"d{place}"] = {"type": "object", "properties": parts, "additionalProperties": False}
    schema = {**shared["d0"], "$defs": shared}
    assert reply_schema(schema) == schema
    shared["d30"] = {"$ref": "#/$defs/d0"}
    assert reply_schema({**schema, "$defs": shared}) is None
