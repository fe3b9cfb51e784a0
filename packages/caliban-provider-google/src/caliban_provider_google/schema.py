"""JSON Schemas reduced to what the wire takes; one refused schema would refuse the whole request.

References are put in place (a definition inside itself ends in a free object), `null` becomes `nullable`,
and keys that the vendor does not know are dropped. What is lost only widens the schema: the tool checks its
arguments, the caller a reply.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from caliban_common.codec import nearest
from caliban_common.errors import DataError

_TYPES: Mapping[str, str] = MappingProxyType(
    {
        "object": "OBJECT",
        "array": "ARRAY",
        "string": "STRING",
        "integer": "INTEGER",
        "number": "NUMBER",
        "boolean": "BOOLEAN",
    }
)
_FORMATS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "STRING": frozenset({"date-time"}),
        "INTEGER": frozenset({"int32", "int64"}),
        "NUMBER": frozenset({"float", "double"}),
    }
)
_COUNTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"ARRAY": ("minItems", "maxItems"), "STRING": ("minLength", "maxLength")}
)
_MAX_DEPTH = 24
_MAX_NODES = 5000
_MAX_CHOICES = 50


def tool_schema(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """`schema` as a function's `parameters`; `None` where it has no parameters."""
    reduced = _Reduction(schema).of({**schema, "type": "object"}, (), 0)
    return reduced if reduced.get("properties") else None


def reply_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """`schema` as a `responseSchema`."""
    return _Reduction(schema).of(schema, (), 0)


