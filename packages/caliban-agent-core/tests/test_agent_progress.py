"""What tools say while they run, and what the user says between turns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S
from loop_kit import DONE, Stub, of, play, user_texts

from caliban_agent_core import Agent, AgentOptions
from caliban_agent_core.ports import Boundary
from caliban_common.event import (
    AssistantTextDelta,
    ChildEvent,
    MessageAdded,
    ToolCallEnd,
    ToolCallReady,
    ToolProgress,
)
from caliban_common.message import Message, user
from caliban_common.testing import CountedIds
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


class Speaking:
    """A tool from outside that does what a test says."""

    spec = ToolSpec(name="speak", description="Speaks.", input_schema={"type": "object"})

    def __init__(self, action: Callable[[ToolContext], Any]) -> None:
        self._action = action

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        return None

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        await self._action(context)
        return ToolOutput.of("spoken")


def speaking(action: Callable[[ToolContext], Any], **options: Any) -> Agent:
    provider = ScriptedProvider([reply(tool_call("speak", id="t1")), reply(DONE)])
    return Agent(provider, "m", tools=[Speaking(action)], options=AgentOptions(**options))


async def test_progress_comes_between_the_call_and_its_result_under_the_calls_own_id():
    async def speak(context: ToolContext) -> None:
        await context.emit(ToolProgress(tool_use_id=context.tool_use_id, agent=context.agent, text="half"))
        await context.emit(ToolProgress(tool_use_id="somebody else's", details={"percent": 90}))

    events, outcome = await play(speaking(speak, agent="worker"))
    kinds = (ToolCallReady, ToolProgress, ToolCallEnd)
    assert [type(event) for event in events if isinstance(event, kinds)] == [
        ToolCallReady,
        ToolProgress,
        ToolProgress,
        ToolCallEnd,
    ]
    assert of(events, ToolProgress) == [
        ToolProgress(tool_use_id="t1", agent="worker", text="half"),
        ToolProgress(tool_use_id="t1", details={"percent": 90}),
    ]
    assert outcome.messages[2].tool_results[0].content[0].text == "spoken", "the model reads none of it"


async def test_the_events_of_a_child_come_up_wrapped_and_are_not_the_parents_own():
    async def delegate(context: ToolContext) -> None:
        child = Agent(ScriptedProvider([reply("from the child")]), "m", options=AgentOptions(agent="kid"))
        async with child.run("help") as run:
            async for event in run.events:
                await context.emit(ChildEvent(tool_use_id=context.tool_use_id, agent="kid", event=event))

    events, outcome = await play(speaking(delegate))
    inner = [event.event for event in of(events, ChildEvent)]
    assert [event.text for event in inner if isinstance(event, AssistantTextDelta)] == ["from the child"]
    assert {(event.tool_use_id, event.agent) for event in of(events, ChildEvent)} == {("t1", "kid")}
    assert "from the child" not in [message.text for message in outcome.messages]
    assert [event.text for event in of(events, AssistantTextDelta)] == [DONE]


async def test_what_is_said_after_the_call_has_ended_is_heard_by_nobody():
    kept: list[ToolContext] = []

    async def keep(context: ToolContext) -> None:
        kept.append(context)

    events, _ = await play(speaking(keep))
    await kept[0].emit(ToolProgress(tool_use_id="t1", text="too late"))
    assert of(events, ToolProgress) == []


async def test_a_task_that_outlives_its_call_disturbs_nothing():
    async with anyio.create_task_group() as group:
        over = anyio.Event()

        async def speak_later(context: ToolContext) -> None:
            await over.wait()
            await context.emit(ToolProgress(tool_use_id="t1", text="too late"))

        async def leave_a_task(context: ToolContext) -> None:
            group.start_soon(speak_later, context)

        events, outcome = await play(speaking(leave_a_task, event_buffer=1))
        over.set()
    assert outcome.stop.ok
    assert of(events, ToolProgress) == []


async def test_what_is_no_event_is_a_fault_of_the_tool():
    async def speak(context: ToolContext) -> None:
        await context.emit("half")  # type: ignore[arg-type]

    _, outcome = await play(speaking(speak))
    text = outcome.messages[2].tool_results[0].content[0].text
    assert text.endswith("TypeError: a tool emits ToolProgress and ChildEvent, not str")


async def test_a_tool_that_speaks_waits_for_a_slow_reader_and_can_be_cancelled_meanwhile():
    emitted = 0

    async def speak(context: ToolContext) -> None:
        nonlocal emitted
        for _ in range(100):
            await context.emit(ToolProgress(tool_use_id="t1"))
            emitted += 1

    with anyio.fail_after(HANG_S):
        async with speaking(speak, event_buffer=4).run("go") as run:
            async for event in run.events:
                if isinstance(event, ToolProgress):
                    break
    assert emitted < 100
    assert run.outcome.stop.kind == "cancelled"


async def test_a_context_without_a_run_drops_what_is_said():
    context = ToolContext(session_id="s", turn=0, tool_use_id="t1")
    await context.emit(ToolProgress(tool_use_id="t1"))


class Said:
    """What the user says at each boundary, in the order it is asked for."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self._answers = list(answers)
        self.asked: list[Boundary] = []

    async def next(self, boundary: Boundary) -> tuple[Message, ...]:
        self.asked.append(boundary)
        return tuple(user(text) for text in self._answers.pop(0)) if self._answers else ()


async def spoken_to(agent: Agent, inputs: Said) -> tuple[list[Any], Any]:
    events = []
    async with agent.run("go", inputs=inputs) as run:
        async for event in run.events:
            events.append(event)
    return events, run.outcome


async def test_what_the_user_says_meanwhile_is_read_with_the_next_turn():
    provider = ScriptedProvider([reply(tool_call("a")), reply(DONE)])
    inputs = Said(("use tabs", "and hurry"))
    events, outcome = await spoken_to(Agent(provider, "m", tools=[Stub("a")]), inputs)
    assert inputs.asked == ["turn", "end"], "not before the first turn: its prompt is the user's word"
    assert [message.text for message in provider.requests[1].messages[-2:]] == ["use tabs", "and hurry"]
    added = [event.message.text for event in of(events, MessageAdded) if not event.injected]
    assert added[-3:] == ["use tabs", "and hurry", DONE]
    assert outcome.stop.ok


async def test_what_was_queued_goes_on_where_the_run_would_end():
    provider = ScriptedProvider([reply("first"), reply("second"), reply("third")])
    inputs = Said(("one more",), (), ("last one",))
    _, outcome = await spoken_to(Agent(provider, "m"), inputs)
    assert inputs.asked == ["end", "turn", "end", "turn", "end"]
    assert user_texts(outcome.messages) == ["go", "one more", "last one"]
    assert (outcome.messages[-1].text, outcome.turns) == ("third", 3)


async def test_every_message_of_a_run_has_an_id_from_the_injected_source():
    provider = ScriptedProvider([reply(tool_call("a")), reply(DONE)])
    agent = Agent(provider, "m", tools=[Stub("a")], new_id=CountedIds())
    events, outcome = await play(agent)
    assert [message.id for message in outcome.messages] == ["m1", "m2", "m3", "m4"]
    assert [event.message.id for event in of(events, MessageAdded)] == ["m2", "m3", "m4"]


async def test_ids_are_each_their_own():
    provider = ScriptedProvider([reply(tool_call("a")), reply(DONE)])
    _, outcome = await play(Agent(provider, "m", tools=[Stub("a")]))
    assert len({message.id for message in outcome.messages}) == len(outcome.messages) == 4
