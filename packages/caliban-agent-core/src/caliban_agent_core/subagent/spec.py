"""The tool that starts sub-agents, as the model and the gate know it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from caliban_agent_core.subagent.definition import GENERAL, AgentDefinition
from caliban_common.text import one_line
from caliban_common.tool import ShownArgument, ToolSpec

NAME: Final = "Agent"
OTHER_NAMES: Final = ("AgentTool", "Task")
"""What the guide and other harnesses call it."""
MAX_DESCRIPTION_CHARS = 300
"""Of each kind of agent that the tool tells of: a first request stays small."""

DESCRIPTION: Final = """\
Give a task to an agent with a history of its own; only its last message comes back. It knows nothing of \
this conversation: the prompt must say all that it needs, and what to report. Types:"""
PROPERTIES: Final[Mapping[str, Any]] = {
    "description": {"type": "string", "description": "the task in 3 to 5 words"},
    "prompt": {"type": "string"},
    "subagent_type": {"type": "string", "description": "default: the first"},
    "tools": {"type": "array", "items": {"type": "string"}, "description": "all it may use (default: yours)"},
    "model": {"type": "string", "description": "default: yours"},
    "run_in_background": {
        "type": "boolean",
        "description": "go on at once; its result comes later as a message (default false)",
    },
}
_ALIASES: Final[Mapping[str, str]] = {
    "task": "prompt",
    "label": "description",
    "agent_type": "subagent_type",
    "agent": "subagent_type",
    "tool_allowlist": "tools",
    "background": "run_in_background",
}


def agent_spec(definitions: Sequence[AgentDefinition] = (GENERAL,)) -> ToolSpec:
    """The spec of the tool that starts agents of these kinds: without a name it takes the first.

    It changes nothing by itself: whatever such an agent does passes the gate of its caller.
    """
    kinds = "".join(
        f"\n- {kind.name}: {one_line(kind.description, max_chars=MAX_DESCRIPTION_CHARS)}"
        for kind in definitions
    )
    return ToolSpec(
        name=NAME,
        description=DESCRIPTION + kinds,
        input_schema={
            "type": "object",
            "properties": PROPERTIES,
            "required": ["description", "prompt"],
            "additionalProperties": False,
        },
        kind="session",
        main_argument="subagent_type",
        shows=(ShownArgument(name="subagent_type"), ShownArgument(name="description")),
        aliases=_ALIASES,
        extras=("inherit_hooks", "inherit_active_mcp"),
    )
