"""Entries of lists as values, one by one: a broken one, or a broken field, never costs the others.

What lacks that by which it is asked for is left out and named; every other field that does not fit is as if
it were not there.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from caliban_common.text import clean, one_line
from caliban_mcp_client.values import McpTool, ToolAnnotations

_T = TypeVar("_T")
Say = Callable[[str], None]
Entry = Mapping[str, Any]
_NONE: Final = ToolAnnotations()


def read_entries(page: Entry, key: str, read: Callable[[Entry, Say], _T | None], say: Say) -> list[_T]:
    """The entries of one page of a list that can be read."""
    entries = page.get(key)
    if not isinstance(entries, list):
        say(f"the list of {key} is no list")
        return []
    readable: list[_T] = []
    for entry in entries:
        value = read(entry, say) if isinstance(entry, dict) else None
        if value is None:
            say(f"an entry of the list of {key} is left out: {_shown(entry)}")
        else:
            readable.append(value)
    return readable


def read_tool(entry: Entry, say: Say) -> McpTool | None:
    """A tool; without a schema it takes an object of any kind."""
    name = text(entry, "name")
    if not name:
        return None
    schema = entry.get("inputSchema")
    if not isinstance(schema, dict):
        if schema is not None:
            say(f"the tool {shown_name(name)} has an input schema that is no object; it takes any arguments")
        schema = {"type": "object", "properties": {}}
    elif "type" not in schema and not schema.keys() & {"anyOf", "oneOf", "allOf", "$ref"}:
        schema = {"type": "object", **schema}
    output = entry.get("outputSchema")
    meta = entry.get("_meta")
    return McpTool(
        name=name,
        title=text(entry, "title"),
        description=text(entry, "description"),
        input_schema=schema,
        output_schema=output if isinstance(output, dict) else None,
        annotations=_annotations(entry.get("annotations")),
        meta=meta if isinstance(meta, dict) else {},
        raw=entry,
    )


def tool_reader(known: Iterable[McpTool]) -> Callable[[Entry, Say], McpTool | None]:
    """`read_tool`, but that a tool of `known` which is told again word for word is the same object."""
    before = {tool.name: tool for tool in known}

    def read(entry: Entry, say: Say) -> McpTool | None:
        name = entry.get("name")
        tool = before.get(name) if isinstance(name, str) else None
        is_known = tool is not None and is_same_entry(tool.raw, entry)
        return tool if is_known and isinstance(entry.get("inputSchema"), dict) else read_tool(entry, say)

    return read


def is_same_entry(one: Entry, other: Entry) -> bool:
    """Whether both are the same, whatever the order of members: 1 is not 1.0 or true, though Python says so.

    A start compares all tools: what is written by msgspec takes a tenth of the time.
    """
    if one != other:
        return False
    try:
        return msgspec.json.encode(one, order="sorted") == msgspec.json.encode(other, order="sorted")
    except (OverflowError, TypeError, ValueError):  # numbers and halves of characters that it does not write
        return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def text(entry: Entry, key: str) -> str:
    """A member that is text; empty where it is anything else."""
    value = entry.get(key)
    return clean(value) if isinstance(value, str) else ""


def shown_name(name: str) -> str:
    """A name of a server's for a message."""
    return repr(one_line(name, max_chars=60)) if name else "without a name"


def _annotations(value: object) -> ToolAnnotations:
    if not isinstance(value, dict):
        return _NONE

    def hint(name: str) -> bool | None:
        return claim if isinstance(claim := value.get(name), bool) else None

    return ToolAnnotations(
        title=text(value, "title"),
        read_only=hint("readOnlyHint"),
        destructive=hint("destructiveHint"),
        idempotent=hint("idempotentHint"),
        open_world=hint("openWorldHint"),
    )


def _shown(entry: object) -> str:
    if not isinstance(entry, dict):
        return "it is no object"
    name = entry.get("name") or entry.get("uri") or entry.get("uriTemplate")
    return f"{shown_name(name) if isinstance(name, str) else 'it'} lacks a name or a URI that is text"
