"""A tool call in one line, for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from caliban_common.canonical import canonical_arguments
from caliban_common.message import ToolUseBlock
from caliban_common.text import one_line
from caliban_common.tool import ShownArgument, ToolSource

MAX_NAME_CHARS: Final = 80
"""How much is shown of the name of a tool: models make up names of any length."""

MAX_ARGUMENT_CHARS: Final = 120


def describe_call(call: ToolUseBlock, tools: ToolSource) -> str:
    """A tool call in a few words: its name, and the arguments that its spec shows, else the main one."""
    name = one_line(call.name, max_chars=MAX_NAME_CHARS)
    spec = next((tool.spec for tool in tools.tools() if tool.spec.name == call.name), None)
    if spec is None:
        return name
    given = canonical_arguments(spec, call.input)
    shows = spec.shows or ((ShownArgument(name=spec.main_argument),) if spec.main_argument else ())
    values = [_shown(shown, given.get(shown.name)) for shown in shows]
    words = ": ".join(filter(None, values))
    return f"{name} {words}" if words else name


def _shown(shown: ShownArgument, value: object) -> str:
    """What a line says of an argument; nothing where it is not of the form that the spec speaks of."""
    if isinstance(value, str):
        return one_line(value, max_chars=MAX_ARGUMENT_CHARS)
    if not isinstance(value, list) or not shown.of:
        return ""
    items = [item for item in value if isinstance(item, Mapping)]
    if shown.where is not None:
        member, wanted = shown.where
        items = [item for item in items if item.get(member) == wanted]
    text = items[0].get(shown.of) if items else None
    count = f"{len(value)} {shown.name}" if len(value) != 1 else f"1 {shown.name.removesuffix('s')}"
    excerpt = one_line(text, max_chars=MAX_ARGUMENT_CHARS) if isinstance(text, str) else ""
    return f"{count}: {excerpt}" if excerpt else count
