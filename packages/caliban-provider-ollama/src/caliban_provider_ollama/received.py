"""JSON of the wire, read with distrust."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from caliban_common.usage import told_count
from caliban_provider.errors import BadResponse


def parse(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`. Raises `BadResponse`."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadResponse(
            "a line of the answer is not JSON", hint="Check the base URL: is this an Ollama server?"
        ) from error
    if not isinstance(value, dict):
        raise BadResponse("a line of the answer is not a JSON object", hint="Check the base URL.")
    return value


def string(data: Mapping[str, Any], name: str) -> str:
    """The text `name` of `data`; empty when it is missing or something else."""
    value = data.get(name)
    return value if isinstance(value, str) else ""


def strings(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The texts in the list `name` of `data`."""
    value = data.get(name)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def member(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object `name` of `data`; empty when it is missing or something else."""
    value = data.get(name)
    return value if isinstance(value, dict) else {}


def objects(data: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    """The objects in the list `name` of `data`; anything else in it is passed over."""
    value = data.get(name)
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def count(data: Mapping[str, Any], name: str) -> int:
    """The number `name` of `data`, ≥ 0; 0 when it is missing or something else."""
    return told_count(data.get(name)) or 0
