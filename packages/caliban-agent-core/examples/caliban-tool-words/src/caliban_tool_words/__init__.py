"""A tool that counts words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_common.event import ToolProgress
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec

SCHEMA = {
    "type": "object",
    "properties": {"text": {"type": "string", "description": "What to count the words of."}},
    "required": ["text"],
}


class CountWords:
    """Counts the words of a text."""

    spec = ToolSpec(name="CountWords", description="Count the words of a text.", input_schema=SCHEMA)

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """Any number of counts can run at once."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """The number of words; progress is for whoever watches."""
        text = args.get("text")
        if not isinstance(text, str):
            return ToolOutput.of("Error: invalid input: text must be a string", is_error=True)
        await context.emit(ToolProgress(tool_use_id=context.tool_use_id, text="counting"))
        return ToolOutput.of(f"{len(text.split())} words")


WORDS = CountWords()
