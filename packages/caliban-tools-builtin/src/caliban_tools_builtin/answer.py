"""The one place where a failed call becomes an output that the model reads."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from caliban_common.arguments import ArgumentError
from caliban_common.text import clean
from caliban_common.tool import ToolOutput
from caliban_tools_builtin.errors import PathRefused, ToolFailed


async def answered(work: Callable[[], Awaitable[ToolOutput]]) -> ToolOutput:
    """The output of `work`, or one that says why there is none."""
    try:
        return await work()
    except ArgumentError as error:
        return _failure("invalid input", str(error))
    except PathRefused as error:
        return replace(_failure(error.kind, str(error)), refused=True)
    except ToolFailed as error:
        return _failure(error.kind, str(error))


async def off_loop(work: Callable[[], ToolOutput]) -> ToolOutput:
    """Run file work on a worker thread. It is never abandoned: what it began to write, it finishes."""
    import anyio.to_thread

    async def on_thread() -> ToolOutput:
        return await anyio.to_thread.run_sync(work)

    return await answered(on_thread)


def _failure(kind: str, message: str) -> ToolOutput:
    return ToolOutput.of(clean(f"Error: {kind}: {message}"), is_error=True)
