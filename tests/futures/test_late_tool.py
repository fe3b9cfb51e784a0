"""Tools of a server that connects late, and changes them, are a source: ten lines that wrap another one."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_agent_core import Agent, tool
from caliban_common.tool import FixedTools, Tool, ToolSource
from caliban_provider.testing.scripted import Reply, ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


class WithServer:
    """The tools of `source`, and behind them those of a server as it announces them."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        self._all = source.tools()

    def announce(self, *tools: Tool) -> None:
        self._all = (*self._source.tools(), *tools)

    def tools(self) -> tuple[Tool, ...]:
        return self._all


@tool
async def look() -> str:
    """Look."""
    return "seen"


@tool
async def fetch() -> str:
    """Fetch."""
    return "fetched"


async def test_a_server_that_connects_during_a_run_serves_its_next_turn():
    source = WithServer(FixedTools([look]))

    def model(request: Any) -> Reply:
        if len(request.messages) == 1:
            source.announce(fetch)
            return reply(tool_call("look"))
        return reply(tool_call("fetch")) if len(request.messages) == 3 else reply("done")

    provider = ScriptedProvider(model)
    outcome = await Agent(provider, "m", tools=source).run_to_end("go")
    results = [block.content[0].text for message in outcome.messages for block in message.tool_results]
    assert results == ["seen", "fetched"]
    assert [len(request.tools) for request in provider.requests] == [1, 2, 2]
