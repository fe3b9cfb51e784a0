"""JSON Schemas as the wire takes them.

A tool's schema is made acceptable, for one refused tool would refuse the whole request. A reply's schema is
narrowed to the part of JSON Schema that the vendor can enforce; the caller still checks the reply against the
whole of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_PROPERTY_KEY = r"[a-zA-Z0-9_.-]{1,64}"
_COMBINATORS = frozenset({"oneOf", "anyOf", "allOf"})
_FORMATS = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_PLAIN = frozenset({"title", "description", "$ref", "enum", "const"})
_TYPES = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_MAX_DEPTH = 32


def tool_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` as a tool's `input_schema`: an object, uncombined at its top, with keys that are accepted."""
    out = {key: value for key, value in schema.items() if key not in _COMBINATORS}
    out["type"] = "object"
    properties = out.get("properties")
    if isinstance(properties, Mapping):
        bad = {key for key in properties if not re.fullmatch(_PROPERTY_KEY, key)}
        if bad:
            out["properties"] = {key: value for key, value in properties.items() if key not in bad}
            required = out.get("required")
            if isinstance(required, (list, tuple)):
                out["required"] = [key for key in required if key not in bad]
    elif properties is not None:
        del out["properties"]
    return out


def reply_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The enforceable part of `schema`, or `None` where leaving out the rest would change its meaning.

    Bounds and patterns are left out: they only narrow. Free-form objects and schemas without a type cannot be
    expressed.
    """
    try:
        out = _narrow(schema, 0)
    except _InexpressibleError:
        return None
    return None if _recurses(out) else out


class _InexpressibleError(Exception):
    pass


def _narrow(schema: object, depth: int) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        raise _InexpressibleError
    out: dict[str, Any] = {key: schema[key] for key in _PLAIN if key in schema}
    for key in ("$defs", "definitions"):
        if isinstance(schema.get(key), Mapping):
            out[key] = {name: _narrow(item, depth + 1) for name, item in schema[key].items()}
    alternatives = schema.get("anyOf", schema.get("oneOf"))
    if alternatives is not None:
        out["anyOf"] = _narrow_all(alternatives, depth)
    if "allOf" in schema:
        out["allOf"] = _narrow_all(schema["allOf"], depth)
    kind = schema.get("type")
    if kind is not None:
        out.update(_narrow_type(schema, kind, depth))
    elif not out.keys() & {"$ref", "enum", "const", "anyOf", "allOf"}:
        raise _InexpressibleError
    return out


def _recurses(schema: Mapping[str, Any]) -> bool:
    """Whether a definition contains itself: the grammar that the vendor builds must be finite."""
    definitions = {}
    for key in ("$defs", "definitions"):
        definitions.update({f"#/{key}/{name}": item for name, item in schema.get(key, {}).items()})
    finite: set[str] = set()

    def reaches_twice(item: object, path: frozenset[str]) -> bool:
        if isinstance(item, list):
            return any(reaches_twice(part, path) for part in item)
        if not isinstance(item, Mapping):
            return False
        target = item.get("$ref")
        if isinstance(target, str):
            if target in path or target not in definitions:
                return True
            if target not in finite:
                if reaches_twice(definitions[target], path | {target}):
                    return True
                finite.add(target)  # looked at once: definitions that share others make 2ⁿ ways through them
            return False
        return any(reaches_twice(part, path) for part in item.values())

    return reaches_twice(schema, frozenset())


def _narrow_all(items: object, depth: int) -> list[dict[str, Any]]:
    if not isinstance(items, (list, tuple)) or not items:
        raise _InexpressibleError
    return [_narrow(item, depth + 1) for item in items]


def _narrow_type(schema: Mapping[str, Any], kind: object, depth: int) -> dict[str, Any]:
    if isinstance(kind, (list, tuple)):
        kinds: tuple[Any, ...] = tuple(kind)
    else:
        kinds = (kind,)
    if not kinds or any(one not in _TYPES for one in kinds):
        raise _InexpressibleError
    out: dict[str, Any] = {"type": kind}
    if "object" in kinds:
        properties = schema.get("properties")
        if schema.get("additionalProperties") not in (None, False) or not isinstance(properties, Mapping):
            raise _InexpressibleError
        out["properties"] = {name: _narrow(item, depth + 1) for name, item in properties.items()}
        out["additionalProperties"] = False
        if isinstance(schema.get("required"), (list, tuple)):
            out["required"] = list(schema["required"])
    if "array" in kinds:
        out["items"] = _narrow(schema.get("items"), depth + 1)
        if schema.get("minItems") in (0, 1):
            out["minItems"] = schema["minItems"]
    if schema.get("format") in _FORMATS:
        out["format"] = schema["format"]
    return out
