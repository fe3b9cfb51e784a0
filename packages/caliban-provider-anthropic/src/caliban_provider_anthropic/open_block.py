"""A block of a reply in the making, before it has a form of ours."""

from __future__ import annotations

import json
from typing import Any

from caliban_provider.json_fields import string


class OpenBlock:
    """A block that is being received: `content` is what its start said, `kind` the wire's type.

    `whole_input` marks a call whose input came with its start; deltas that still follow replace it.
    """

    __slots__ = ("content", "json_pieces", "kind", "whole_input")

    def __init__(self, kind: str, content: dict[str, Any]) -> None:
        self.kind: str = kind
        self.content: dict[str, Any] = content
        self.json_pieces: list[str] = []
        self.whole_input: bool = kind == "tool_use" and bool(content.get("input"))

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
