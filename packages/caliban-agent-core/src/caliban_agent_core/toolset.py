"""The tools of one turn: its calls meet what the model was offered, whatever the source does meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from caliban_agent_core.errors import ToolDefinitionError
from caliban_common.codec import MAX_LEVELS
from caliban_common.message import ToolUseBlock
from caliban_common.tool import FixedTools, Tool, ToolSource, ToolSpec


@runtime_checkable
class HoldingSource(Protocol):
    """A source of tools that shows the model fewer than it may call."""

    def held_back(self) -> tuple[Tool, ...]:
        """Those that can be called and are not shown; the same object while nothing has changed."""
        ...


class ToolSnapshot(Struct, frozen=True, kw_only=True):
    """What a source had at one moment; `specs` are those of the tools that are shown, in the prompt's order.

    `by_name` has those that are held back, too. `hidden` are the names that more than one tool has: the first
    one counts.
    """

    specs: tuple[ToolSpec, ...]
    by_name: Mapping[str, Tool]
    hidden: tuple[str, ...] = ()

    def stretches(self, calls: Sequence[ToolUseBlock]) -> Iterator[range]:
        """The places of calls that are judged together: a stretch ends with a call that begins plan mode."""
        start = 0
        for end, call in enumerate(calls, start=1):
            tool = self.by_name.get(call.name)
            if end == len(calls) or (tool is not None and tool.spec.begins_plan):
                yield range(start, end)
                start = end


class ToolSnapshots:
    """Looks at a source again and again; the same snapshot comes back while the source has not changed."""

    def __init__(self, source: ToolSource) -> None:
        self.source = source
        self._holding = source if isinstance(source, HoldingSource) else None
        self._tools: tuple[Tool, ...] | None = None
        self._held: tuple[Tool, ...] = ()
        self._snapshot = ToolSnapshot(specs=(), by_name={})

    def take(self) -> ToolSnapshot:
        """The tools of the source now."""
        tools = self.source.tools()
        held = self._holding.held_back() if self._holding is not None else ()
        if tools is not self._tools or held is not self._held:
            self._tools, self._held = tools, held
            self._snapshot = snapshot_of(tools, held)
        return self._snapshot


def snapshot_of(tools: Sequence[Tool], held: Sequence[Tool] = ()) -> ToolSnapshot:
    """`tools` by name, and those that are `held` back."""
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
    for tool in held:
        by_name.setdefault(tool.spec.name, tool)
    return ToolSnapshot(specs=tuple(specs), by_name=by_name, hidden=tuple(dict.fromkeys(hidden)))


def source_of(tools: Sequence[Tool] | ToolSource) -> ToolSource:
    """`tools` as a source.

    Raises `ToolDefinitionError` for what is neither, for what is no tool in a plain sequence, for one that
    cannot be told to a model, and for two tools of one name.
    """
    if not isinstance(tools, Sequence):
        if callable(getattr(tools, "tools", None)):
            return tools
        what = f"a {type(tools).__name__} is no sequence of tools, and no source of them"
        raise ToolDefinitionError(what, hint="give a list, such as tools=[one], or an object with tools()")
    for tool in tools:
        if not isinstance(getattr(tool, "spec", None), ToolSpec):
            raise ToolDefinitionError(
                f"{getattr(tool, '__name__', repr(tool))} is no tool",
                hint="make one of a function with @tool, or give an object with the members of `Tool`",
            )
        fault = spec_fault(tool.spec)
        if fault:
            raise ToolDefinitionError(f"the tool {tool.spec.name!r} cannot be told to a model: {fault}")
    hidden = sorted(snapshot_of(tools).hidden)
    if hidden:
        raise ToolDefinitionError(f"two tools share the name {hidden[0]!r}", hint="give each its own name")
    return FixedTools(tools)


def spec_fault(spec: ToolSpec) -> str:
    """Why `spec` cannot stand in a request, which would fail with all that is in it; empty where it can."""
    for name in ("name", "description"):
        if not isinstance(getattr(spec, name), str):
            return f"its {name} is no text"
    schema: Any = spec.input_schema
    if not isinstance(schema, Mapping):
        return "its input_schema is no JSON Schema"
    return _no_json(schema, "its input_schema", MAX_LEVELS)


def _no_json(value: object, where: str, levels: int) -> str:
    """Which part of `value` JSON does not have; empty where there is none."""
    if value is None or isinstance(value, str | int | float | bool):
        return ""
    if not levels:
        return f"{where[:100]} is nested too deeply"
    inner: Iterable[tuple[object, object]]
    if isinstance(value, Mapping):
        inner = value.items()
    elif isinstance(value, list | tuple):
        inner = enumerate(value)
    else:
        return f"{where} holds a {type(value).__name__}, which JSON does not have"
    faults = (_no_json(item, f"{where}.{name}", levels - 1) for name, item in inner)
    return next(filter(None, faults), "")
