"""Tells hooks of files that an agent has written and somebody else has changed since.

It is noticed where tools are called: before each call, and after one that does not write files itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from caliban_agent_core.hooks import ask_hooks
from caliban_common.hook import FileChanged, Hooks
from caliban_common.paths import expand_user
from caliban_common.tool import Tool, ToolContext, ToolOutput, ToolSource, ToolSpec

MAX_FILES = 500
"""So many files are looked after: those written last."""

_State: TypeAlias = tuple[int, int, int, int] | None


class WrittenFiles:
    """The files that the agents of a run have written, each as it was left."""

    def __init__(self, workspace: Path, hooks: Hooks) -> None:
        self._workspace = workspace
        self._hooks = hooks
        self._states: dict[str, _State] = {}

    def wrote(self, paths: Iterable[str]) -> None:
        """An agent has written `paths`: so they are."""
        for text in paths:
            path = str(self._workspace / expand_user(text))
            self._states.pop(path, None)
            self._states[path] = _state(path)
            if len(self._states) > MAX_FILES:
                del self._states[next(iter(self._states))]

    async def look(self, session_id: str, agent: str) -> None:
        """Tell the hooks of what is not as it was left, each change once."""
        for path, before in tuple(self._states.items()):
            now = _state(path)
            if now == before:
                continue
            self._states[path] = now
            change: Literal["change", "unlink"] = "unlink" if now is None else "change"
            event = FileChanged(session_id=session_id, path=path, change=change, agent=agent)
            await ask_hooks(self._hooks, event)


class TrackedTools:
    """`source`, whose tools say what they write, and look for changes when they are called."""

    def __init__(self, source: ToolSource, files: WrittenFiles) -> None:
        self._source = source
        self._files = files
        self._seen: tuple[Tool, ...] | None = None
        self._tracked: tuple[Tool, ...] = ()

    def tools(self) -> tuple[Tool, ...]:
        """Those of the source."""
        tools = self._source.tools()
        if tools is not self._seen:
            self._seen = tools
            self._tracked = tuple(_TrackedTool(tool, self._files) for tool in tools)
        return self._tracked


class _TrackedTool:
    def __init__(self, tool: Tool, files: WrittenFiles) -> None:
        self._tool = tool
        self._files = files

    @property
    def spec(self) -> ToolSpec:
        return self._tool.spec

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return self._tool.conflict_key(args)

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        files, spec = self._files, self._tool.spec
        await files.look(context.session_id, context.agent)
        output = await self._tool.invoke(args, context)
        named = (args.get(name) for name, role in spec.roles.items() if role == "writes")
        written = [path for path in named if isinstance(path, str)]
        if not written:
            await files.look(context.session_id, context.agent)
        elif not (isinstance(output, ToolOutput) and output.is_error):
            files.wrote(written)
        return output


def _state(path: str) -> _State:
    try:
        status = Path(path).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode
