"""The vendor's rules for schemas: of tools, and of replies."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from caliban_provider_google.testing.refusal import Refused, need, need_keys

_SCHEMA = frozenset(
    {
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "minItems",
        "maxItems",
        "properties",
        "required",
        "propertyOrdering",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "anyOf",
        "example",
    }
)
_TYPES = frozenset({"STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT"})
_FORMATS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "STRING": ("enum", "date-time"),
        "INTEGER": ("int32", "int64"),
        "NUMBER": ("float", "double"),
    }
)
_MAX_DEPTH = 64


def check_schema(value: object, where: str, depth: int = 0) -> None:
    """Raise `Refused` for a schema that the vendor would refuse: the old, narrow form of them."""
    need(depth < _MAX_DEPTH, f"{where}: the schema exceeds the maximum nesting depth")
    schema = need_keys(value, _SCHEMA, where)
    choices = schema.get("anyOf")
    if choices is not None:
        if not isinstance(choices, list) or not choices:
            raise Refused(f"{where}.any_of: should be a non-empty list")
        for place, item in enumerate(choices):
            check_schema(item, f"{where}.any_of[{place}]", depth + 1)
        return
    kind = schema.get("type")
    need(kind in _TYPES, f"{where}.type: must be specified")
    enum = schema.get("enum")
    if enum is not None:
        need(kind == "STRING", f"{where}.enum: only allowed for STRING type")
        fine = isinstance(enum, list) and all(isinstance(item, str) and item for item in enum)
        need(fine, f"{where}.enum: cannot be empty")
    need(schema.get("format") in (None, *_FORMATS.get(str(kind), ())), f"{where}.format: not supported")
    need(schema.get("nullable") in (None, True, False), f"{where}.nullable: not a boolean")
    if kind == "ARRAY":
        need("items" in schema, f"{where}.items: missing field.")
        check_schema(schema["items"], f"{where}.items", depth + 1)
    need("properties" not in schema or kind == "OBJECT", f"{where}.properties: only allowed for OBJECT type")
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise Refused(f"{where}.properties: not an object")
    need(properties or "properties" not in schema, f"{where}.properties: should be non-empty for OBJECT type")
    for name, item in properties.items():
        check_schema(item, f"{where}.properties[{name}]", depth + 1)
    required = schema.get("required", [])
    fine = isinstance(required, list) and all(name in properties for name in required)
    need(fine, f"{where}.required: property is not defined")
