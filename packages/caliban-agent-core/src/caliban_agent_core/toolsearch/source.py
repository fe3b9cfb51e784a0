"""A source that holds deferred tools back until they are found, or called."""

from __future__ import annotations

from collections.abc import Mapping
from operator import is_
from typing import Any

from caliban_agent_core.toolsearch.active import ActiveTools, gone_words
from caliban_common.estimate import tool_tokens
from caliban_common.message import TextBlock
from caliban_common.tool import Tool, ToolContext, ToolOutput, ToolSource, ToolSpec


class DeferredTool:
    """`tool`, which is shown from its next call on."""

    def __init__(self, tool: Tool, active: ActiveTools) -> None:
        self.tool = tool
        self._active = active

    @property
    def spec(self) -> ToolSpec:
        """That of the tool."""
        return self.tool.spec

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """That of the tool."""
        return self.tool.conflict_key(args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Run the tool. The model is told which schema it will see no more for it."""
        gone = self._active.use(self.spec.name)
        output = await self.tool.invoke(args, context)
        if not gone or not isinstance(output, ToolOutput):
            return output
        note = TextBlock(text=f"[{gone_words(gone, self._active)}]")
        return ToolOutput(content=(*output.content, note), is_error=output.is_error, details=output.details)


class DeferredTools:
    """`source` without the schemas of its deferred tools, and a tool that finds them.

    What was found or called is shown behind all others, as far as `active` has room. A source whose deferred
    tools are few is left as it is; once they are held back, that stays. Such a source has to be the outermost
    one of an agent: what is held back can be called all the same (`held_back`).
    """

    def __init__(self, source: ToolSource, active: ActiveTools) -> None:
        self._source = source
        self._active = active
        self._search: Tool | None = None
        self._seen: tuple[Tool, ...] | None = None
        self._changes = -1
        self._holds = False
        self._direct: tuple[Tool, ...] = ()
        self._deferred: dict[str, DeferredTool] = {}
        self._shown: tuple[Tool, ...] = ()
        self._held: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        """Those that the model is shown."""
        self._look()
        return self._shown

    def held_back(self) -> tuple[Tool, ...]:
        """Those that it is not shown, and may call."""
        self._look()
        return self._held

    def _finder(self) -> tuple[Tool, ...]:
        """The tool that finds the others; most sources hold nothing back and never need it."""
        if self._search is None:
            from caliban_agent_core.toolsearch.search import ToolSearch

            self._search = ToolSearch(self._active, self._deferred_specs)
        return (self._search,)

    def _deferred_specs(self) -> tuple[ToolSpec, ...]:
        self._look()
        return tuple(tool.spec for tool in self._deferred.values())

    def _look(self) -> None:
        tools = self._source.tools()
        if tools is not self._seen:
            self._seen = tools
            self._sort(tools)
        elif self._changes == self._active.changes:
            return
        self._changes = self._active.changes
        if not self._holds:
            self._shown = tools
            return
        active = [self._deferred[name] for name in self._active.names if name in self._deferred]
        search = self._finder() if self._deferred else ()
        self._shown = _same(self._shown, (*self._direct, *search, *active))
        self._held = _same(self._held, tuple(tool for tool in self._deferred.values() if tool not in active))

    def _sort(self, tools: tuple[Tool, ...]) -> None:
        """Tell deferred tools from others. Of two with one name the first counts."""
        specs = [tool.spec for tool in tools]
        direct = tuple(tool for tool, spec in zip(tools, specs, strict=True) if not spec.deferred)
        taken = {spec.name for spec in specs if not spec.deferred}
        before, self._deferred = self._deferred, {}
        for tool, spec in zip(tools, specs, strict=True):
            name = spec.name
            if spec.deferred and name not in taken and name not in self._deferred:
                old = before.get(name)
                same = old is not None and old.tool is tool
                self._deferred[name] = old if old is not None and same else DeferredTool(tool, self._active)
        self._direct = _same(self._direct, direct)
        if self._holds:
            return
        deferred = [tool.spec for tool in self._deferred.values()]
        self._holds = bool(deferred) and tool_tokens(deferred) > self._active.deferral.over_tokens
        if self._holds:  # what the model was shown already stays: it costs no new prefix
            shown = {tool.spec.name for tool in self._shown}
            self._active.use(*(name for name in self._deferred if name in shown))


def _same(before: tuple[Tool, ...], now: tuple[Tool, ...]) -> tuple[Tool, ...]:
    """`before` where it has the very same tools: a source gives one object while nothing has changed."""
    return before if len(before) == len(now) and all(map(is_, before, now)) else now
