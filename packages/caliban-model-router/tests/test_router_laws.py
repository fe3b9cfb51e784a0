"""Laws of the breaker, of the order of fallback and of what a race costs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import anyio
import pytest
from extent_kit import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from router_kit import Rig, answer, rig, route

from caliban_common.usage import Usage
from caliban_model_router import breaker
from caliban_model_router.breaker import BreakerLimits, Closed, HalfOpen, Open, Ticket
from caliban_model_router.dispatch import FALLS_BACK
from caliban_model_router.route import Hedge, Route
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import (
    AuthenticationError,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from caliban_provider.testing.scripted import Reply, failure, reply

LIMITS = st.builds(
    BreakerLimits,
    failure_threshold=st.integers(1, 2),
    window_s=st.sampled_from([1.0, 10.0]),
    cooldown_s=st.sampled_from([1.0, 3.0]),
    half_open_probes=st.integers(1, 3),
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["admit", "admit", "admit", "bad", "bad", "good", "gone", "wait"]), st.integers(0, 5)
    ),
    max_size=60,
)


@dataclass
class Model:
    """The breaker with its tickets, and what must be true of it."""

    limits: BreakerLimits
    state: breaker.BreakerState
    now_s: float = 0.0

    def __post_init__(self) -> None:
        self.out: list[Ticket] = []

    def step(self, what: str, number: int) -> None:
        if what == "wait":
            self.now_s += number
        elif what == "admit":
            self.admit()
        elif self.out:
            self.report(what, self.out.pop(number % len(self.out)))

    def admit(self) -> None:
        before = self.state
        self.state, ticket = breaker.admit(before, self.limits, self.now_s)
        if isinstance(before, Open):
            assert (ticket is not None) == (self.now_s >= before.until_s)
        if isinstance(before, Closed):
            assert ticket is not None
        if ticket is not None:
            self.out.append(ticket)

    def report(self, what: str, ticket: Ticket) -> None:
        before = self.state
        if what == "good":
            self.state = breaker.succeeded(before, ticket, self.limits)
        elif what == "bad":
            self.state = breaker.failed(before, ticket, self.limits, self.now_s)
        else:
            self.state = breaker.abandoned(before, ticket)
        if ticket.generation != before.generation:
            assert self.state is before, "a late outcome changes nothing"
        if isinstance(before, Open):
            assert self.state is before, "nothing but time ends a cool-down"
        if what == "bad" and ticket.generation == before.generation and isinstance(before, HalfOpen):
            assert isinstance(self.state, Open)

    def check(self) -> None:
        state = self.state
        if isinstance(state, HalfOpen):
            live = sum(ticket.generation == state.generation for ticket in self.out)
            assert live == state.probing
            assert state.probing + state.passed <= self.limits.half_open_probes
        if isinstance(state, Closed):
            recent = [time for time in state.failures_s if self.now_s - time < self.limits.window_s]
            assert len(recent) < self.limits.failure_threshold


@given(LIMITS, STEPS)
def test_the_breaker_keeps_its_promises_whatever_happens(limits, steps):
    model = Model(limits, Closed())
    for what, number in steps:
        model.step(what, number)
        model.check()


@given(LIMITS, STEPS)
def test_whatever_happened_a_route_that_works_again_is_used_again(limits, steps):
    model = Model(limits, Closed())
    for what, number in steps:
        model.step(what, number)
    while model.out:
        model.report("gone", model.out.pop())
    model.now_s += limits.cooldown_s
    for _ in range(limits.half_open_probes):
        model.admit()
        assert model.out
        model.report("good", model.out.pop())
    assert isinstance(model.state, Closed)


@given(LIMITS)
def test_enough_failures_at_once_open_it_and_concurrent_callers_get_exactly_the_probes(limits):
    model = Model(limits, Closed())
    for _ in range(limits.failure_threshold):
        model.admit()
        model.report("bad", model.out.pop())
    assert isinstance(model.state, Open)
    model.admit()
    assert model.out == []
    model.now_s += limits.cooldown_s
    for _ in range(10):
        model.admit()
    assert len(model.out) == limits.half_open_probes


def test_a_late_success_cannot_close_an_open_breaker():
    limits = BreakerLimits(failure_threshold=1)
    state, late = breaker.admit(Closed(), limits, 0.0)
    state, ticket = breaker.admit(state, limits, 0.0)
    opened = breaker.failed(state, ticket, limits, 1.0)
    assert breaker.succeeded(opened, late, limits) is opened
    probing, _ = breaker.admit(opened, limits, 31.0)
    assert breaker.succeeded(probing, late, limits) is probing


def test_a_late_failure_neither_opens_a_closed_breaker_nor_fails_a_probe():
    limits = BreakerLimits(failure_threshold=1)
    state, late = breaker.admit(Closed(), limits, 0.0)
    state = breaker.failed(state, late, limits, 0.0)
    probing, probe = breaker.admit(state, limits, 30.0)
    assert breaker.failed(probing, late, limits, 31.0) is probing
    closed = breaker.succeeded(probing, probe, limits)
    assert breaker.failed(closed, late, limits, 32.0) is closed


def test_a_probe_without_a_verdict_makes_room_for_the_next():
    limits = BreakerLimits(failure_threshold=1)
    state, ticket = breaker.admit(Closed(), limits, 0.0)
    state, probe = breaker.admit(breaker.failed(state, ticket, limits, 0.0), limits, 30.0)
    assert breaker.admit(state, limits, 31.0)[1] is None
    assert breaker.admit(breaker.abandoned(state, probe), limits, 31.0)[1] is not None


NAMES = ("a", "b", "c", "d")
ERRORS = st.sampled_from(
    [
        ServerError("boom"),
        RateLimited("slow"),
        Overloaded("busy"),
        StreamInterrupted("cut"),
        AuthenticationError("key"),
    ]
)
OUTCOMES = st.one_of(st.none(), ERRORS)
BLIND = Capabilities(tools=False)


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[Route, ...], dict[str, ProviderError | None], set[str]]:
    count = draw(st.integers(1, 4))
    names = NAMES[:count]
    fallback = draw(st.one_of(st.none(), st.permutations(names).map(lambda ids: tuple(ids[: count - 1]))))
    routes = tuple(
        route(name, fallback=fallback if name == names[0] else None, requires=route("x").requires)
        for name in names
    )
    return routes, {name: draw(OUTCOMES) for name in names}, draw(st.sets(st.sampled_from(names)))


@given(cases())
def test_routes_are_asked_in_order_each_once_until_one_answers_or_none_may(case):
    routes, outcomes, blind = case
    asked: list[str] = []

    def script(name: str):
        def answer_of(_: object) -> Reply:
            asked.append(name)
            error = outcomes[name]
            return reply(name) if error is None else failure(error)

        return answer_of

    made = rig({name: script(name) for name in outcomes}, routes, capabilities=dict.fromkeys(blind, BLIND))
    for spoken in made.router.config.routes:
        assert spoken in routes
    able = [r.id for r in routes if r.id not in blind]
    chain = able
    if able:
        first = next(r for r in routes if r.id == able[0])
        if first.fallback is not None:
            chain = [first.id, *(id for id in first.fallback if id in able and id != first.id)]
    else:
        chain = [id for r in routes for id in r.fallback or () if id in able]
    expected, result = walk(chain, outcomes)
    seen = anyio.run(outcome_of, made)
    assert asked == expected
    assert seen == result
    hops = [(a, b) for a, b, category in made.told if category not in ("capability", "order")]
    assert hops == list(pairwise(expected))


def walk(chain: list[str], outcomes: dict[str, ProviderError | None]) -> tuple[list[str], str]:
    asked = []
    for name in chain:
        asked.append(name)
        error = outcomes[name]
        if error is None:
            return asked, name
        if not isinstance(error, FALLS_BACK):
            return asked, type(error).__name__
    if not chain:
        return asked, "NoCandidate"
    return asked, "FallbackExhausted" if len(chain) > 1 else type(outcomes[chain[0]]).__name__


async def outcome_of(made: Rig) -> str:
    from router_kit import ask

    from caliban_common.tool import ToolSpec

    tool = ToolSpec(name="Read", description="", input_schema={"type": "object"})
    try:
        return (await answer(made.router, ask(tools=(tool,)))).message("", "").text
    except ProviderError as error:
        return type(error).__name__


@dataclass
class Lap:
    """How a route behaves in a race."""

    kind: str
    usage: Usage


LAPS = st.lists(
    st.builds(
        Lap,
        kind=st.sampled_from(["fast", "silent", "fails", "refuses"]),
        usage=st.builds(Usage, input_tokens=st.integers(1, 99), output_tokens=st.integers(1, 99)),
    ),
    min_size=2,
    max_size=4,
).filter(lambda laps: any(lap.kind == "fast" for lap in laps))


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@settings(max_examples=examples(60))
@given(laps=LAPS, hedges=st.integers(1, 3))
def test_a_race_bills_its_reader_for_the_winner_only_and_every_call_once(backend, laps, hedges):
    anyio.run(run_race, laps, hedges, backend=backend)


async def run_race(laps: list[Lap], hedges: int) -> None:
    before = [lap.kind for lap in laps]
    before = before[: before.index("fast")]
    assume("silent" not in before or len(before) <= hedges)  # else the bound on hedges leaves only silence
    never = anyio.Event()
    scripts = {}
    for name, lap in zip(NAMES, laps, strict=False):
        scripted = {
            "fast": reply(name, usage=lap.usage),
            "silent": reply(name, usage=lap.usage, wait=never),
            "fails": failure(ServerError("boom")),
            "refuses": failure(AuthenticationError("key")),
        }[lap.kind]
        scripts[name] = [scripted]
    routes = tuple(route(name, hedge=Hedge(after_ms=0, max_hedges=hedges)) for name in scripts)
    made = rig(scripts, routes)
    winner, seen = "", Usage()
    try:
        result = await answer(made.router)
        winner, seen = result.message("", "").text, result.usage
    except AuthenticationError:
        assert "refuses" in before
    read = [call for call in made.calls if call.end in ("answered", "broken")]
    assert sum((call.usage for call in read), Usage()) == seen
    assert [call.name for call in read] == ([winner] if winner else [])
    assert sorted(call.name for call in made.calls) == sorted(
        name for name, provider in made.providers.items() for _ in provider.requests
    )
