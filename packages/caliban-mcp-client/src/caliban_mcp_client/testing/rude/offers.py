"""What the server has to offer: the same whatever its behaviour."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Frame = dict[str, Any]

MODERN: Final = "2026-07-28"
META: Final = "io.modelcontextprotocol/"
SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
    "required": ["a", "b"],
}
TOOLS: Final = (
    {"name": "echo", "description": "Says it again.", "inputSchema": {"type": "object"}},
    {
        "name": "add",
        "description": "Adds.",
        "inputSchema": SCHEMA,
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}, "required": ["sum"]},
        "annotations": {"readOnlyHint": True, "idempotentHint": True},
    },
    {"name": "slow", "description": "Takes `seconds`, in `steps`.", "inputSchema": {"type": "object"}},
    {"name": "ask", "description": "Asks a person first.", "inputSchema": {"type": "object"}},
)
"""What every behaviour has, but for those that are about lists."""

FORM: Final[Mapping[str, Any]] = {
    "mode": "form",
    "message": "Who are you?",
    "requestedSchema": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 7}},
    },
}

CAPABILITIES: Final[Mapping[str, Any]] = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True},
    "completions": {},
    "logging": {},
}
LISTS: Final[Mapping[str, Frame]] = {
    "prompts/list": {"prompts": [{"name": "greet", "arguments": [{"name": "who", "required": True}]}]},
    "resources/list": {"resources": [{"uri": "demo://one", "name": "one", "size": 13}]},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "demo://{name}", "name": "any"}]},
}
