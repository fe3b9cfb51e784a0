"""JSON of a wire, read with distrust: what is missing or of another type is empty, unless it is required."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from caliban_common.usage import told_count
from caliban_provider.errors import BadResponse

EVENT = "an event of the stream"
ALTERED = "Something between here and the provider altered it."


def parse(data: bytes, *, what: str = EVENT, hint: str = ALTERED) -> dict[str, Any]:
    """The JSON object in `data`. Raises `BadResponse`, which says that `what` is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadResponse(f"{what} is not JSON", hint=hint) from error
    if not isinstance(value, dict):
        raise BadResponse(f"{what} is not a JSON object", hint=hint)
    return value


def string(data: Mapping[str, Any], name: str) -> str:
    """The text `name` of `data`, or an empty one."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def strings(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The texts in the list `name` of `data`; anything else in it is passed over."""
    value = data.get(name)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def member(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object `name` of `data`, or an empty one."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def objects(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in the list `name` of `data`; anything else in it is passed over."""
    value = data.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count(data: Mapping[str, Any], name: str) -> int:
    """The number `name` of `data`, ≥ 0, or 0."""
    return told_count(data.get(name)) or 0


def maybe_count(data: Mapping[str, Any], name: str) -> int | None:
    """The number `name` of `data`, ≥ 0, or `None`."""
    return told_count(data.get(name))


def required_member(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object `name` of an event. Raises `BadResponse`."""
    value = data.get(name)
    if not isinstance(value, dict):
        raise BadResponse(f"{EVENT} lacks its {name!r}")
    return value


def block_index(data: Mapping[str, Any]) -> int:
    """Which block an event speaks of, its `index`. Raises `BadResponse`."""
    value = data.get("index")
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadResponse(f"{EVENT} has no block index")
    return value
