"""A metered provider: no call without leave, every call settled once, whatever becomes of it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from caliban_agent_core import Agent, AgentOptions
from caliban_agent_core.metered import MeteredProvider
from caliban_agent_core.ports import Ledger
from caliban_common.event import Warned
from caliban_common.message import user
from caliban_common.stop import Stop
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec
from caliban_common.usage import Usage
from caliban_provider.errors import BudgetSpent, Overloaded, StreamInterrupted
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.retry import RetryPolicy
from caliban_provider.stream import MessageDelta, MessageStart, MessageStop, StreamEvent, TextDelta
from caliban_provider.testing.scripted import ScriptedProvider, failure, reply, tool_call

pytestmark = pytest.mark.anyio

SPENT = Stop(kind="budget", message="the budget of $1.00 is used up", hint="raise --max-budget-usd to go on")
TOLD = Usage(input_tokens=10, output_tokens=5)


class Calls:
    """A ledger that lets `allowed` calls begin, one after the other when it is `serial`."""

    def __init__(self, allowed: int = 100, *, serial: bool = False, warning: Warned | None = None) -> None:
        self.asked: list[dict[str, Any]] = []
        self.settled: list[tuple[int, Usage, int]] = []
        self.most_at_once = 0
        self._under_way: set[int] = set()
        self._allowed = allowed
        self._warning = warning
        self._turnstile = anyio.Lock()
        self._free = anyio.Event()
        self._serial = serial

    async def before_call(
        self, *, provider: str, model: str, prompt_tokens: int, max_tokens: int, agent: str = ""
    ) -> int | Stop:
        async with self._turnstile:
            while self._serial and self._under_way:
                self._free = anyio.Event()
                await self._free.wait()
            if len(self.asked) >= self._allowed:
                return SPENT
            self.asked.append(
                {"provider": provider, "model": model, "max_tokens": max_tokens, "agent": agent}
                | {"prompt_tokens": prompt_tokens}
            )
            self._under_way.add(len(self.asked))
            self.most_at_once = max(self.most_at_once, len(self._under_way))
            return len(self.asked)

    def after_call(self, number: int, usage: Usage, *, seen_output_tokens: int = 0) -> Warned | None:
        self._under_way.remove(number)
        self.settled.append((number, usage, seen_output_tokens))
        self._free.set()
        return self._warning


class Echo:
    """A tool."""

    spec = ToolSpec(name="echo", description="Echo." * 100, input_schema={"type": "object"})

    def conflict_key(self, args: Any) -> str | None:
        return None

    async def invoke(self, args: Any, context: ToolContext) -> ToolOutput:
        return ToolOutput.of("ran")


def request(text: str = "hi" * 40) -> CompletionRequest:
    return CompletionRequest(model="m", messages=(user(text),), max_tokens=100)


def metered(ledger: Ledger, *replies: Any, **options: Any) -> tuple[ScriptedProvider, MeteredProvider]:
    inner = ScriptedProvider(replies)
    return inner, MeteredProvider(inner, ledger, **options)


async def test_a_spent_budget_ends_the_run_before_anything_is_sent():
    inner, provider = metered(Calls(0), reply("never"))
    outcome = await Agent(provider, "m").run_to_end("hi")
    assert outcome.stop == SPENT
    assert (inner.requests, inner.replies_left) == ([], 1)
    with pytest.raises(BudgetSpent) as caught:
        async with provider.stream(request()):
            pass
    error = caught.value
    assert (error.stop, error.category, error.retryable, error.hint) == (SPENT, "budget", False, SPENT.hint)


async def test_a_budget_that_is_spent_between_turns_keeps_what_was_done():
    ledger = Calls(1)
    _, provider = metered(ledger, reply(tool_call("echo")), reply("never"))
    outcome = await Agent(provider, "m", tools=[Echo()]).run_to_end("hi")
    assert outcome.stop == SPENT
    assert [result.content[0].text for result in outcome.messages[-1].tool_results] == ["ran"]
    assert ledger.settled == [(1, TOLD, 0)]


async def test_the_ledger_is_told_who_asks_and_how_much_may_come():
    ledger = Calls()
    _, provider = metered(ledger, reply("a"), reply("b"), agent="helper")
    agent = Agent(provider, "m", options=AgentOptions(max_tokens=77))
    await agent.run_to_end("x" * 400)
    await Agent(provider, "m", tools=[Echo()], options=AgentOptions(max_tokens=77)).run_to_end("x" * 400)
    first, second = ledger.asked
    assert first == {
        "provider": "scripted",
        "model": "m",
        "prompt_tokens": 104,
        "max_tokens": 77,
        "agent": "helper",
    }
    assert 225 < second["prompt_tokens"] < 300


async def test_every_retry_is_a_call_of_its_own():
    ledger = Calls()
    retry = RetryPolicy(max_retries=2, first_delay_s=0.0)
    _, provider = metered(ledger, failure(Overloaded("busy")), failure(Overloaded("busy")), reply("done"))
    outcome = await Agent(provider, "m", options=AgentOptions(retry=retry)).run_to_end("hi")
    assert outcome.stop.ok
    assert ledger.settled == [(1, Usage(), 0), (2, Usage(), 0), (3, TOLD, 0)]


async def test_a_retry_that_the_budget_forbids_ends_the_run():
    retry = RetryPolicy(max_retries=2, first_delay_s=0.0)
    _, provider = metered(Calls(1), failure(Overloaded("busy")), reply("never"))
    outcome = await Agent(provider, "m", options=AgentOptions(retry=retry)).run_to_end("hi")
    assert outcome.stop == SPENT


async def test_a_reply_that_is_cut_is_settled_by_what_was_seen():
    ledger = Calls()
    cut = reply("x" * 160, error=StreamInterrupted("gone"), error_after=7)
    _, provider = metered(ledger, cut)
    with pytest.raises(StreamInterrupted):
        async with provider.stream(request()) as events:
            async for _ in events:
                pass
    assert ledger.settled == [(1, Usage(), 20)]  # five pieces of 16 characters


async def test_a_complete_reply_without_usage_is_settled_by_what_was_seen():
    ledger = Calls()
    _, provider = metered(ledger, reply("x" * 160, usage=None))
    await Agent(provider, "m").run_to_end("hi")
    assert ledger.settled == [(1, Usage(), 40)]


async def test_a_complete_reply_whose_usage_is_all_zeros_is_settled_by_what_was_seen():
    ledger = Calls()
    _, provider = metered(ledger, reply("é" * 80, usage=Usage()))
    outcome = await Agent(provider, "m").run_to_end("hi")
    assert ledger.settled == [(1, Usage(), 40)]  # two bytes each
    assert (outcome.usage.output_tokens, outcome.usage.estimated) == (40, True)


async def test_a_reply_whose_usage_tells_half_is_estimated_for_the_other_half():
    ledger = Calls()
    _, provider = metered(ledger, reply("x" * 160, usage=Usage(input_tokens=7)))
    outcome = await Agent(provider, "m").run_to_end("hi")
    assert outcome.usage == Usage(input_tokens=7, output_tokens=40, estimated=True)
    assert ledger.settled == [(1, Usage(input_tokens=7), 40)]


async def test_a_reply_that_is_left_early_is_settled_by_what_was_seen():
    ledger = Calls()
    _, provider = metered(ledger, reply("x" * 160))
    async with provider.stream(request()) as events:
        for _ in range(4):
            await anext(events)
    assert ledger.settled == [(1, Usage(), 8)]


@pytest.mark.parametrize("wait_before", [0, 4])
async def test_a_cancelled_call_is_settled_once(wait_before):
    ledger, reached = Calls(), anyio.Event()
    held = replace(reply("x" * 160), wait=anyio.Event(), wait_before=wait_before, reached=reached)
    if wait_before == 0:
        held = replace(held, error=Overloaded("never"))  # waits while it is entered
    _, provider = metered(ledger, held)

    async def ask() -> None:
        async with provider.stream(request()) as events:
            async for _ in events:
                pass

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await reached.wait()
        group.cancel_scope.cancel()
    assert ledger.settled == [(1, Usage(), 8 if wait_before else 0)]


async def test_cancelling_the_wait_for_leave_settles_nothing_and_blocks_nobody():
    ledger, reached, go = Calls(serial=True), anyio.Event(), anyio.Event()
    held = replace(reply("first"), wait=go, wait_before=2, reached=reached)
    inner, provider = metered(ledger, held, reply("third"))

    async def ask() -> None:
        async with provider.stream(request()) as events:
            async for _ in events:
                pass

    async with anyio.create_task_group() as group:
        group.start_soon(ask)
        await reached.wait()
        async with anyio.create_task_group() as second:
            second.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            second.cancel_scope.cancel()
        assert (len(ledger.asked), len(inner.requests)) == (1, 1)
        go.set()
    await ask()
    assert [number for number, _, _ in ledger.settled] == [1, 2]


async def test_concurrent_runs_share_one_ledger():
    ledger = Calls(7, serial=True)
    inner = ScriptedProvider(
        lambda asked: reply("done") if len(asked.messages) > 2 else reply(tool_call("echo"))
    )
    stops: list[Stop] = []

    async def run(name: str) -> None:
        provider = MeteredProvider(inner, ledger, agent=name)
        stops.append((await Agent(provider, "m", tools=[Echo()]).run_to_end("hi")).stop)

    async with anyio.create_task_group() as group:
        for number in range(5):
            group.start_soon(run, f"a{number}")
    assert (len(inner.requests), ledger.most_at_once) == (7, 1)
    assert sorted(number for number, _, _ in ledger.settled) == list(range(1, 8))
    assert {stop.kind for stop in stops} == {"end_of_turn", "budget"}
    assert sum(stop.kind == "budget" for stop in stops) == 3


async def test_a_warning_of_the_ledger_is_passed_on():
    warning = Warned(subtype="unpriced_model", message="no price")
    heard: list[Warned] = []
    _, provider = metered(Calls(warning=warning), reply("a"), on_warning=heard.append)
    await Agent(provider, "m").run_to_end("hi")
    assert heard == [warning]


async def test_everything_else_is_the_inner_providers():
    inner, plain = metered(Calls())
    provider: Provider = plain
    assert (provider.name, provider.family) == ("scripted", "scripted")
    assert provider.capabilities("m") == inner.capabilities("m")
    assert await provider.list_models() == await inner.list_models()
    assert plain.replies_left == 0
    with pytest.raises(AttributeError):
        plain.no_such_member  # noqa: B018
    await provider.aclose()
    assert inner.closed


class Listed(ScriptedProvider):
    """A provider whose events are at hand, to see what metering adds to them."""

    def __init__(self, events: list[StreamEvent]) -> None:
        super().__init__()
        self._events = events

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        yield self._speak()

    async def _speak(self) -> AsyncIterator[StreamEvent]:
        for event in self._events:
            yield event


async def test_metering_a_stream_costs_little_per_event_and_changes_none():
    end = [MessageDelta("end_turn", Usage(output_tokens=9)), MessageStop()]
    events: list[StreamEvent] = [MessageStart(), *[TextDelta(0, "four")] * 50_000, *end]
    inner = Listed(events)

    async def drain(provider: Provider) -> tuple[float, list[StreamEvent]]:
        seen: list[StreamEvent] = []
        started = time.process_time()
        async with provider.stream(request()) as stream:
            async for event in stream:
                seen.append(event)
        return time.process_time() - started, seen

    plain, through = [], []
    for _ in range(5):
        plain.append((await drain(inner))[0])
        took_s, seen = await drain(MeteredProvider(inner, Calls()))
        through.append(took_s)
        assert seen == events
    added_us = (min(through) - min(plain)) / len(events) * 1e6
    print(f"{added_us:.3f} us per event")
    assert added_us < 3  # a tenth of it on a quiet machine
