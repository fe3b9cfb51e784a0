"""The vendor's rules for schemas and tools, which both interfaces share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_provider_openai.testing.refusal import need

MAX_TOOLS = 128


def is_word(value: object, max_chars: int) -> bool:
    """Whether `value` is made of letters, digits, `_` and `-`, 1 to `max_chars` of them."""
    return (
        isinstance(value, str)
        and 1 <= len(value) <= max_chars
        and value.isascii()
        and all(char.isalnum() or char in "_-" for char in value)
    )


def check_function(function: Mapping[str, Any], where: str, *, needs_schema: bool = True) -> None:
    """Refuse a function whose name or schema the vendor does not take; some interfaces take one without."""
    name = function.get("name")
    need(is_word(name, 64), f"Invalid '{where}.name': string does not match '^[a-zA-Z0-9_-]{{1,64}}$'")
    if "parameters" not in function and not needs_schema:
        return
    schema = function.get("parameters")
    need(isinstance(schema, dict), f"Missing required parameter: '{where}.parameters'")
    assert isinstance(schema, dict)
    need(
        schema.get("type") == "object" and not schema.keys() & {"oneOf", "anyOf", "allOf", "enum", "not"},
        f"Invalid schema for function '{name}': schema must have type 'object' and not have "
        "'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.",
    )
    need(
        isinstance(schema.get("properties"), dict),
        f"Invalid schema for function '{name}': object schema missing properties",
    )
    _check_arrays(schema, str(name))
    if function.get("strict"):
        check_strict(schema)


def check_strict(schema: object) -> None:
    """Refuse a schema that the vendor cannot enforce."""
    need(isinstance(schema, dict), "Invalid schema: no object")
    assert isinstance(schema, dict)
    for key in ("oneOf", "allOf", "not", "patternProperties", "if", "dependentRequired"):
        need(key not in schema, f"Invalid schema: '{key}' is not permitted.")
    need(schema.keys() & {"type", "$ref", "anyOf", "enum", "const"}, "Invalid schema: no 'type' key")
    if schema.get("type") == "object":
        need(schema.get("additionalProperties") is False, "'additionalProperties' must be false")
        need(
            set(schema.get("required", ())) == set(schema.get("properties", ())),
            "'required' is required to be supplied and to include every key in properties",
        )
    for key in ("properties", "$defs", "definitions"):
        for item in schema.get(key, {}).values():
            check_strict(item)
    for item in schema.get("anyOf", ()):
        check_strict(item)
    if "items" in schema:
        check_strict(schema["items"])


def check_reply_schema(form: Mapping[str, Any], where: str) -> None:
    """Refuse a schema of a reply that the vendor does not take."""
    need(is_word(form.get("name"), 64), f"Missing or invalid '{where}.name'")
    need(isinstance(form.get("schema"), dict), f"Missing '{where}.schema'")
    if form.get("strict"):
        need(form["schema"].get("type") == "object", "the schema's root must be an object")
        check_strict(form["schema"])


def _check_arrays(schema: object, name: str) -> None:
    if isinstance(schema, list):
        for item in schema:
            _check_arrays(item, name)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "array":
        need("items" in schema, f"Invalid schema for function '{name}': array schema missing items")
    for key, item in schema.items():
        if key not in ("enum", "const", "default", "examples"):
            _check_arrays(list(item.values()) if key in ("properties", "$defs") else item, name)
