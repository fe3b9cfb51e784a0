"""Tools that come, go and change while a run is at work."""

from __future__ import annotations

from typing import Any

import pytest
from loop_kit import DONE, Stub, of, play

from caliban_agent_core import Agent, ToolDefinitionError
from caliban_common.event import ToolCallEnd, Warned
from caliban_common.tool import FilteredTools, FixedTools, Tool
from caliban_common.usage import Usage
from caliban_provider.testing.scripted import Reply, ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio
CACHED = Usage(input_tokens=5000, output_tokens=1, cache_write_tokens=5000)


class Changing:
    """A source that a test changes."""

    def __init__(self, *tools: Tool) -> None:
        self.now = tools
        self.asked = 0

    def tools(self) -> tuple[Tool, ...]:
        self.asked += 1
        return self.now


def offered(provider: ScriptedProvider) -> list[list[str]]:
    return [[spec.name for spec in request.tools] for request in provider.requests]


async def test_a_tool_that_comes_late_is_offered_with_the_next_turn_and_runs():
    late = Stub("late")
    source = Changing(Stub("first"))

    def answer(request: Any) -> Reply:
        names = [spec.name for spec in request.tools]
        if len(request.messages) == 1:
            source.now = (*source.now, late)
            return reply(tool_call("first"))
        return reply(DONE) if late.calls else reply(tool_call(names[-1]))

    provider = ScriptedProvider(answer)
    _, outcome = await play(Agent(provider, "m", tools=source))
    assert outcome.stop.ok
    assert offered(provider) == [["first"], ["first", "late"], ["first", "late"]]
    assert len(late.calls) == 1
    assert source.asked == 3, "once a turn"


async def test_a_call_meets_the_tool_that_the_model_was_offered():
    old, new = Stub("a", output="old"), Stub("a", output="new")
    source = Changing(old)

    def answer(request: Any) -> Reply:
        source.now = (new,)
        return reply(tool_call("a")) if len(request.messages) < 5 else reply(DONE)

    events, _ = await play(Agent(ScriptedProvider(answer), "m", tools=source))
    assert [end.result.content[0].text for end in of(events, ToolCallEnd)] == ["old", "new"]


async def test_a_tool_that_went_away_still_answers_the_call_of_its_turn():
    source = Changing(Stub("a"))

    def answer(request: Any) -> Reply:
        source.now = ()
        return reply(tool_call("a")) if len(request.messages) < 5 else reply(DONE)

    events, _ = await play(Agent(ScriptedProvider(answer), "m", tools=source))
    first, second = (end.result.content[0].text for end in of(events, ToolCallEnd))
    assert first == "ok"
    assert second == "Error: invalid input: tool not found: a"


async def test_the_break_of_the_cache_names_the_tool_that_came():
    source = Changing(Stub("first"))

    def answer(request: Any) -> Reply:
        if len(request.messages) > 1:
            return reply(DONE)
        source.now = (*source.now, Stub("late"))
        return reply(tool_call("first"), usage=CACHED)

    events, _ = await play(Agent(ScriptedProvider(answer), "m", tools=source))
    (warning,) = of(events, Warned)
    assert warning.subtype == "cache_break"
    assert warning.details == {"part": "tool late, which is new", "cached_tokens": 5000}


async def test_of_two_tools_of_one_name_in_a_source_the_first_is_offered_and_the_other_told_of_once():
    first, second = Stub("a", output="first"), Stub("a", output="second")
    script = [reply(tool_call("a")), reply(tool_call("a")), reply(DONE)]
    provider = ScriptedProvider(script)
    events, _ = await play(Agent(provider, "m", tools=Changing(first, second)))
    assert offered(provider) == [["a"]] * 3
    assert (len(first.calls), len(second.calls)) == (2, 0)
    warnings = [(event.subtype, event.details) for event in of(events, Warned)]
    assert warnings == [("duplicate_tool", {"name": "a"})]


def test_two_tools_of_one_name_in_a_sequence_are_refused():
    with pytest.raises(ToolDefinitionError, match="two tools share the name 'a'"):
        Agent(ScriptedProvider([]), "m", tools=[Stub("b"), Stub("a"), Stub("a")])


async def test_every_run_of_an_agent_sends_the_same_specs_while_nothing_changes():
    provider = ScriptedProvider([reply("one"), reply("two")])
    agent = Agent(provider, "m", tools=[Stub("a"), Stub("b")])
    for _ in range(2):
        await play(agent)
    first, second = (request.tools for request in provider.requests)
    assert first is second


def test_a_filter_asks_again_only_when_its_source_has_changed():
    asked: list[str] = []
    source = Changing(Stub("a"), Stub("b"))

    def keep(spec: Any) -> bool:
        asked.append(spec.name)
        return spec.name != "b"

    kept = FilteredTools(FilteredTools(source, keep), keep)
    assert [tool.spec.name for tool in kept.tools()] == ["a"]
    assert kept.tools() is kept.tools()
    assert asked == ["a", "b", "a"]
    source.now = (Stub("c"),)
    assert [tool.spec.name for tool in kept.tools()] == ["c"]


def test_fixed_tools_stay_as_they_were_given():
    tools = [Stub("a")]
    source = FixedTools(tools)
    tools.append(Stub("b"))
    assert [tool.spec.name for tool in source.tools()] == ["a"]
    assert source.tools() is source.tools()
