"""The tool that starts sub-agents, and the source that offers it."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import TYPE_CHECKING, Any

import anyio

from caliban_agent_core.subagent.parts import SubAgentParts
from caliban_agent_core.subagent.spec import agent_spec
from caliban_common.tool import Tool, ToolContext, ToolOutput, ToolSource, ToolSpec

if TYPE_CHECKING:
    from caliban_agent_core.toolsearch.active import ActiveTools


class AgentTool:
    """Runs agents for their caller. `depth` is that of the agents it starts; those of a session are 1."""

    def __init__(self, parts: SubAgentParts, *, spec: ToolSpec | None = None, depth: int = 1) -> None:
        self.spec: ToolSpec = spec or agent_spec(parts.definitions)
        self._parts = parts
        self._limiter = anyio.Semaphore(parts.max_at_once)
        # One for all agents of this depth: what they start shares a limit and waits for no caller of its own.
        self._below = AgentTool(parts, spec=self.spec, depth=depth + 1) if depth < parts.max_depth else None
        self._active: ActiveTools | None = None

    def called_with(self, active: ActiveTools | None) -> AgentTool:
        """The same tool in the hands of an agent that has `active` tools; the limits stay one."""
        other = copy(self)
        other._active = active
        return other

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """None: agents run side by side."""
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run an agent to its end, or leave it to the background."""
        from caliban_agent_core.subagent.child import CallingAgent, start_child

        caller = CallingAgent(active=self._active, tools_with=self._tools_with, limiter=self._limiter)
        return await start_child(args, context, self._parts, caller)

    def _tools_with(self, active: ActiveTools | None) -> ToolSource:
        """The tools of an agent that has `active` ones, and the one that starts others, where it may."""
        tools = self._parts.tools
        return tools if self._below is None else ToolsWithAgents(tools, self._below.called_with(active))


class ToolsWithAgents:
    """`source`, and after its first `place` tools, or after all of them, the one that starts agents.

    Where a source has tools that come and go behind its others, that place keeps the prompt's beginning.
    """

    def __init__(self, source: ToolSource, tool: AgentTool, place: int | None = None) -> None:
        self._source = source
        self._tool = tool
        self._seen: tuple[Tool, ...] | None = None
        self._all: tuple[Tool, ...] = ()
        self._place = place

    def tools(self) -> tuple[Tool, ...]:
        """Those of the source and the tool."""
        tools = self._source.tools()
        if tools is not self._seen:
            self._seen = tools
            place = len(tools) if self._place is None else self._place
            self._all = (*tools[:place], self._tool, *tools[place:])
        return self._all
