"""Tool calls for models that were never trained to make them: a JSON form that the runtime enforces.

The model is told of the tools in words, and the runtime lets it write nothing but one of
`{"tool": NAME, "arguments": {...}}` and, where it may, `{"answer": TEXT}`. This module makes the words and
the schema; `envelope` reads what comes back.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from caliban_common.tool import ToolSpec

ReplyForm: TypeAlias = Literal["plain", "native", "form", "raw_form"]
"""What a reply's text is: itself, itself beside calls that the runtime reads, our form, or our form with any
JSON for its answer."""


def form_schema(
    tools: Sequence[ToolSpec], *, answer: bool, answer_schema: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The JSON Schema of one reply: a call of one of `tools`, or where `answer` allows it an answer.

    The answer is text, or what `answer_schema` describes.
    """
    definitions: dict[str, Any] = {}
    branches = [
        _object(
            tool={"const": tool.name}, arguments=_hoisted(_object_schema(tool), f"tool{index}", definitions)
        )
        for index, tool in enumerate(tools)
    ]
    if answer:
        wanted = (
            {"type": "string"} if answer_schema is None else _hoisted(answer_schema, "answer", definitions)
        )
        branches.append(_object(answer=wanted))
    schema: dict[str, Any] = branches[0] if len(branches) == 1 else {"anyOf": branches}
    return {**schema, "$defs": definitions} if definitions else schema


def form_words(tools: Sequence[ToolSpec], *, answer: bool) -> str:
    """What the model is told of `tools` and of the form of its reply."""
    lines = [
        "You can use these tools:" if answer else "Use one of these tools:",
        *(f"- {tool.name}: {tool.description} Arguments: {_compact(tool.input_schema)}" for tool in tools),
        'Reply with one JSON object. To use a tool: {"tool": NAME, "arguments": {...}}.',
    ]
    if answer:
        lines.append('To answer the user: {"answer": TEXT}. Use a tool only when the answer needs it.')
    return "\n".join(lines)


def call_words(name: str, input: Mapping[str, Any], raw_input: str | None) -> str:
    """A call that the model made earlier, in the form it is asked to use."""
    arguments = _compact(input) if raw_input is None else raw_input
    return f'{{"tool": {_compact(name)}, "arguments": {arguments}}}'


def _object_schema(tool: ToolSpec) -> Mapping[str, Any]:
    return {"type": "object", **tool.input_schema}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _hoisted(schema: Mapping[str, Any], name: str, definitions: dict[str, Any]) -> Mapping[str, Any]:
    """`schema` as part of a larger one: where it refers to itself it moves under `$defs`."""
    moved = _moved(schema, f"#/$defs/{name}")
    if moved == schema:
        return schema
    definitions[name] = moved
    return {"$ref": f"#/$defs/{name}"}


def _moved(node: Any, root: str) -> Any:
    if isinstance(node, Mapping):
        return {
            key: root + value[1:]
            if key == "$ref" and isinstance(value, str) and value.startswith("#")
            else _moved(value, root)
            for key, value in node.items()
        }
    if isinstance(node, list | tuple):
        return type(node)(_moved(item, root) for item in node)
    return node


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)
