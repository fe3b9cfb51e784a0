"""A thousand runs in bad weather: each ends in an answer or a typed error, none hangs or is billed twice."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from random import Random

import anyio
import pytest
from hang_guard import HANG_S
from router_kit import ABLE, Rig, rig_over, route

from caliban_agent_core import Agent, AgentOptions
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec
from caliban_common.usage import Usage
from caliban_model_router import RouterConfig
from caliban_model_router.breaker import BreakerLimits
from caliban_model_router.route import Hedge
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    ContextTooLong,
    ModelUnavailable,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from caliban_provider.request import CompletionRequest
from caliban_provider.retry import RetryPolicy
from caliban_provider.stream import StreamEvent
from caliban_provider.testing.scripted import Reply, ScriptedProvider, reply, thinking, tool_call
from caliban_provider.testing.watching import watched

SCENARIOS = 1000
CHUNK = 125
PROVIDERS = ("a", "b", "c")
ANSWER = "All is well that ends."


class Weather:
    """What a provider does to each request, drawn from one seed."""

    def __init__(self, seed: int, severity: float) -> None:
        self.random = Random(seed)
        self.severity = severity

    def reply_to(self, request: CompletionRequest) -> Reply:
        calls = sum(len(message.tool_uses) for message in request.messages)
        usage = Usage(input_tokens=self.random.randint(1, 99), output_tokens=self.random.randint(1, 99))
        if calls < 3 and self.random.random() < 0.5:
            blocks = (
                thinking("hm", signature="S"),
                tool_call("Count", {"n": calls}, id=f"call.{calls}/{usage.input_tokens}"),
            )
        else:
            blocks = (thinking("well"), ANSWER)
        good = reply(*blocks, usage=usage, piece_chars=4)
        if self.random.random() > self.severity:
            return good
        return self.broken(good)

    def broken(self, good: Reply) -> Reply:
        wait_s = self.random.choice([None, None, 0.001, 86400.0])
        error: ProviderError = self.random.choice(
            [
                RateLimited("429", status=429, retry_after_s=wait_s),
                Overloaded("529", status=529),
                ServerError("500", status=500),
                NetworkError("reset"),
                StreamInterrupted("cut"),
                BadResponse("garbage"),
                ModelUnavailable("gone"),
                ContextTooLong("long"),
                AuthenticationError("401", status=401),
            ]
        )
        match self.random.randrange(6):
            case 0:
                return Reply(wait=anyio.Event(), wait_before=self.random.randrange(3), blocks=good.blocks)
            case 1:
                return reply("", tool_call("", id="ghost"), "{garbage", piece_chars=1)
            case 2:
                return Reply(blocks=good.blocks, error=error, error_after=self.random.randrange(12))
            case _:
                return Reply(error=error)


class Impatient(ScriptedProvider):
    """A scripted provider behind the watchdog that every adapter has."""

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        async with super().stream(request) as events:
            yield watched(events, first_byte_s=0.004, idle_s=0.004)


class Count:
    """A tool that notes each call it was run for."""

    spec = ToolSpec(
        name="Count",
        description="Counts.",
        kind="read",
        input_schema={"type": "object", "properties": {"n": {}}},
    )

    def __init__(self) -> None:
        self.ran: list[str] = []

    def conflict_key(self, args: object) -> str | None:
        return None

    async def invoke(self, args: object, context: ToolContext) -> ToolOutput:
        self.ran.append(context.tool_use_id)
        return ToolOutput.of("one more")


def scenario(seed: int) -> Rig:
    random = Random(seed)
    providers = {
        name: Impatient(
            Weather(random.random(), random.choice([0.1, 0.5, 0.9, 1.0])).reply_to,
            name=name,
            family=random.choice(["x", "y"]),
            capabilities=ABLE,
        )
        for name in PROVIDERS[: random.randint(1, 3)]
    }
    limits = BreakerLimits(failure_threshold=random.randint(1, 3), cooldown_s=0.005)
    hedge = Hedge(after_ms=random.choice([0, 1, 2]), max_hedges=random.randint(1, 2))
    routes = tuple(
        route(
            name,
            breaker=limits if random.random() < 0.5 else None,
            hedge=hedge if random.random() < 0.5 else None,
            rest_s=random.choice([0.0, 0.005, 30.0]),
        )
        for name in providers
    )
    return rig_over(RouterConfig(routes=routes), providers, clock=anyio.current_time)


async def play(seed: int) -> None:
    made = scenario(seed)
    tool = Count()
    options = AgentOptions(
        retry=RetryPolicy(first_delay_s=0.0, max_told_s=0.02, max_told_retries=4), max_turns=8
    )
    agent = Agent(made.router, made.router.model, tools=[tool], options=options)
    with anyio.fail_after(HANG_S):
        outcome = await agent.run_to_end("Go on.")
    context = f"seed {seed}: {outcome.stop}"
    if outcome.stop.ok:
        assert outcome.messages[-1].text, context
        assert outcome.messages[-1].text.count(ANSWER) <= 1, context
    else:
        assert outcome.stop.kind in (
            "provider_error",
            "stream_idle",
            "max_turns",
            "max_tokens",
            "doom_loop",
        ), context
        assert outcome.stop.message, context
    assert len(tool.ran) == len(set(tool.ran)), f"{context}: a call was run twice"
    in_stream = sum((call.usage for call in made.calls if call.end in ("answered", "broken")), Usage())
    assert outcome.usage == in_stream, f"{context}: the run counts {outcome.usage}, the calls {in_stream}"
    asked = {name: len(provider.requests) for name, provider in made.providers.items()}
    counted = {name: sum(call.name == name for call in made.calls) for name in made.providers}
    assert asked == counted, f"{context}: every call is one of the router's"
    for one, two in pairwise(made.switches):
        assert two.source == one.target, f"{context}: the switches are a path"


@pytest.mark.long(keep=3)
@pytest.mark.parametrize("first", range(0, SCENARIOS, CHUNK))
def test_a_thousand_runs_end_in_an_answer_or_a_typed_error(first):
    async def chunk() -> None:
        for seed in range(first, first + CHUNK):
            await play(seed)

    anyio.run(chunk, backend="trio" if first // CHUNK % 2 else "asyncio")


def test_a_scenario_is_the_same_for_the_same_seed():
    def facts(seed: int) -> list[object]:
        made = scenario(seed)
        return [made.router.config, [provider.family for provider in made.providers.values()]]

    assert [facts(seed) for seed in range(20)] == [facts(seed) for seed in range(20)]
