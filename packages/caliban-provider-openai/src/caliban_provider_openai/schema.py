"""JSON Schemas as the vendor takes them.

A tool's schema is made acceptable, for one refused tool would refuse the whole request. A reply's schema is
sent as it is; where it lies within what the vendor can enforce word for word, it is sent as strict.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COMBINATORS = frozenset({"oneOf", "anyOf", "allOf", "enum", "not", "const"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_MAPS = frozenset({"properties", "$defs", "definitions", "patternProperties"})
_SINGLE = frozenset({"items", "additionalProperties", "not", "contains"})
_ENFORCED = frozenset(
    {
        "type", "properties", "required", "additionalProperties", "items", "anyOf", "$ref", "$defs",
        "definitions", "enum", "const", "title", "description", "pattern", "format", "minimum", "maximum",
        "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "$schema",
    }
)  # fmt: skip
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_MAX_DEPTH = 32


def tool_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` as a function's `parameters`: an object, uncombined at its top, every array with items."""
    out = {key: value for key, value in schema.items() if key not in _COMBINATORS}
    out["type"] = "object"
    if not isinstance(out.get("properties"), Mapping):
        out["properties"] = {}
    return {key: _filled_member(key, value, 0) for key, value in out.items()}


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """`schema` closed, or `None` where the vendor could not enforce it word for word."""
    if schema.get("type") != "object" or "anyOf" in schema:
        return None
    try:
        return _closed(schema, 0)
    except _InexpressibleError:
        return None


class _InexpressibleError(Exception):
    pass


def _filled(schema: Any, depth: int) -> Any:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return schema
    out = {key: _filled_member(key, value, depth) for key, value in schema.items()}
    kind = schema.get("type")
    if (kind == "array" or (isinstance(kind, list) and "array" in kind)) and "items" not in schema:
        out["items"] = {}
    return out


def _filled_member(key: str, value: Any, depth: int) -> Any:
    if key in _MAPS and isinstance(value, Mapping):
        return {name: _filled(item, depth + 1) for name, item in value.items()}
    if key in _LISTS and isinstance(value, (list, tuple)):
        return [_filled(item, depth + 1) for item in value]
    return _filled(value, depth + 1) if key in _SINGLE else value


def _closed(schema: object, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH or not schema.keys() <= _ENFORCED:
        raise _InexpressibleError
    if not schema.keys() & {"type", "$ref", "anyOf", "enum", "const"}:
        raise _InexpressibleError
    if schema.get("format", "date") not in _FORMATS:
        raise _InexpressibleError
    out = dict(schema)
    for key in ("$defs", "definitions", "properties"):
        if key in schema:
            if not isinstance(schema[key], Mapping):
                raise _InexpressibleError
            out[key] = {name: _closed(item, depth + 1) for name, item in schema[key].items()}
    if "anyOf" in schema:
        out["anyOf"] = [_closed(item, depth + 1) for item in schema["anyOf"]]
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, (list, tuple)) else (kinds,)
    if "object" in kinds:
        names = out.get("properties")
        required = schema.get("required", ())
        open_ended = schema.get("additionalProperties") not in (None, False)
        if names is None or open_ended or set(required) != set(names):
            raise _InexpressibleError
        out["additionalProperties"] = False
        out["required"] = list(required)
    if "array" in kinds:
        out["items"] = _closed(schema.get("items"), depth + 1)
    return out
