"""What an embedder works with: runs that can be left anywhere, approvals, typed answers, tools of its own."""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from datetime import date
from typing import Any, Literal

import anyio
import pytest
from loop_kit import DONE, Stub, of, play
from pydantic import BaseModel

from caliban_agent_core import (
    Agent,
    AgentEvent,
    ApprovalAsked,
    ApprovalGiven,
    ApprovalRequest,
    Decision,
    Gate,
    RunFailed,
    ToolCallEnd,
    ToolCallReady,
    ToolContext,
    ToolDefinitionError,
    ToolSpec,
    assistant,
    event_to_json,
    message_from_json,
    message_to_json,
    system,
    tool,
    user,
)
from caliban_provider.errors import AuthenticationError
from caliban_provider.testing.scripted import ScriptedProvider, failure, reply, tool_call

pytestmark = pytest.mark.anyio


async def passed_on(agent: Agent) -> AsyncIterator[AgentEvent]:
    """A host's own generator around a run, as servers have it."""
    async with agent.run("go") as run:
        async for event in run.events:
            yield event


def endless() -> tuple[Agent, Stub]:
    """An agent whose tool never ends by itself."""
    waiting = Stub("Wait", until=anyio.Event(), done=anyio.Event())
    return Agent(ScriptedProvider([reply(tool_call("Wait"))]), "m", tools=[waiting]), waiting


async def until_running(events: AsyncIterator[AgentEvent], tool: Stub) -> None:
    async for event in events:
        if isinstance(event, ToolCallReady):
            break
    while not tool.running:
        await anyio.lowlevel.checkpoint()


async def test_a_reader_that_breaks_off_harms_nobody() -> None:
    agent, waiting = endless()
    async for _ in passed_on(agent):
        break
    gc.collect()
    for _ in range(5):
        await anyio.lowlevel.checkpoint()
    outcome = await Agent(ScriptedProvider([reply(DONE)]), "m").run_to_end("still here?")
    assert outcome.stop.ok
    assert waiting.running == 0


async def test_closing_a_generator_stops_the_run() -> None:
    agent, waiting = endless()
    with anyio.fail_after(10):
        async with aclosing(passed_on(agent)) as events:  # type: ignore[type-var]
            await until_running(events, waiting)
    assert waiting.running == 0
    await anyio.lowlevel.checkpoint()


async def test_a_generator_that_another_task_closes_stops_the_run_and_cancels_nobody() -> None:
    agent, waiting = endless()
    events = passed_on(agent)
    await anext(events)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(events.aclose)  # type: ignore[attr-defined]
    assert waiting.running == 0


async def test_a_generator_that_is_collected_stops_the_run() -> None:
    agent, waiting = endless()
    events = passed_on(agent)
    with anyio.fail_after(10):
        await until_running(events, waiting)
        del events
        gc.collect()
        assert waiting.done is not None
        await waiting.done.wait()
    await anyio.lowlevel.checkpoint()


async def test_a_host_that_is_cancelled_takes_its_run_along() -> None:
    agent, waiting = endless()
    with anyio.move_on_after(0.2) as scope:
        async for _ in passed_on(agent):
            pass
    assert scope.cancelled_caught
    assert waiting.running == 0


class Desk:
    """An approver that is told its answers; each waits until `together` of them are asked for."""

    def __init__(self, together: int = 1, **answers: str) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self._together = together
        self._all = anyio.Event()

    async def approve(self, request: ApprovalRequest) -> Decision:
        self.asked.append(request.call.name)
        if len(self.asked) >= self._together:
            self._all.set()
        await self._all.wait()
        return Decision(action=self.answers[request.call.name], reason="by the desk")  # type: ignore[arg-type]


