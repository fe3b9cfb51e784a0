"""The wall around the work of tools: whatever they raise becomes an output that the model can read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from caliban_common.arguments import ArgumentError
from caliban_common.text import one_line
from caliban_common.tool import ToolOutput

Outcome = Literal["ran", "denied", "invalid", "interrupted"]


async def walled(name: str, work: Callable[[], Awaitable[ToolOutput]]) -> tuple[ToolOutput, Outcome]:
    """What `work` of the tool `name` gives, and how it went. The wall around a tool."""
    try:
        output = await work()
        if not isinstance(output, ToolOutput):
            raise TypeError(f"the tool returned {type(output).__name__}, not a ToolOutput")
        return output, "ran"
    except ArgumentError as error:
        return ToolOutput.of(f"Error: invalid input: {name}: {error.message}", is_error=True), "invalid"
    except (Exception, SystemExit) as error:
        text = f"Error: execution failed: {one_line(_reason(error), max_chars=2000)}"
        return ToolOutput.of(text, is_error=True), "ran"


def _reason(error: BaseException) -> str:
    """What went wrong; of a group of errors what went wrong inside."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(map(_reason, error.exceptions))
    return f"{type(error).__name__}: {error}"
