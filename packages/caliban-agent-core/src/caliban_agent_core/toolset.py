"""The tools of one turn: its calls meet what the model was offered, whatever the source does meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from caliban_agent_core.errors import ToolDefinitionError
from caliban_common.tool import FixedTools, Tool, ToolSource, ToolSpec


class ToolSnapshot(Struct, frozen=True, kw_only=True):
    """What a source had at one moment; `specs` are in the order of the prompt.

    `hidden` are the names that more than one tool has: the first one counts.
    """

    specs: tuple[ToolSpec, ...]
    by_name: Mapping[str, Tool]
    hidden: tuple[str, ...] = ()


class ToolSnapshots:
    """Looks at a source again and again; the same snapshot comes back while the source has not changed."""

    def __init__(self, source: ToolSource) -> None:
        self._source = source
        self._tools: tuple[Tool, ...] | None = None
        self._snapshot = ToolSnapshot(specs=(), by_name={})

    def take(self) -> ToolSnapshot:
        """The tools of the source now."""
        tools = self._source.tools()
        if tools is not self._tools:
            self._tools = tools
            self._snapshot = snapshot_of(tools)
        return self._snapshot


def snapshot_of(tools: Sequence[Tool]) -> ToolSnapshot:
    """`tools` by name."""
    by_name: dict[str, Tool] = {}
    specs: list[ToolSpec] = []
    hidden: list[str] = []
    for tool in tools:
        spec = tool.spec
        if spec.name in by_name:
            hidden.append(spec.name)
            continue
        by_name[spec.name] = tool
        specs.append(spec)
    return ToolSnapshot(specs=tuple(specs), by_name=by_name, hidden=tuple(dict.fromkeys(hidden)))


def source_of(tools: Sequence[Tool] | ToolSource) -> ToolSource:
    """`tools` as a source. Raises `ToolDefinitionError` for two of one name in a plain sequence."""
    if not isinstance(tools, Sequence):
        return tools
    hidden = sorted(snapshot_of(tools).hidden)
    if hidden:
        raise ToolDefinitionError(f"two tools share the name {hidden[0]!r}", hint="give each its own name")
    return FixedTools(tools)
