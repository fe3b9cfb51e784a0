"""The tool that finds tools, as the model and the gate know it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from caliban_agent_core.registry import SEARCH_NAME
from caliban_common.tool import ToolSpec

MAX_RESULTS: Final = 25
RESULTS: Final = 10
"""How many a search gives where the call does not say (behaviours 2.6)."""

DESCRIPTION: Final = """\
Find tools that are there and are not shown to you: those of other packages and servers. Search when a task \
needs what no tool at hand does. The words of the query are looked for in names and descriptions; \
`select:NAME,NAME` takes tools by name. What is found comes with its schema, and stays callable."""
PROPERTIES: Final[Mapping[str, Any]] = {
    "query": {"type": "string"},
    "max_results": {
        "type": "integer",
        "description": f"default {RESULTS}",
        "minimum": 1,
        "maximum": MAX_RESULTS,
    },
}
_ALIASES: Final[Mapping[str, str]] = {"q": "query", "pattern": "query", "limit": "max_results"}


def search_spec() -> ToolSpec:
    """The spec. It names no tool that it finds: what comes and goes must not move the prompt's beginning."""
    return ToolSpec(
        name=SEARCH_NAME,
        description=DESCRIPTION,
        input_schema={
            "type": "object",
            "properties": PROPERTIES,
            "required": ["query"],
            "additionalProperties": False,
        },
        kind="read",
        main_argument="query",
        aliases=_ALIASES,
        extras=("description", "explanation", "reason"),
    )
