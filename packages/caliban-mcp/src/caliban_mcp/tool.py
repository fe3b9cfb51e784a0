"""A tool of a server as one of the agent's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

import anyio

from caliban_common.errors import CalibanError
from caliban_common.event import ToolProgress
from caliban_common.text import clean, one_line
from caliban_common.tool import ShownArgument, ToolContext, ToolOutput, ToolSpec
from caliban_mcp.hidden import plain_schema, without_hidden
from caliban_mcp_client.errors import CallError
from caliban_mcp_client.values import CallUpdate, McpTool

if TYPE_CHECKING:
    from caliban_mcp.ports import ToolServer
    from caliban_mcp_client.content import CallResult

MAX_DESCRIPTION_BYTES: Final = 2048
"""Of what a server says of a tool, as a model reads it."""

TOOL_USE_ID: Final = "claudecode/toolUseId"
"""Under this name programs for the Agent SDK look for the id of a call."""

OnUpdate = Callable[[CallUpdate], None]
WAITING_UPDATES: Final = 16
"""So many words on how far a call is wait for a reader; a server may say more than anybody reads."""


class ServerTool:
    """One tool of one server. `definition` is what was pinned; another one is another object."""

    def __init__(self, spec: ToolSpec, tool: McpTool, caller: ToolServer, *, is_new: bool = False) -> None:
        self.spec: ToolSpec = spec
        self.tool = tool
        self.is_new = is_new
        self._caller = caller

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """Calls of one server come one after the other, but for those that say they only read."""
        return None if self.tool.annotations.read_only else f"mcp server {self._caller.name}"

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Call it; see `Tool`. What goes wrong with the server is the model's to read."""
        from caliban_mcp.results import read_output

        try:
            return await read_output(await self._told(args, context), self._caller.look)
        except CallError as error:
            return ToolOutput.of(_said(error), is_error=True)
        except CalibanError as error:
            words = f"the server {self._caller.name} cannot be used: {_said(error)}"
            return ToolOutput.of(words, is_error=True)

    async def _told(self, args: Mapping[str, Any], context: ToolContext) -> CallResult:
        """The result of a call that tells how far it is while it runs. Raises `CalibanError`."""
        send, receive = anyio.create_memory_object_stream[CallUpdate](WAITING_UPDATES)
        failed: CalibanError | None = None
        result: CallResult | None = None

        def tell(update: CallUpdate) -> None:
            with suppress(anyio.WouldBlock):
                send.send_nowait(update)

        async def follow() -> None:
            async for update in receive:
                text = _words(update)
                await context.emit(
                    ToolProgress(tool_use_id=context.tool_use_id, agent=context.agent, text=text)
                )

        async with receive, anyio.create_task_group() as group:
            group.start_soon(follow)
            with send:
                try:
                    result = await self._caller.call(self.tool.name, args, tell, context.tool_use_id)
                except CalibanError as error:
                    failed = error  # raised below: a task group would wrap it
        if result is None:
            raise failed or CalibanError("the call has ended without a word")
        return result


def spec_of(name: str, server: str, tool: McpTool, *, lazy: bool) -> ToolSpec:
    """What a model reads of a tool, without what nobody would see.

    Nothing that the server claims opens anything: whatever it says, others may have written its results (ADR
    0024).
    """
    words = without_hidden(tool.description or tool.title or tool.annotations.title).strip()
    return ToolSpec(
        name=name,
        description=_shortened(words)
        or f"The tool {one_line(tool.name, max_chars=80)} of the server {server}.",
        input_schema=plain_schema(tool.input_schema),
        kind="network" if tool.annotations.open_world else "other",
        shows=_shown(tool),
        deferred=lazy,
        server=server,
    )


def _shown(tool: McpTool) -> tuple[ShownArgument, ...]:
    """What a line about a call shows: the first argument that has to be there. Rules go by none of them."""
    required = tool.input_schema.get("required")
    properties = tool.input_schema.get("properties")
    if not isinstance(required, list) or not isinstance(properties, dict):
        return ()
    first = next((name for name in required if isinstance(name, str) and name in properties), None)
    return () if first is None else (ShownArgument(name=first),)


def instructions_for_model(text: str) -> str:
    """What a server says of itself, as a model reads it: nothing hidden, and no more than of one tool."""
    return _shortened(without_hidden(text).strip())


def _shortened(text: str) -> str:
    data = clean(text).encode()
    if len(data) <= MAX_DESCRIPTION_BYTES:
        return text
    return data[: MAX_DESCRIPTION_BYTES - 3].decode("utf-8", "ignore").rstrip() + "…"


def _words(update: CallUpdate) -> str:
    share = f"{update.progress:g}" + (f"/{update.total:g}" if update.total is not None else "")
    message = one_line(without_hidden(update.message), max_chars=200)
    return f"{share} {message}".rstrip() + "\n"


def _said(error: CalibanError) -> str:
    words = one_line(error.message, max_chars=1000)
    return f"{words} ({error.hint})" if error.hint else words
