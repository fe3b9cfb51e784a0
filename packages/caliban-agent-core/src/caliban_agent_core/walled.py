"""The wall around the work of tools: whatever they raise becomes an output that the model can read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from anyio import get_cancelled_exc_class

from caliban_common.arguments import ArgumentError
from caliban_common.message import DocumentBlock, ImageBlock, TextBlock, ToolUseBlock
from caliban_common.text import one_line
from caliban_common.tool import Tool, ToolOutput

Outcome = Literal["ran", "denied", "invalid", "interrupted"]


async def walled(name: str, work: Callable[[], Awaitable[ToolOutput]]) -> tuple[ToolOutput, Outcome]:
    """What `work` of the tool `name` gives, and how it went. The wall around a tool."""
    try:
        output: Any = await work()
        wrong = _misshapen(output)
        if wrong:
            raise TypeError(wrong)
        return output, "ran"
    except ArgumentError as error:
        return ToolOutput.of(f"Error: invalid input: {name}: {error.message}", is_error=True), "invalid"
    except BaseException as error:
        if passes(error):
            raise
        text = f"Error: execution failed: {one_line(_reason(error), max_chars=2000)}"
        return ToolOutput.of(text, is_error=True), "ran"


def conflict_key_of(tool: Tool, call: ToolUseBlock) -> str | None:
    """The key under which `call` waits for others; where a tool cannot name it, all its calls share one."""
    try:
        return tool.conflict_key(call.input)
    except ArgumentError:
        return None  # the tool itself will tell the model what is wrong
    except Exception:
        return f"every call of {tool.spec.name}"  # nobody knows what it touches: one at a time


def passes(error: BaseException) -> bool:
    """Whether a wall lets `error` by: it ends the run, or what is around it, and tells of no fault.

    Not all others are an `Exception`: a panic in code written in Rust is none.
    """
    if isinstance(error, BaseExceptionGroup):
        return any(map(passes, error.exceptions))
    return isinstance(error, KeyboardInterrupt | GeneratorExit | get_cancelled_exc_class())


def _misshapen(output: Any) -> str:
    """What makes `output` none of a tool; empty where it is one."""
    if not isinstance(output, ToolOutput):
        return f"the tool returned {type(output).__name__}, not a ToolOutput"
    content: Any = output.content
    if not isinstance(content, list | tuple):
        return f"the tool's content is a {type(content).__name__}, not a tuple of blocks"
    odd = next(
        (part for part in content if not isinstance(part, TextBlock | ImageBlock | DocumentBlock)), None
    )
    if odd is not None:
        return f"the tool's content holds a {type(odd).__name__}, not a block; ToolOutput.of takes a text"
    values = (part.text if isinstance(part, TextBlock) else part.data for part in content)
    wrong = next((value for value in values if not isinstance(value, str | None)), None)
    if wrong is not None:
        return f"a block of the tool's content holds a {type(wrong).__name__}, not a string"
    details: Any = output.details
    return "" if isinstance(details, Mapping) else f"the tool's details are a {type(details).__name__}"


def _reason(error: BaseException) -> str:
    """What went wrong; of a group of errors what went wrong inside."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(map(_reason, error.exceptions))
    return f"{type(error).__name__}: {error}"
