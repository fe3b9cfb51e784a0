"""Work in the background: what it comes to is read between two turns, and nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
import pytest
from children_kit import by_agent, delegate, family
from extent_kit import examples
from hang_guard import HANG_S
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_kit import Stub, of, play

from caliban_agent_core import (
    Agent,
    AgentOptions,
    ApprovalRequest,
    Decision,
    Gate,
    message_from_json,
    message_to_json,
)
from caliban_agent_core.subagent.definition import GENERAL, AgentDefinition
from caliban_common.event import ChildEvent, MessageAdded, TaskChanged, ToolCallEnd
from caliban_common.history import TargetModel, repair
from caliban_common.mask import Masker
from caliban_common.message import ToolResultBlock
from caliban_common.tool import Emit, ToolContext, ToolOutput, ToolSpec
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

NAME = GENERAL.name
TITLE = f"{NAME}: a task"


class Later:
    """A tool that leaves its work to the background; `work` is what it comes to."""

    spec = ToolSpec(name="Later", description="work later", input_schema={"type": "object"})

    def __init__(
        self, output: str = "found", *, fault: Exception | None = None, until: anyio.Event | None = None
    ):
        self.output, self.fault, self.until = output, fault, until

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        assert context.start_background is not None
        context.start_background('a "long" look', self.work)
        return ToolOutput.of("begun")

    async def work(self, emit: Emit) -> ToolOutput:
        if self.until is not None:
            await self.until.wait()
        if self.fault is not None:
            raise self.fault
        return ToolOutput.of(self.output)


def injected(events: list[Any]) -> list[str]:
    """What the model was told meanwhile."""
    return [event.message.text for event in of(events, MessageAdded) if event.injected]


def told(status: str, words: str, *, id: str = "d1", title: str = TITLE) -> str:
    head = f'<background_result tool_use_id="{id}" status="{status}" title="{title}">'
    return f"{head}\n{words}\n</background_result>"


@pytest.mark.anyio
async def test_an_agent_in_the_background_answers_later_and_the_run_waits_for_it():
    held = anyio.Event()
    provider = by_agent(
        {
            "": [reply(delegate(run_in_background=True)), reply("Meanwhile."), reply("All done.")],
            NAME: [reply(tool_call("Wait")), reply("found it")],
        }
    )
    events = []
    with anyio.fail_after(HANG_S):
        async with family(provider, tools=[Stub("Wait", until=held)]).run("go") as run:
            async for event in run.events:
                events.append(event)
                if isinstance(event, MessageAdded) and event.message.text == "Meanwhile.":
                    held.set()
    end = run.outcome
    assert (end.stop.kind, end.text, end.turns) == ("end_of_turn", "All done.", 3)
    assert injected(events) == [told("completed", "found it")]
    assert end.messages[-2].text == told("completed", "found it")
    (call,) = of(events, ToolCallEnd)
    assert call.details == {"agent": NAME, "background": True}
    changes = [
        (change.tool_use_id, change.name, change.title, change.status) for change in of(events, TaskChanged)
    ]
    assert changes == [("d1", "Agent", TITLE, "started"), ("d1", "Agent", TITLE, "completed")]
    speaking = [n for n, event in enumerate(events) if isinstance(event, ChildEvent)]
    begun, over = (n for n, event in enumerate(events) if isinstance(event, TaskChanged))
    assert begun < speaking[0] and speaking[-1] < over


@pytest.mark.anyio
async def test_a_definition_may_put_its_agents_in_the_background():
    kind = AgentDefinition(name="watcher", description="watches", background=True)
    provider = by_agent(
        {
            "": lambda request: (
                reply("x")
                if request.messages[-1].role == "user" and len(request.messages) > 1
                else reply(delegate(subagent_type="watcher"))
            ),
            "watcher": [reply("seen")],
        }
    )
    events, _ = await play(family(provider, kinds=(GENERAL, kind)))
    assert injected(events) == [told("completed", "seen", title="watcher: a task")]


@pytest.mark.anyio
async def test_what_fails_in_the_background_is_told_as_a_failure():
    provider = ScriptedProvider([reply(tool_call("Later", id="l1")), reply("hm"), reply("ok")])
    agent = Agent(provider, "m", tools=[Later(fault=ValueError("no way"))])
    events, end = await play(agent)
    words = "Error: execution failed: ValueError: no way"
    assert told("failed", words, id="l1", title="a 'long' look") in injected(events)
    assert end.stop.ok


@pytest.mark.anyio
async def test_a_run_that_ends_otherwise_stops_its_work_and_says_so():
    provider = ScriptedProvider([reply(tool_call("Later", id="l1"))])
    agent = Agent(provider, "m", tools=[Later(until=anyio.Event())], options=AgentOptions(max_turns=1))
    events, end = await play(agent)
    assert end.stop.kind == "max_turns"
    text = told(
        "stopped", "It was stopped, for the run that started it has ended.", id="l1", title="a 'long' look"
    )
    assert end.messages[-1].text == text
    assert [change.status for change in of(events, TaskChanged)] == ["started", "stopped"]


@pytest.mark.anyio
async def test_work_in_the_background_is_stopped_by_itself():
    provider = ScriptedProvider([reply(tool_call("Later", id="l1")), reply("waiting"), reply("ok")])
    agent = Agent(provider, "m", tools=[Later(until=anyio.Event())])
    with anyio.fail_after(HANG_S):
        async with agent.run("go") as run:
            async for event in run.events:
                if isinstance(event, MessageAdded) and event.message.text == "waiting":
                    assert run.stop_call("l1")
    assert run.outcome.stop.ok
    words = told("stopped", "It was stopped by the user.", id="l1", title="a 'long' look")
    assert run.outcome.messages[-2].text == words


@pytest.mark.anyio
async def test_a_run_that_is_left_early_leaves_nothing_running():
    gone = Stub("Never", until=anyio.Event())
    provider = by_agent(
        {"": [reply(delegate(run_in_background=True)), reply("x")], NAME: [reply(tool_call("Never"))]}
    )
    with anyio.fail_after(HANG_S):
        async with family(provider, tools=[gone]).run("go") as run:
            async for event in run.events:
                if isinstance(event, ChildEvent) and event.event.type == "tool_call_ready":  # type: ignore
                    break
    assert gone.running == 0
    assert run.outcome.stop.kind == "cancelled"


@pytest.mark.anyio
async def test_what_comes_from_the_background_is_masked_and_capped():
    masker = Masker(["hunter2hunter2"])
    long = "hunter2hunter2 " + "x" * 600
    provider = ScriptedProvider([reply(tool_call("Later", id="l1")), reply("hm"), reply("ok")])
    options = AgentOptions(masker=masker, tool_result_cap_chars=200)
    events, _ = await play(Agent(provider, "m", tools=[Later(long)], options=options))
    (text,) = [text for text in injected(events) if text.startswith("<background")]
    assert "hunter2" not in text and len(text) < 400


class Patient:
    """An approver who answers later, and then allows."""

    def __init__(self) -> None:
        self.answers = False

    async def approve(self, request: ApprovalRequest) -> Decision:
        return Decision(action="allow" if self.answers else "ask")


class AsksForPay:
    """Rules that leave one tool to a person."""

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        return Decision(action="ask" if tool.name == "Pay" else "allow")


@pytest.mark.anyio
async def test_an_approval_that_comes_later_outlives_the_work_in_the_background():
    patient = Patient()
    provider = ScriptedProvider(
        [reply(tool_call("Later", id="l1"), tool_call("Pay", id="p1")), reply("Paid.")]
    )
    pay = Stub("Pay", output="paid")
    gate = Gate(rules=AsksForPay(), approver=patient)
    agent = Agent(provider, "m", tools=[Later(until=anyio.Event()), pay], gate=gate)
    with anyio.fail_after(HANG_S):
        end = await agent.run_to_end("go")
    assert (end.stop.kind, [call.id for call in end.pending]) == ("approval", ["p1"])
    assert end.messages[-1].text.startswith("<background_result")
    stored = json.dumps([message_to_json(message) for message in end.messages])
    patient.answers = True
    with anyio.fail_after(HANG_S):
        again = await agent.resume_to_end([message_from_json(each) for each in json.loads(stored)])
    assert (again.stop.kind, again.text, len(pay.calls)) == ("end_of_turn", "Paid.", 1)
    shown = provider.requests[-1].messages
    assert [block.tool_use_id for block in shown[2].content if isinstance(block, ToolResultBlock)] == [
        "l1",
        "p1",
    ]


STEPS = st.sampled_from(["text", "plain", "agent", "background", "both", "empty"])


@given(
    st.lists(STEPS, max_size=5), st.lists(STEPS, max_size=3), st.integers(0, 40) | st.none(), st.booleans()
)
@settings(max_examples=examples(60), deadline=None)
def test_whatever_agents_do_and_whenever_it_ends_the_history_is_valid(main, child, cut_at, stops_one):
    blocks = {
        "text": ["words"],
        "plain": [tool_call("Plain")],
        "agent": [delegate(id="")],
        "background": [delegate(id="", run_in_background=True)],
        "both": ["and", delegate(id=""), tool_call("Plain"), delegate(id="", run_in_background=True)],
        "empty": [],
    }

    def script(steps):
        left = [reply(*blocks[step]) for step in steps]
        return lambda request: left.pop(0) if left else reply("done")

    async def scenario() -> None:
        provider = by_agent({"": script(main), NAME: script(child)})
        agent = family(provider, tools=[Stub("Plain")], max_depth=2, options=AgentOptions(max_turns=6))
        async with agent.run("go") as run:
            number = 0
            async for event in run.events:
                if number == cut_at and stops_one:
                    run.stop_call(getattr(event, "tool_use_id", ""))
                elif number == cut_at:
                    run.cancel()
                number += 1
        messages = run.outcome.messages
        assert repair(messages, TargetModel(family="scripted", model="m")) is messages

    with_deadline(scenario)


def with_deadline(scenario) -> None:
    async def bounded() -> None:
        with anyio.fail_after(HANG_S):
            await scenario()

    anyio.run(bounded)
