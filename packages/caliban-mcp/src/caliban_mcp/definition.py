"""What a tool says of itself, as the one text that a digest is taken of and that a person is shown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from caliban_common.digest import sha256
from caliban_mcp_client.entries import is_same_entry
from caliban_mcp_client.values import McpTool

PINNED: Final = ("name", "title", "description", "inputSchema", "outputSchema", "annotations")
"""What of a tool a person has to see before it counts; headers that arguments become stand in the schema."""


def definition_of(tool: McpTool) -> dict[str, Any]:
    """What of `tool` is pinned, as it came."""
    raw: Mapping[str, Any] = tool.raw
    return {name: raw[name] for name in PINNED if name in raw}


def definition_digest(definition: Mapping[str, Any]) -> str:
    """The SHA-256 of a definition in 64 hexadecimal digits: the order of its members is no part of it."""
    text = json.dumps(definition, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()


def has_digest(definition: Mapping[str, Any], digest: str) -> bool:
    """Whether `digest` is that of `definition`: a start asks it of all tools.

    Most definitions are texts and numbers that both writers of JSON put down alike, and one is much quicker.
    """
    try:
        text = msgspec.json.encode(definition, order="sorted")
    except (OverflowError, TypeError, ValueError):
        text = b""
    return sha256(text).hexdigest() == digest or definition_digest(definition) == digest


def is_same_tool(one: McpTool, other: McpTool) -> bool:
    """Whether what is pinned of both is the same."""
    return one is other or is_same_entry(definition_of(one), definition_of(other))


def definition_lines(definition: Mapping[str, Any]) -> list[str]:
    """A definition in lines, for a person and for comparing."""
    return json.dumps(definition, sort_keys=True, ensure_ascii=False, indent=2).splitlines()


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[str, ...]:
    """The lines that are not the same, each with - or + in front, and some around them."""
    import difflib
    from itertools import islice

    lines = difflib.unified_diff(definition_lines(before), definition_lines(after), lineterm="", n=2)
    return tuple(islice(lines, 2, None))  # the names of files, which there are none of
