"""What MCP servers ask, put to the program on the other end, in a form that hosts of the Agent SDK know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import anyio

from caliban_headless.hostline import HostLine
from caliban_mcp.elicit import ElicitAnswer, FormField, FormQuestion, ServerQuestion, UrlQuestion

WAIT_S: Final = 300.0
"""So long an answer is waited for: a host may leave a question without one."""

ACTIONS: Final = ("accept", "decline", "cancel")


class HostElicitor:
    """See `Elicitor`: whoever reads the frames is asked by an `elicitation` request."""

    def __init__(self, line: HostLine) -> None:
        self._line = line

    async def elicit(self, question: ServerQuestion) -> ElicitAnswer:
        """See `Elicitor`; without a clear answer nobody has decided. Raises `HostRefused`."""
        answer: Mapping[str, Any] = {}
        with anyio.move_on_after(WAIT_S):
            answer = await self._line.ask(_request(question), withdraws=True)
        action, content = answer.get("action"), answer.get("content")
        if action not in ACTIONS:
            return ElicitAnswer(action="cancel")
        return ElicitAnswer(action=action, content=content if isinstance(content, Mapping) else None)


def _request(question: ServerQuestion) -> dict[str, Any]:
    """The body of the request."""
    body: dict[str, Any] = {
        "subtype": "elicitation",
        "mcp_server_name": question.server,
        "message": question.message,
    }
    match question:
        case UrlQuestion(url=url):
            return body | {"mode": "url", "url": url}
        case FormQuestion(fields=fields):
            return body | {
                "mode": "form",
                "requested_schema": {
                    "type": "object",
                    "properties": {field.name: _schema(field) for field in fields},
                    "required": [field.name for field in fields if field.required],
                },
                "property_order": [field.name for field in fields],
            }


def _schema(field: FormField) -> dict[str, Any]:
    """A field as the protocol has it."""
    choices = [{"const": choice.value, "title": choice.label} for choice in field.choices]
    schema: dict[str, Any] = {"title": field.title}
    if field.description:
        schema["description"] = field.description
    match field.kind:
        case "text":
            schema |= {"type": "string"} | ({"format": field.format} if field.format else {})
        case "choice":
            schema |= {"type": "string", "oneOf": choices}
        case "choices":
            schema |= {"type": "array", "items": {"anyOf": choices}}
        case _:
            schema |= {"type": field.kind}
    names = {"text": ("minLength", "maxLength"), "choices": ("minItems", "maxItems")}
    low, high = names.get(field.kind, ("minimum", "maximum"))
    bounds = {low: field.low, high: field.high, "default": field.default}
    return schema | {name: value for name, value in bounds.items() if value is not None}
