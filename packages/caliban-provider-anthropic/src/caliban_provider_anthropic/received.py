"""What has come of a reply before it has a form of ours: JSON objects, and blocks in the making."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from caliban_provider.errors import BadResponse


class OpenBlock:
    """A block that is being received: `content` is what its start said, `kind` the wire's type.

    `whole_input` marks a call whose input came with its start; deltas that still follow replace it.
    """

    __slots__ = ("content", "json_pieces", "kind", "whole_input")

    def __init__(self, kind: str, content: dict[str, Any]) -> None:
        self.kind = kind
        self.content = content
        self.json_pieces: list[str] = []
        self.whole_input = kind == "tool_use" and bool(content.get("input"))

    def grow(self, delta: dict[str, Any]) -> None:
        """Take a delta: JSON of an input is collected, any other text lengthens its member."""
        for name, value in delta.items():
            if name == "partial_json":
                self.json_pieces.append(string(delta, name))
            elif name == "citation":
                continue
            elif name != "type":
                had = self.content.get(name)
                both = isinstance(had, str) and isinstance(value, str)
                self.content[name] = had + value if both else value

    def input_text(self) -> str:
        """The JSON of the input."""
        try:
            return "".join(self.json_pieces) or json.dumps(self.content["input"])
        except RecursionError:
            return ""

    def payload(self) -> dict[str, Any]:
        """The whole block; an input that is cut or no object is left as its start said."""
        text = "".join(self.json_pieces)
        try:
            value = json.loads(text) if text else None
        except (ValueError, RecursionError):
            value = None
        return {**self.content, "input": value} if isinstance(value, dict) else self.content


def parse(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`. Raises `BadResponse`."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise BadResponse(
            "an event of the stream is not JSON", hint="Something between here and the provider altered it."
        ) from error
    if not isinstance(value, dict):
        raise BadResponse("an event of the stream is not a JSON object")
    return value


def index_of(data: Mapping[str, Any]) -> int:
    """Which block an event speaks of. Raises `BadResponse`."""
    value = data.get("index")
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise BadResponse("an event of the stream has no block index")
    return value


def member(data: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object `name` of `data`. Raises `BadResponse`."""
    value = data.get(name)
    if not isinstance(value, dict):
        raise BadResponse(f"an event of the stream lacks its {name!r}")
    return value


def string(data: Mapping[str, Any], name: str) -> str:
    """The text `name` of `data`; empty when it is missing or something else."""
    value = data.get(name)
    return value if isinstance(value, str) else ""