class Some:
    """Rules that ask about the named tools."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        return Decision(action="ask" if tool.name in self.names else "allow", reason="by the rules")


async def test_approvals_are_asked_for_side_by_side_and_others_do_not_wait() -> None:
    read = Stub("Read", done=anyio.Event())
    desk = Desk(2, Write="allow", Send="deny")
    provider = ScriptedProvider([reply(*map(tool_call, ("Write", "Read", "Send"))), reply(DONE)])
    tools = [Stub("Write", until=read.done), read, Stub("Send")]
    agent = Agent(provider, "m", tools=tools, gate=Gate(rules=Some("Write", "Send"), approver=desk))
    events, outcome = await play(agent)
    assert outcome.stop.ok
    assert sorted(desk.asked) == ["Send", "Write"]
    assert sorted(e.call.name for e in of(events, ApprovalAsked)) == ["Send", "Write"]
    assert sorted(e.action for e in of(events, ApprovalGiven)) == ["allow", "deny"]
    assert {e.name: e.outcome for e in of(events, ToolCallEnd)} == {
        "Read": "ran",
        "Write": "ran",
        "Send": "denied",
    }


async def test_an_approval_that_comes_later_ends_the_run_and_another_process_goes_on() -> None:
    calls = reply(tool_call("Read", id="r"), tool_call("Write", id="w"))
    read, write = Stub("Read"), Stub("Write")
    rules = Some("Write")
    first = Agent(
        ScriptedProvider([calls]),
        "m",
        tools=[read, write],
        gate=Gate(rules=rules, approver=Desk(Write="ask")),
    )
    _, outcome = await play(first)
    assert (outcome.stop.kind, [call.id for call in outcome.pending]) == ("approval", ["w"])
    assert (len(read.calls), write.calls) == (1, [])
    provider = ScriptedProvider([reply(DONE)])
    second = Agent(provider, "m", tools=[read, write], gate=Gate(rules=rules, approver=Desk(Write="allow")))
    async with second.resume(outcome.messages) as run:
        async for _ in run.events:
            pass
    assert (run.outcome.stop.kind, run.outcome.text, run.outcome.pending) == ("end_of_turn", DONE, ())
    assert (len(read.calls), len(write.calls)) == (1, 1)
    (sent,) = [message for message in provider.requests[0].messages if message.tool_results]
    assert [(result.tool_use_id, result.is_error) for result in sent.tool_results] == [
        ("r", False),
        ("w", False),
    ]


async def test_a_call_that_conflicts_with_one_that_waits_waits_too() -> None:
    provider = ScriptedProvider([reply(tool_call("Write", {"path": "a"}), tool_call("Read", {"path": "a"}))])
    read = Stub("Read")
    gate = Gate(rules=Some("Write"), approver=Desk(Write="ask"))
    _, outcome = await play(Agent(provider, "m", tools=[Stub("Write"), read], gate=gate))
    assert (outcome.stop.kind, len(outcome.pending), read.calls) == ("approval", 2, [])


class Raising:
    async def approve(self, request: ApprovalRequest) -> Decision:
        raise OSError("the desk is on fire")

    async def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        raise OSError("the rules are on fire")


class Deny:
    async def approve(self, request: ApprovalRequest) -> Decision:
        return Decision(action="deny", reason="by the desk")


@pytest.mark.parametrize(
    ("gate", "reason"),
    [
        pytest.param(
            Gate(approver=Raising()), "the approver failed: OSError: the desk is on fire", id="approver"
        ),
        pytest.param(
            Gate(rules=Raising()),
            "the rules could not judge this call: OSError: the rules are on fire",
            id="rules",
        ),
        pytest.param(Gate(approver=Deny()), "by the desk", id="f302-approver-alone-is-asked"),
    ],
)
async def test_who_judges_and_fails_allows_nothing(gate: Gate, reason: str) -> None:
    read = Stub("Read")
    provider = ScriptedProvider([reply(tool_call("Read")), reply(DONE)])
    events, outcome = await play(Agent(provider, "m", tools=[read], gate=gate))
    (end,) = of(events, ToolCallEnd)
    assert (outcome.stop.ok, read.calls, end.outcome, end.reason) == (True, [], "denied", reason)


async def test_a_run_that_failed_has_no_text_and_can_be_raised() -> None:
    agent = Agent(ScriptedProvider([failure(AuthenticationError("401"))]), "m")
    outcome = await agent.run_to_end([user("hi"), assistant("earlier"), user("my question")])
    assert outcome.text == ""
    with pytest.raises(RunFailed) as caught:
        outcome.raise_for_stop()
    assert caught.value.stop == outcome.stop
    done = await Agent(ScriptedProvider([reply("fine")]), "m").run_to_end("hi")
    done.raise_for_stop()
    assert done.text == "fine"


async def test_an_agent_closes_its_provider() -> None:
    provider = ScriptedProvider([])
    async with Agent(provider, "m"):
        pass
    assert provider.closed


class City(BaseModel):
    name: str
    people: int


async def test_a_typed_answer_is_checked_and_asked_for_again() -> None:
    provider = ScriptedProvider([reply('{"name": "Rome"}'), reply('{"name": "Rome", "people": 2748109}')])
    outcome = await Agent(provider, "m").run_to_end("a city", output_type=City)
    outcome.raise_for_stop()
    assert outcome.output == City(name="Rome", people=2748109)
    assert (
        provider.requests[1]
        .messages[-1]
        .text.startswith("That answer cannot be used: people: Field required")
    )


async def test_a_run_that_has_its_answer_is_resumed_without_asking_for_another() -> None:
    history = (user("a city"), assistant('{"name": "Rome", "people": 3}'))
    provider = ScriptedProvider([reply('{"name": "Rome", "people": 4}')])
    agent = Agent(provider, "m")
    plain = await agent.resume_to_end(history)
    typed = await agent.resume_to_end(history, output_type=City)
    assert (plain.stop.kind, plain.text, plain.messages) == ("end_of_turn", history[1].text, history)
    assert (typed.output, provider.requests) == (City(name="Rome", people=3), [])
    unfit = await agent.resume_to_end((*history[:1], assistant("Rome")), output_type=City)
    assert (unfit.output, len(provider.requests)) == (City(name="Rome", people=4), 1)


@pytest.mark.parametrize(
    ("kind", "written", "value"),
    [
        (str, "Rome, since {A: 1}", "Rome, since {A: 1}"),
        (str, 'Say {"a": 1}', 'Say {"a": 1}'),
        (str, '"Rome"', "Rome"),
        (str, "<think>\nhm\n</think>\nRome\n", "Rome"),
        (Literal["low", "high"], "high\n", "high"),
        (Literal["low", "high"] | None, "null", None),
        (date, "2026-11-29", date(2026, 11, 29)),
        (City | str, "I do not know", "I do not know"),
    ],
)
async def test_where_a_text_fits_an_answer_needs_no_quotes(kind: Any, written: str, value: Any) -> None:
    provider = ScriptedProvider([reply(written)])
    outcome = await Agent(provider, "m").run_to_end("x", output_type=kind)
    assert (outcome.stop.kind, outcome.output) == ("end_of_turn", value)


@pytest.mark.parametrize(
    ("kind", "written", "why"),
    [
        (float, "NaN", "the answer holds no JSON value"),
        (int, "twelve", "the answer holds no JSON value"),
        (Literal["low", "high"], "middling", "Input should be 'low' or 'high'"),
        (City | str, '{"name": "Rome"}', "City.people: Field required"),
    ],
)
async def test_a_text_is_no_answer_where_none_fits_or_another_was_meant(
    kind: Any, written: str, why: str
) -> None:
    provider = ScriptedProvider([reply(written)] * 3)
    outcome = await Agent(provider, "m").run_to_end("x", output_type=kind)
    assert outcome.stop.message == f"the answer does not fit: {why}"


async def test_an_answer_that_never_has_its_type_ends_the_run() -> None:
    provider = ScriptedProvider(lambda request: reply("Rome"))
    outcome = await Agent(provider, "m").run_to_end("a city", output_type=City)
    assert (outcome.stop.kind, outcome.output, len(provider.requests)) == ("schema_mismatch", None, 3)


async def test_a_run_that_is_resumed_to_its_end_has_an_answer_of_its_type() -> None:
    def agent(verdict: str, *replies: Any) -> Agent:
        gate = Gate(rules=Some("Write"), approver=Desk(Write=verdict))
        return Agent(ScriptedProvider(replies), "m", tools=[Stub("Write")], gate=gate)

    asked = await agent("ask", reply(tool_call("Write"))).run_to_end("a city", output_type=City)
    stored = json.loads(json.dumps([message_to_json(message) for message in asked.messages]))
    messages = [message_from_json(each) for each in stored]
    answers = (reply('{"name": "Rome"}'), reply('{"name": "Rome", "people": 2748109}'))
    end = await agent("allow", *answers).resume_to_end(messages, output_type=City)
    untyped = await agent("allow", reply(DONE)).resume_to_end(messages)
    assert (asked.stop.kind, asked.output) == ("approval", None)
    assert (end.stop.kind, end.output) == ("end_of_turn", City(name="Rome", people=2748109))
    assert (untyped.stop.kind, untyped.text, untyped.output) == ("end_of_turn", DONE, None)
    assert [message.role for message in end.messages].count("system") == 1


async def test_every_event_of_a_run_is_json_with_the_value_of_its_answer() -> None:
    answer = reply('{"name": "Rome", "people": 2748109}')
    agent = Agent(ScriptedProvider([reply(tool_call("Read")), answer]), "m", tools=[Stub("Read")])
    events = []
    async with agent.run("a city", output_type=City) as run:
        async for event in run.events:
            events.append(event)
    data = json.loads(json.dumps([event_to_json(event) for event in events]))
    assert [each["type"] for each in data] == [event.type for event in events]
    assert data[-1]["output"] == {"name": "Rome", "people": 2748109}
    assert [message_from_json(each) for each in data[-1]["messages"]] == list(run.outcome.messages)


async def test_the_system_prompt_the_session_and_the_context_of_a_run() -> None:
    seen: list[tuple[str, Any]] = []

    @tool
    async def look(context: ToolContext) -> str:
        """Look."""
        seen.append((context.session_id, context.context))
        return "ok"

    provider = ScriptedProvider([reply(tool_call("look")), reply(DONE), reply("again")])
    agent = Agent(provider, "m", system="Be brief.", tools=[look])
    outcome = await agent.run_to_end("go", session_id="mine", context={"user": 7})
    assert seen == [("mine", {"user": 7})]
    assert [m.role for m in outcome.messages][:2] == ["system", "user"]
    await agent.run_to_end([*outcome.messages, user("more")])
    assert [m.text for m in provider.requests[2].messages if m.role == "system"] == ["Be brief."]
    other = ScriptedProvider([reply(DONE)])
    await Agent(other, "m", system="Be brief.").run_to_end([system("Be long."), user("go")])
    assert [m.text for m in other.requests[0].messages if m.role == "system"] == ["Be long."]


GOOGLE = """Move it.

    Args:
        x: how far
            to the right
        y (int): how far down

    Returns:
        str: nothing
"""
NUMPY = """Move it.

    Parameters
    ----------
    x : int
        how far
        to the right
    y
        how far down

    Returns
    -------
    str
"""
SPHINX = """Move it.

    :param x: how far
        to the right
    :param int y: how far down
    :returns: nothing
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
async def test_what_a_docstring_says_of_arguments_reaches_the_model(text: str) -> None:
    def move(x: int, y: int = 0) -> str:
        return ""

    move.__doc__ = text
    spec = tool(move).spec
    described = {name: part["description"] for name, part in spec.input_schema["properties"].items()}
    assert (spec.description, described) == ("Move it.", {"x": "how far to the right", "y": "how far down"})


async def test_a_plain_function_is_no_tool_and_the_error_says_what_to_do() -> None:
    def move() -> None:
        """Move."""

    with pytest.raises(ToolDefinitionError, match="move is no tool\nhint: make one of a function with @tool"):
        Agent(ScriptedProvider([]), "m", tools=[move])  # type: ignore[list-item]