class _Reduction:
    """Reduces the parts of one schema; `path` is the references being put in place."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def of(self, schema: object, path: tuple[str, ...], depth: int) -> dict[str, Any]:
        self._nodes += 1
        if not isinstance(schema, Mapping):
            return {"type": "STRING"}
        if depth > _MAX_DEPTH or self._nodes > _MAX_NODES:
            return _described({"type": "OBJECT"}, schema)
        schema, path = self._resolved(schema, path)
        schema, path = self._joined(schema, path)
        kinds, nullable = _kinds(schema)
        choices = self._choices(schema, path, depth)
        if choices is not None:
            others, has_null = choices
            nullable = nullable or has_null
            if len(others) > 1:
                out: dict[str, Any] = {"anyOf": others}
            elif others:
                out = others[0]
            else:
                out = self._typed(schema, kinds[0] if kinds else _guess(schema), path, depth)
        elif len(kinds) > 1:
            out = {"anyOf": [self._typed(schema, kind, path, depth) for kind in kinds]}
        else:
            out = self._typed(schema, kinds[0] if kinds else _guess(schema), path, depth)
        if nullable:
            out["nullable"] = True
        return _described(out, schema)

    def _resolved(
        self, schema: Mapping[str, Any], path: tuple[str, ...]
    ) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """`schema` with the definition it refers to in its place; one inside itself becomes a free object."""
        while isinstance(target := schema.get("$ref"), str):
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            resolved = None if target in path else self._find(target)
            if resolved is None:
                return {"type": "object", **rest}, path
            schema, path = {**resolved, **rest}, (*path, target)
        return schema, path

    def _find(self, target: str) -> Mapping[str, Any] | None:
        if not target.startswith("#"):
            return None
        node: Any = self._root
        for step in target[1:].strip("/").split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if not name:
                continue
            if not isinstance(node, Mapping) or name not in node:
                return None
            node = node[name]
        return node if isinstance(node, Mapping) else None

    def _joined(
        self, schema: Mapping[str, Any], path: tuple[str, ...]
    ) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """`schema` with the members of its `allOf` in one."""
        parts = schema.get("allOf")
        if not isinstance(parts, (list, tuple)):
            return schema, path
        out: dict[str, Any] = {key: value for key, value in schema.items() if key != "allOf"}
        for item in parts:
            if not isinstance(item, Mapping):
                continue
            part, path = self._resolved(item, path)
            part, path = self._joined(part, path)
            for key, value in part.items():
                had = out.get(key)
                if key == "properties" and isinstance(had, Mapping) and isinstance(value, Mapping):
                    out[key] = {**had, **value}
                elif (
                    key == "required" and isinstance(had, (list, tuple)) and isinstance(value, (list, tuple))
                ):
                    out[key] = [*had, *(name for name in value if name not in had)]
                else:
                    out.setdefault(key, value)
        return out, path

    def _choices(
        self, schema: Mapping[str, Any], path: tuple[str, ...], depth: int
    ) -> tuple[list[dict[str, Any]], bool] | None:
        """The alternatives of `anyOf` or `oneOf`, and whether null is one of them."""
        given = schema.get("anyOf", schema.get("oneOf"))
        if not isinstance(given, (list, tuple)) or not given:
            return None
        own = {key: schema[key] for key in ("type", "properties", "required", "items") if key in schema}
        others: list[dict[str, Any]] = []
        has_null = False
        for item in given[:_MAX_CHOICES]:
            if isinstance(item, Mapping) and (item.get("type") == "null" or item.get("enum") == [None]):
                has_null = True
                continue
            reduced = self.of(_over(own, item), path, depth + 1)
            has_null = bool(reduced.pop("nullable", False)) or has_null
            if reduced not in others:
                others.append(reduced)
        return others, has_null

    def _typed(
        self, schema: Mapping[str, Any], kind: str, path: tuple[str, ...], depth: int
    ) -> dict[str, Any]:
        out: dict[str, Any] = {"type": kind}
        match kind:
            case "OBJECT":
                out.update(self._members(schema, path, depth))
            case "ARRAY":
                items = schema.get("items")
                if isinstance(items, (list, tuple)) or items is None:
                    items = {"anyOf": list(items or schema.get("prefixItems") or [{"type": "string"}])}
                out["items"] = self.of(items, path, depth + 1)
            case "STRING":
                choices = _enum(schema)
                if choices and all(isinstance(choice, str) and choice for choice in choices):
                    out["enum"] = choices
            case "INTEGER" | "NUMBER":
                out.update(_bounds(schema, whole=kind == "INTEGER"))
        written = schema.get("format")
        if "format" not in out and isinstance(written, str) and written in _FORMATS.get(kind, ()):
            out["format"] = written
        for key in _COUNTS.get(kind, ()):
            if isinstance(value := schema.get(key), int) and not isinstance(value, bool) and value >= 0:
                out[key] = value
        return out

    def _members(self, schema: Mapping[str, Any], path: tuple[str, ...], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            return {}
        out: dict[str, Any] = {
            "properties": {str(name): self.of(item, path, depth + 1) for name, item in properties.items()}
        }
        required = schema.get("required")
        if isinstance(required, (list, tuple)):
            known = [name for name in dict.fromkeys(map(str, required)) if name in out["properties"]]
            out.update({"required": known} if known else {})
        return out


def _over(own: Mapping[str, Any], item: object) -> object:
    """An alternative with what all alternatives have in common."""
    if not isinstance(item, Mapping) or "$ref" in item:
        return item
    out = {**own, **item}
    if isinstance(own.get("properties"), Mapping) and isinstance(item.get("properties"), Mapping):
        out["properties"] = {**own["properties"], **item["properties"]}
    return out


def _kinds(schema: Mapping[str, Any]) -> tuple[list[str], bool]:
    """The types of `schema` as the wire names them, and whether null is one."""
    given_type = schema.get("type")
    names: Sequence[Any] = given_type if isinstance(given_type, (list, tuple)) else [given_type]
    kinds = [_TYPES[name.lower()] for name in names if isinstance(name, str) and name.lower() in _TYPES]
    choices = schema.get("enum")
    null = "null" in names or schema.get("nullable") is True
    return list(dict.fromkeys(kinds)), null or (isinstance(choices, (list, tuple)) and None in choices)


def _guess(schema: Mapping[str, Any]) -> str:
    """The type of a schema that does not tell it."""
    choices = [choice for choice in _enum(schema) if choice is not None]
    if choices:
        first = choices[0]
        if isinstance(first, bool):
            return "BOOLEAN"
        if isinstance(first, (int, float)):
            return "INTEGER" if isinstance(first, int) else "NUMBER"
        return "STRING"
    if "properties" in schema or "additionalProperties" in schema:
        return "OBJECT"
    if "items" in schema or "prefixItems" in schema:
        return "ARRAY"
    numeric = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    return "NUMBER" if any(key in schema for key in numeric) else "STRING"


def _enum(schema: Mapping[str, Any]) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    choices = schema.get("enum")
    return [choice for choice in choices if choice is not None] if isinstance(choices, (list, tuple)) else []


def _bounds(schema: Mapping[str, Any], *, whole: bool) -> dict[str, Any]:
    """The bounds of a number; an excluded one is the next whole number, or stands in for the bound."""
    out: dict[str, Any] = {}
    for key, excluded, step in (("minimum", "exclusiveMinimum", 1), ("maximum", "exclusiveMaximum", -1)):
        if _is_number(schema.get(excluded)):
            value = schema[excluded]
            out[key] = value + step if whole and isinstance(value, int) else value
        elif _is_number(schema.get(key)):
            out[key] = schema[key]
    return out


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300


def _described(out: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """`out` with the description, and with choices that only text can carry."""
    description = schema.get("description")
    words = [description] if isinstance(description, str) and description.strip() else []
    choices = _enum(schema)
    if choices and "enum" not in out and "anyOf" not in out:
        words.append("One of: " + ", ".join(_spelled(choice) for choice in choices[:_MAX_CHOICES]) + ".")
    if words:
        out["description"] = " ".join(words)
    return out


def _spelled(value: object) -> str:
    try:
        return str(nearest(value))[:100]
    except (DataError, TypeError):
        return "?"
