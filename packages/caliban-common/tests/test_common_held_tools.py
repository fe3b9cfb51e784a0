"""Tools that can be called and are shown once they were."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio

from caliban_common.tool import FixedTools, HeldTools, Tool, ToolContext, ToolOutput, ToolSpec

CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="c")


class Named:
    def __init__(self, name: str) -> None:
        self.spec = ToolSpec(name=name, description="d", input_schema={})

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        return ToolOutput.of(self.spec.name)


def names(tools: tuple[Tool, ...]) -> list[str]:
    return [tool.spec.name for tool in tools]


def test_a_held_tool_is_callable_and_shown_after_its_first_call() -> None:
    source = HeldTools(FixedTools([Named("a")]), [Named("x"), Named("y")])
    assert (names(source.tools()), names(source.held_back())) == (["a"], ["x", "y"])
    shown, held = source.tools(), source.held_back()
    assert source.tools() is shown and source.held_back() is held
    assert anyio.run(held[1].invoke, {}, CONTEXT).text == "y"
    anyio.run(held[1].invoke, {}, CONTEXT)
    assert (names(source.tools()), names(source.held_back())) == (["a", "y"], ["x"])


def test_what_the_source_holds_back_is_held_back_too() -> None:
    inner = HeldTools(FixedTools(), [Named("i")])
    source = HeldTools(inner, [Named("o")])
    assert names(source.held_back()) == ["i", "o"]
    anyio.run(source.held_back()[0].invoke, {}, CONTEXT)
    assert (names(source.tools()), names(source.held_back())) == (["i"], ["o"])
