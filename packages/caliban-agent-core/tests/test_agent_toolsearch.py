"""Deferred tools: held back, found, called all the same, and shown no longer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from children_kit import asked, by_agent, delegate
from hypothesis import given
from hypothesis import strategies as st
from loop_kit import DONE, Stub, play

from caliban_agent_core import Agent, AgentOptions, ApprovalRequest, Decision, Gate, tool
from caliban_agent_core.subagent.definition import GENERAL
from caliban_agent_core.subagent.parts import ChildModel, SubAgentParts
from caliban_agent_core.subagent.tool import AgentTool, ToolsWithAgents
from caliban_agent_core.toolsearch.active import ActiveTools, Deferral
from caliban_agent_core.toolsearch.search import ranked, selected
from caliban_agent_core.toolsearch.source import DeferredTools
from caliban_common.codec import message_from_json, message_to_json
from caliban_common.tool import FixedTools, Tool, ToolContext, ToolOutput, ToolSpec
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


class Late(Stub):
    """A stub that may be held back."""

    @property
    def spec(self) -> ToolSpec:
        schema = {"type": "object", "properties": {"q": {"type": "string"}}}
        about = f"tells of {self.name}"
        return ToolSpec(name=self.name, description=about, input_schema=schema, kind=self.kind, deferred=True)


class Changing:
    """A source that a test changes."""

    def __init__(self, *tools: Tool) -> None:
        self.now = tools

    def tools(self) -> tuple[Tool, ...]:
        return self.now


def active(room: int = 24, *names: str, over: int = 0) -> ActiveTools:
    return ActiveTools(Deferral(max_active=room, over_tokens=over), names)


def names(tools: Sequence[Tool]) -> list[str]:
    return [one.spec.name for one in tools]


def shown(requests: Sequence[CompletionRequest]) -> list[list[str]]:
    return [[spec.name for spec in request.tools] for request in requests]


def find(query: str, id: str = "s") -> Any:
    return tool_call("ToolSearch", {"query": query}, id=id)


async def test_what_was_found_is_shown_behind_all_others_and_a_use_moves_nothing():
    a, b = Late("a_tool"), Late("b_tool")
    replies = [reply(find("b_tool")), reply(find("a_tool")), reply(tool_call("b_tool")), reply(DONE)]
    provider = ScriptedProvider(replies)
    source = DeferredTools(FixedTools([a, Stub("first"), b]), active())
    _, end = await play(Agent(provider, "m", tools=source))
    assert (end.text, len(b.calls)) == (DONE, 1)
    assert shown(provider.requests) == [
        ["first", "ToolSearch"],
        ["first", "ToolSearch", "b_tool"],
        ["first", "ToolSearch", "b_tool", "a_tool"],
        ["first", "ToolSearch", "b_tool", "a_tool"],
    ]


async def test_two_searches_in_one_reply_do_not_lose_each_others_finds():
    provider = ScriptedProvider([reply(find("a_tool", "1"), find("b_tool", "2")), reply(DONE)])
    source = DeferredTools(FixedTools([Late("a_tool"), Late("b_tool")]), active())
    await play(Agent(provider, "m", tools=source))
    assert shown(provider.requests)[1] == ["ToolSearch", "a_tool", "b_tool"]


def test_a_source_gives_the_same_tuples_while_nothing_has_changed():
    late = Changing(Late("a"))
    noted = active()
    source = DeferredTools(late, noted)
    before, held = source.tools(), source.held_back()
    assert (names(before), names(held)) == (["ToolSearch"], ["a"])
    assert source.tools() is before and source.held_back() is held
    late.now = (*late.now, Late("b"))
    assert source.tools() is before, "what connects late moves nothing in the prompt"
    assert names(source.held_back()) == ["a", "b"]
    noted.use("b")
    assert (names(source.tools()), names(source.held_back())) == (["ToolSearch", "b"], ["a"])
    late.now = (Stub("now"),)
    assert (names(source.tools()), source.held_back()) == (["now"], ())


def test_few_deferred_tools_are_shown_and_stay_so_when_many_come():
    late = Changing(Late("a"), Stub("first"))
    source = DeferredTools(late, active(over=200))
    assert source.tools() is late.now and source.held_back() == ()
    late.now = (*late.now, *(Late(f"t{number}") for number in range(20)))
    assert names(source.tools()) == ["first", "ToolSearch", "a"]
    late.now = (Late("b"),)
    assert names(source.tools()) == ["ToolSearch"], "once they are held back that stays"


def test_a_tool_that_is_there_twice_is_found_once_and_one_at_hand_counts_first():
    one, other = Late("a"), Late("a")
    source = DeferredTools(FixedTools([one, other, Stub("b"), Late("b")]), active())
    assert names(source.tools()) == ["b", "ToolSearch"]
    (held,) = source.held_back()
    assert held.tool is one


async def test_a_call_that_nobody_searched_for_passes_the_gate_and_is_shown_once_it_ran():
    class Never:
        def decide(self, spec: ToolSpec, args: Mapping[str, Any]) -> Decision:
            return Decision(action="deny" if spec.name == "b" else "allow", reason="no")

    a, b = Late("a"), Late("b")
    provider = ScriptedProvider([reply(tool_call("a", id="1"), tool_call("b", id="2")), reply(DONE)])
    source = DeferredTools(FixedTools([a, b]), active())
    await play(Agent(provider, "m", tools=source, gate=Gate(rules=Never())))
    assert (len(a.calls), b.calls) == (1, [])
    assert shown(provider.requests) == [["ToolSearch"], ["ToolSearch", "a"]]


async def test_a_held_back_call_that_waits_for_its_approval_runs_in_another_process():
    class Desk:
        def __init__(self, action: Any) -> None:
            self.action = action

        async def approve(self, request: ApprovalRequest) -> Decision:
            return Decision(action=self.action)

    def agent(action: str, late: Late, *replies: Any) -> Agent:
        source = DeferredTools(FixedTools([late]), active())
        return Agent(ScriptedProvider(replies), "m", tools=source, gate=Gate(approver=Desk(action)))

    first, second = Late("a"), Late("a")
    asked_end = await agent("ask", first, reply(tool_call("a"))).run_to_end("go")
    stored = json.dumps([message_to_json(message) for message in asked_end.messages])
    messages = [message_from_json(each) for each in json.loads(stored)]
    end = await agent("allow", second, reply(DONE)).resume_to_end(messages)
    assert (asked_end.stop.kind, first.calls, end.text, len(second.calls)) == ("approval", [], DONE, 1)


async def test_a_tool_that_gives_no_output_of_its_own_is_still_caught_by_the_wall():
    class Odd(Late):
        async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
            return None  # type: ignore[return-value]

    provider = ScriptedProvider([reply(tool_call("a")), reply(DONE)])
    source = DeferredTools(FixedTools([Odd("a"), Late("b")]), active(1, "b"))
    _, end = await play(Agent(provider, "m", tools=source))
    (result,) = (block for message in end.messages for block in message.tool_results)
    assert result.is_error and "NoneType" in result.content[0].text


async def test_a_function_may_be_deferred():
    @tool(deferred=True)
    async def rain(city: str) -> str:
        """Tell whether it rains."""
        return f"dry in {city}"

    provider = ScriptedProvider(
        [reply(find("rains")), reply(tool_call("rain", {"city": "Oslo"})), reply(DONE)]
    )
    _, end = await play(Agent(provider, "m", tools=DeferredTools(FixedTools([rain]), active())))
    results = [block.content[0].text for message in end.messages for block in message.tool_results]
    assert results[1] == "dry in Oslo"
    assert shown(provider.requests)[1] == ["ToolSearch", "rain"]


SPECS = tuple(
    ToolSpec(name=name, description=about, input_schema={})
    for name, about in [
        ("mcp__hub__create_issue", "Open an issue on the hub."),
        ("mcp__hub__list", "List what is open: issues, changes."),
        ("issue", "Hand out a book."),
        ("Weather", "Tell whether it rains."),
    ]
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("issue", ["issue", "mcp__hub__create_issue", "mcp__hub__list"]),
        ("ISSUE", ["issue", "mcp__hub__create_issue", "mcp__hub__list"]),
        ("hub", ["mcp__hub__create_issue", "mcp__hub__list"]),
        ("hub create issue", ["mcp__hub__create_issue", "mcp__hub__list", "issue"]),
        ("whether it rains", ["Weather"]),
        ("zebra", []),
    ],
)
def test_the_best_match_comes_first(query, expected):
    assert [spec.name for spec in ranked(query, SPECS)] == expected


def test_tools_are_taken_by_name_in_the_order_they_are_asked_for():
    specs, missing = selected(("weather", "issue", "nothing", "Weather"), SPECS)
    assert ([spec.name for spec in specs], missing) == (["Weather", "issue"], ("nothing",))


async def test_an_answer_names_what_is_there_where_nothing_is_found():
    tools = [Late(f"t{number:03}") for number in range(130)]
    provider = ScriptedProvider([reply(find("zebra")), reply(DONE)])
    _, end = await play(Agent(provider, "m", tools=DeferredTools(FixedTools(tools), active())))
    (result,) = (block for message in end.messages for block in message.tool_results)
    text = result.content[0].text
    assert text.startswith("→ ToolSearch 'zebra': nothing is found\nthere are: t000, t001, ")
    assert text.endswith(", t099 and 30 more")


async def test_a_search_shows_no_more_than_there_is_room_for():
    tools = [Late(f"t{number}") for number in range(9)]
    provider = ScriptedProvider([reply(find("tells")), reply(DONE)])
    _, end = await play(Agent(provider, "m", tools=DeferredTools(FixedTools(tools), active(3))))
    (result,) = (block for message in end.messages for block in message.tool_results)
    assert "3 tools" in result.content[0].text and "no longer" not in result.content[0].text
    assert shown(provider.requests)[1] == ["ToolSearch", "t0", "t1", "t2"]


@given(st.integers(1, 4), st.lists(st.lists(st.sampled_from("abcdefg"), max_size=5)))
def test_the_latest_used_are_active_and_never_more_than_there_is_room_for(room, uses):
    noted = active(room)
    used: list[str] = []
    for some in uses:
        before = noted.names
        gone = noted.use(*some)
        used += some
        latest = list(dict.fromkeys(reversed(used)))[:room]
        assert set(noted.names) == set(latest)
        assert set(gone) == set(before) - set(noted.names)
        stayed = [name for name in before if name in noted.names]
        assert list(noted.names[: len(stayed)]) == stayed, "the order of the prompt is kept"
    copied = noted.copy(noted.names)
    assert (copied.names, copied.use("x")) == (noted.names, noted.use("x"))


async def test_agents_of_agents_begin_with_what_their_own_caller_has_found():
    provider = by_agent(
        {
            "": [reply(find("a_tool")), reply(delegate()), reply(DONE)],
            "general-purpose": [
                reply(find("b_tool")),
                reply(delegate("deeper", id="d2")),
                reply("deep"),
                reply("high"),
            ],
        }
    )
    tools, noted = FixedTools([Late("a_tool"), Late("b_tool")]), active()
    parts = SubAgentParts(
        model_for=lambda model: ChildModel(provider=provider, model="m"),
        tools=tools,
        gate=Gate(),
        options=AgentOptions(),
        definitions=(GENERAL,),
        max_depth=2,
    )
    agent_tool = AgentTool(parts).called_with(noted)
    source = DeferredTools(ToolsWithAgents(tools, agent_tool), noted)
    _, end = await play(Agent(provider, "m", tools=source))
    assert end.text == DONE
    assert shown(asked(provider, "general-purpose")) == [
        ["Agent", "ToolSearch", "a_tool"],
        ["Agent", "ToolSearch", "a_tool", "b_tool"],
        ["ToolSearch", "a_tool", "b_tool"],
        ["Agent", "ToolSearch", "a_tool", "b_tool"],
    ]
    assert shown(asked(provider, ""))[-1] == ["Agent", "ToolSearch", "a_tool"]
