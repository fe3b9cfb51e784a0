"""The tools of a run, whose changes can be taken back. Nothing is loaded before the first of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from caliban.compose.tools import ToolInputs
from caliban_common.tool import Tool, ToolContext, ToolOutput, ToolSource, ToolSpec
from caliban_tools_builtin import builtin_specs

if TYPE_CHECKING:
    from caliban.compose.recorder import RunCheckpoints
    from caliban_permissions import Engine

LIMITS = ("CALIBAN_CHECKPOINT_MAX_BYTES", "CALIBAN_CHECKPOINT_MAX_FILE_BYTES")


def with_checkpoints(tools: ToolSource, inputs: ToolInputs) -> ToolSource:
    """`tools`, of which those that change files or run commands keep what was there before.

    A run that leaves no session leaves no checkpoints. Raises `UsageError` for a limit that is no number.
    """
    options, environ = inputs.options, inputs.host.environ
    if any(map(environ.get, LIMITS)):
        from caliban.compose.recorder import limits_of

        limits_of(environ)
    if options.session.no_save or options.workspace.no_checkpoints:
        return tools
    return CheckpointedTools(tools, inputs)


class CheckpointedTools:
    """A source whose tools are watched; the same tuple while that of `source` is."""

    def __init__(self, source: ToolSource, inputs: ToolInputs) -> None:
        self._source = source
        self._inputs = inputs
        self._seen: tuple[Tool, ...] | None = None
        self._tools: tuple[Tool, ...] = ()
        self._checkpoints: RunCheckpoints | None = None
        self._judge: Engine | None = None

    def tools(self) -> tuple[Tool, ...]:
        """Those of the source."""
        tools = self._source.tools()
        if tools is not self._seen:
            self._seen = tools
            self._tools = tuple(self._watched(tool) for tool in tools)
        return self._tools

    @property
    def checkpoints(self) -> RunCheckpoints:
        """Who keeps what was there before, for all agents of the run."""
        if self._checkpoints is None:
            from caliban.compose.recorder import RunCheckpoints

            self._checkpoints = RunCheckpoints(self._inputs)
        return self._checkpoints

    def only_reads(self, spec: ToolSpec, args: Mapping[str, Any]) -> bool:
        """Whether a command is known to change nothing: it would run where nobody has written a rule."""
        if self._judge is None:
            from caliban_permissions import Engine, RuleSet

            self._judge = Engine(
                RuleSet(),
                mode="default",
                workspace=self._inputs.workspace,
                interactive=False,
                search_path=tuple(os.get_exec_path()),
                vouched=builtin_specs(),
            )
        return self._judge.allows(spec, args)

    def _watched(self, tool: Tool) -> Tool:
        roles = tool.spec.roles.values()
        return WatchedTool(tool, self) if "writes" in roles or "command" in roles else tool


class WatchedTool:
    """`inner`, before whose calls the files that they may change are kept."""

    def __init__(self, inner: Tool, source: CheckpointedTools) -> None:
        self._inner = inner
        self._source = source
        self._runs = "command" in inner.spec.roles.values()
        self._writes = "writes" in inner.spec.roles.values()

    @property
    def spec(self) -> ToolSpec:
        """See `Tool`."""
        return self._inner.spec

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """See `Tool`."""
        return self._inner.conflict_key(args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """See `Tool`. What keeps a checkpoint from being kept never keeps the call from running."""
        spec = self._inner.spec
        runs = self._runs and not self._source.only_reads(spec, args)
        if not runs and not self._writes:
            return await self._inner.invoke(args, context)
        async with self._source.checkpoints.around(spec, args, context, runs=runs):
            return await self._inner.invoke(args, context)
