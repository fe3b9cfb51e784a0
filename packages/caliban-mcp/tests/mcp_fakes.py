"""Servers that are none: a list of tools, and what is answered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from caliban_mcp_client.content import CallResult, TextContent
from caliban_mcp_client.entries import read_tool
from caliban_mcp_client.news import Changes
from caliban_mcp_client.values import McpTool, ServerInfo, ToolsChanged


def tool(name: str, **members: Any) -> McpTool:
    """A tool as a server lists it."""
    entry = {"name": name, "description": f"Do {name}.", "inputSchema": {"type": "object"}, **members}
    parsed = read_tool(entry, lambda words: None)
    assert parsed is not None
    return parsed


class FakeClient:
    """A conversation with a server that has `tools`; `on_call` is what a call does."""

    def __init__(
        self, *tools: McpTool, capabilities: dict[str, Any] | None = None, instructions: str = ""
    ) -> None:
        self.tools = tools
        self.changes = Changes()
        self.problems: tuple[str, ...] = ()
        self.verdict = None
        self.lists = 0
        self.on_call: Callable[..., Any] = lambda name, args, update: None
        self.info = ServerInfo(
            era="legacy",
            protocol_version="2025-11-25",
            capabilities={"tools": {}} if capabilities is None else capabilities,
            instructions=instructions,
        )

    async def list_tools(self, known: Sequence[McpTool] = ()) -> tuple[McpTool, ...]:
        self.lists += 1
        return self.tools

    async def call_tool(self, name: str, args: Any, *, on_update: Any, meta: Any = None) -> CallResult:
        outcome = self.on_call(name, args, on_update)
        return (
            outcome
            if isinstance(outcome, CallResult)
            else CallResult(content=(TextContent(text=f"{name} ran"),))
        )

    def now_has(self, *tools: McpTool) -> None:
        """Its tools are others, and it says so."""
        self.tools = tools
        self.changes.put(ToolsChanged())

    @asynccontextmanager
    async def opened(self, verdict: Any) -> Any:
        self.changes = Changes()
        yield self
