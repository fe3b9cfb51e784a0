"""Providers, tools, hooks and rules that fail in ways nobody foresaw: the run ends in words, or goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest

from caliban_agent_core import Agent, Gate
from caliban_common.event import ToolCallEnd
from caliban_common.hook import HookEvent, Hooks, HookVerdict
from caliban_common.message import ImageBlock
from caliban_common.permission import Decision
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec
from caliban_provider import BlockStart, CompletionRequest, MessageStart, StreamEvent, TextDelta
from caliban_provider.errors import RateLimited
from caliban_provider.testing.scripted import ScriptedProvider, reply, tool_call

pytestmark = pytest.mark.anyio


class Panic(BaseException):
    """What code written in Rust raises where it is at its end: no `Exception`."""


class Faulty(ScriptedProvider):
    """A provider whose stream is what a test says."""

    def __init__(self, *events: Any) -> None:
        super().__init__()
        self._events = events

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        self.requests.append(request)
        yield self._speak()

    async def _speak(self) -> AsyncIterator[StreamEvent]:
        for event in self._events:
            if isinstance(event, BaseException):
                raise event
            yield event


class Odd:
    """A tool that does what a test says."""

    def __init__(self, action: Any, *, key: Any = None) -> None:
        self.spec = ToolSpec(name="odd", description="Odd.", input_schema={"type": "object"})
        self._action = action
        self._key = key

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        if isinstance(self._key, Exception):
            raise self._key
        return self._key

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        if isinstance(self._action, BaseException):
            raise self._action
        return self._action


def calling(tool: Odd, gate: Gate | None = None, hooks: Hooks | None = None) -> Agent:
    provider = ScriptedProvider([reply(tool_call("odd"), tool_call("odd")), reply("done")])
    return Agent(provider, "m", tools=[tool], gate=gate, hooks=hooks)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (TypeError("no such argument"), "TypeError: no such argument"),
        (SystemExit(3), "SystemExit: 3"),
        (ExceptionGroup("g", [ValueError("inner")]), "ValueError: inner"),
        (Panic("index out of bounds"), "Panic: index out of bounds"),
        (42, "42"),
    ],
)
async def test_a_fault_of_the_provider_ends_the_run_in_words_and_keeps_what_was_said(fault, said):
    provider = Faulty(MessageStart(), BlockStart(0, "text"), TextDelta(0, "half"), fault)
    outcome = await Agent(provider, "m").run_to_end("hi")
    assert outcome.stop.kind == "provider_error"
    assert outcome.stop.message.startswith("the provider 'scripted' failed: ")
    assert said in outcome.stop.message
    assert [message.text for message in outcome.messages] == ["hi", "half"]
    assert len(provider.requests) == 1


async def test_an_error_in_the_task_group_of_a_provider_is_that_error():
    provider = Faulty(ExceptionGroup("g", [RateLimited("slow down", retry_after_s=600)]))
    outcome = await Agent(provider, "m").run_to_end("hi")
    assert (outcome.stop.category, outcome.stop.message) == ("rate_limit", "slow down")


async def test_a_stream_without_an_end_is_no_reply():
    provider = Faulty(MessageStart(), BlockStart(0, "text"), TextDelta(0, "half"))
    outcome = await Agent(provider, "m").run_to_end("hi")
    assert (outcome.stop.kind, outcome.stop.category) == ("provider_error", "interrupted")


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (SystemExit(2), "SystemExit: 2"),
        (StopAsyncIteration(), "StopAsyncIteration"),
        (None, "the tool returned NoneType, not a ToolOutput"),
        ("text", "the tool returned str, not a ToolOutput"),
        (Panic("index out of bounds"), "Panic: index out of bounds"),
        (BaseExceptionGroup("g", [Panic("inside")]), "Panic: inside"),
        (ToolOutput(content="words"), "the tool's content is a str, not a tuple of blocks"),
        (ToolOutput(content=("words",)), "the tool's content holds a str, not a block"),
        (ToolOutput.of(5), "a block of the tool's content holds a int, not a string"),
        (
            ToolOutput(content=(ImageBlock.of(media_type="image/png", data=b"x"),)),
            "a block of the tool's content holds a bytes, not a string",
        ),
        (ToolOutput.of("x", details=["y"]), "the tool's details are a list"),
    ],
)
async def test_whatever_a_tool_does_is_a_result(action, said):
    outcome = await calling(Odd(action)).run_to_end("hi")
    assert outcome.stop.ok
    first, second = outcome.messages[2].tool_results
    assert first.is_error and second.is_error
    assert said in first.content[0].text


async def test_a_tool_that_cannot_say_what_it_touches_runs_alone():
    outcome = await calling(Odd(ToolOutput.of("ran"), key=RuntimeError("no key"))).run_to_end("hi")
    assert [result.content[0].text for result in outcome.messages[2].tool_results] == ["ran", "ran"]


async def test_a_tool_that_cancels_itself_is_told_of_like_any_other(anyio_backend_name):
    if anyio_backend_name != "asyncio":
        pytest.skip("trio lets nobody raise its cancellation")
    cancelled = anyio.get_cancelled_exc_class()
    ends = []
    async with calling(Odd(cancelled())).run("hi") as run:
        async for event in run.events:
            if isinstance(event, ToolCallEnd):
                ends.append(event.outcome)
    assert run.outcome.stop.ok
    assert ends == ["interrupted", "interrupted"]


class Broken:
    """Rules and hooks that fail."""

    def __init__(self, name: str = "") -> None:
        self.name = name

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision:
        raise RecursionError("too deep")

    async def fire(self, event: HookEvent) -> HookVerdict:
        if event.type == self.name:
            raise ValueError("out of order")
        return HookVerdict()


async def test_what_the_rules_cannot_judge_is_denied():
    outcome = await calling(Odd(ToolOutput.of("ran")), Gate(rules=Broken())).run_to_end("hi")
    assert outcome.stop.ok
    text = outcome.messages[2].tool_results[0].content[0].text
    assert text == "Tool call denied: the rules could not judge this call: RecursionError: too deep"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("UserPromptSubmit", "hook_denied"),
        ("PreTurn", "hook_denied"),
        ("PreToolUse", "end_of_turn"),
        ("PostToolUse", "end_of_turn"),
        ("PostTurn", "end_of_turn"),
        ("Stop", "end_of_turn"),
    ],
)
async def test_hooks_that_fail_object(name, kind):
    outcome = await calling(Odd(ToolOutput.of("ran")), hooks=Broken(name)).run_to_end("hi")
    assert outcome.stop.kind == kind
    if kind == "hook_denied":
        assert "a hook failed: ValueError: out of order" in outcome.stop.message
    ran = [r.content[0].text for m in outcome.messages for r in m.tool_results]
    assert ("ran" in ran) is (name in ("PostToolUse", "PostTurn", "Stop"))


async def test_a_run_is_entered_once():
    run = calling(Odd(ToolOutput.of("ran"))).run("hi")
    async with run:
        pass
    with pytest.raises(RuntimeError, match="once"):
        async with run:
            pass


async def test_a_hundred_runs_of_one_agent_do_not_mix():
    def script(request: CompletionRequest) -> Any:
        if len(request.messages) < 3:
            return reply(tool_call("odd"))
        return reply(f"answer to {request.messages[0].text}")

    agent = Agent(ScriptedProvider(script), "m", tools=[Odd(ToolOutput.of("ran"))])
    answers: dict[str, str] = {}

    async def ask(prompt: str) -> None:
        answers[prompt] = (await agent.run_to_end(prompt)).messages[-1].text

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(ask, f"p{number}")
    assert answers == {f"p{number}": f"answer to p{number}" for number in range(100)}
