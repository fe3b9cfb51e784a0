"""Rows A11 to A17 of the conformance table: what becomes of tool calls, also when a run is cut off."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S
from loop_kit import DONE, Rules, Stub, of, play, three

from caliban_agent_core import Agent, AgentOptions, Gate
from caliban_common.event import MessageAdded, ToolCallEnd
from caliban_common.message import ToolUseBlock, user
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_a11_tools_of_one_reply_run_in_parallel_or_one_by_one(limit: int) -> None:
    tool = Stub("a", together=limit)
    calls = reply(*(tool_call("a", {"n": n}) for n in range(3)))
    options = AgentOptions(parallel_limit=limit)
    await play(Agent(ScriptedProvider([calls, reply(DONE)]), "m", tools=[tool], options=options))
    assert tool.peak == limit
    assert len(tool.calls) == 3


async def test_a12_events_come_as_calls_finish_and_history_as_they_were_made() -> None:
    b_is_done, c_is_done = anyio.Event(), anyio.Event()
    tools = [
        Stub("a", until=b_is_done),
        Stub("b", until=c_is_done, done=b_is_done),
        Stub("c", done=c_is_done),
    ]
    provider = ScriptedProvider([three("a", "b", "c"), reply(DONE)])
    events, outcome = await play(Agent(provider, "m", tools=tools))
    assert [e.name for e in of(events, ToolCallEnd)] == ["c", "b", "a"]
    results = next(m for m in outcome.messages if m.tool_results).tool_results
    assert [r.tool_use_id for r in results] == ["id_a", "id_b", "id_c"]


async def test_a13_the_limit_bounds_what_runs_at_once() -> None:
    tool = Stub("a", together=2)
    calls = reply(*(tool_call("a", {"n": n}) for n in range(5)))
    provider = ScriptedProvider([calls, reply(DONE)])
    await play(Agent(provider, "m", tools=[tool], options=AgentOptions(parallel_limit=2)))
    assert tool.peak == 2


async def test_a14_calls_on_one_path_wait_for_each_other_and_other_paths_do_not() -> None:
    tool = Stub("Write")
    same = reply(*(tool_call("Write", {"path": "x", "n": n}) for n in range(3)))
    await play(Agent(ScriptedProvider([same, reply(DONE)]), "m", tools=[tool]))
    assert tool.peak == 1
    assert [call["n"] for call in tool.calls] == [0, 1, 2]
    tool = Stub("Write", together=3)
    other = reply(*(tool_call("Write", {"path": str(n)}) for n in range(3)))
    await play(Agent(ScriptedProvider([other, reply(DONE)]), "m", tools=[tool]))
    assert tool.peak == 3


async def test_a15_a_denied_call_keeps_its_place_in_the_history() -> None:
    gate = Gate(rules=Rules(denied=("b",)))
    tools = [Stub(name) for name in "abc"]
    provider = ScriptedProvider([three("a", "b", "c"), reply(DONE)])
    _, outcome = await play(Agent(provider, "m", tools=tools, gate=gate))
    results = next(m for m in outcome.messages if m.tool_results).tool_results
    assert [(r.tool_use_id, r.is_error) for r in results] == [
        ("id_a", False),
        ("id_b", True),
        ("id_c", False),
    ]
    assert results[1].content[0].text == "Tool call denied: by the test"
    assert tools[1].calls == []


async def test_a16_a_cancelled_run_ends_at_once_with_every_call_answered() -> None:
    tools = [Stub("a", until=anyio.Event()), Stub("b")]
    agent = Agent(ScriptedProvider([three("a", "b")]), "m", tools=tools)
    with anyio.fail_after(HANG_S):
        async with agent.run("go") as run:
            async for event in run.events:
                if isinstance(event, ToolCallEnd) and event.name == "b":
                    run.cancel()
    outcome = run.outcome
    assert outcome.stop.kind == "cancelled"
    results = outcome.messages[-1].tool_results
    assert [(r.tool_use_id, r.is_error) for r in results] == [("id_a", True), ("id_b", False)]


async def test_a17_a_long_result_is_cut_and_kept_whole_in_a_file(tmp_path: Path) -> None:
    options = AgentOptions(session_id="sess", tool_result_cap_chars=50, overflow_dir=tmp_path)
    provider = ScriptedProvider([reply(tool_call("a", id="tu_1")), reply(DONE)])
    _, outcome = await play(Agent(provider, "m", tools=[Stub("a", output="x" * 500)], options=options))
    text = next(m for m in outcome.messages if m.tool_results).tool_results[0].content[0].text
    assert text.startswith("[truncated: 500 chars")
    assert str(tmp_path) in text
    assert (tmp_path / "sess" / "tu_1.txt").read_text() == "x" * 500


async def test_runs_of_no_session_of_their_own_keep_their_long_results_apart(tmp_path: Path) -> None:
    options = AgentOptions(tool_result_cap_chars=50, overflow_dir=tmp_path)
    for letter in "ab":
        provider = ScriptedProvider([reply(tool_call("a", id="call_0")), reply(DONE)])
        await play(Agent(provider, "m", tools=[Stub("a", output=letter * 500)], options=options))
    assert sorted(path.read_text()[:1] for path in tmp_path.rglob("*.txt")) == ["a", "b"]


async def test_a_run_that_is_left_early_is_over_when_the_block_is() -> None:
    tool = Stub("a", until=anyio.Event())
    agent = Agent(ScriptedProvider([three("a")]), "m", tools=[tool])
    with anyio.fail_after(HANG_S):
        async with agent.run("go") as run:
            async for event in run.events:
                if isinstance(event, MessageAdded):
                    break
    assert run.outcome.stop.kind == "cancelled"
    assert tool.running == 0
    assert run.outcome.messages[-1].tool_results


async def test_an_error_of_the_reader_comes_out_as_it_was_raised() -> None:
    agent = Agent(ScriptedProvider([reply("x")]), "m")
    with pytest.raises(KeyError, match="mine"):
        async with agent.run("go") as run:
            async for _ in run.events:
                raise KeyError("mine")


async def test_b081_a_cancelled_history_takes_a_new_prompt() -> None:
    agent = Agent(ScriptedProvider([three("a")]), "m", tools=[Stub("a", until=anyio.Event())])
    async with agent.run("go") as run:
        async for event in run.events:
            if isinstance(event, MessageAdded):
                run.cancel()
    second = Agent(ScriptedProvider([reply("fine")]), "m", tools=[Stub("a")])
    outcome = await second.run_to_end([*run.outcome.messages, user("again")])
    assert outcome.messages[-1].text == "fine"


async def test_unknown_tools_and_broken_arguments_are_answered() -> None:
    bad = ToolUseBlock(id="t2", name="a", input={}, raw_input='{"x": ')
    provider = ScriptedProvider([reply(tool_call("nope", id="t1"), bad), reply(DONE)])
    tool = Stub("a")
    _, outcome = await play(Agent(provider, "m", tools=[tool]))
    results = next(m for m in outcome.messages if m.tool_results).tool_results
    assert results[0].content[0].text == "Error: invalid input: tool not found: nope"
    assert "not a JSON object" in results[1].content[0].text
    assert tool.calls == []
