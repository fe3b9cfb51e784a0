"""However and at how many rungs a model server fails, it is asked no more often than docs/adr/0010 says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from itertools import count
from pathlib import Path

import anyio
import pytest
from extent_kit import examples
from hang_guard import HANG_S
from hypothesis import given, settings
from hypothesis import strategies as st
from request_bound import CONNECTION, RENEWAL, Ladder

from caliban_agent_core import Agent, AgentOptions
from caliban_common.event import RunEnd
from caliban_common.message import ImageBlock, Message, assistant, user
from caliban_common.tool import ToolContext, ToolOutput, ToolSpec
from caliban_model_router import RouterConfig, RouterProvider
from caliban_model_router.route import Hedge, Route
from caliban_provider.call import Caller, Prepared
from caliban_provider.capabilities import Capabilities
from caliban_provider.classify import error_for
from caliban_provider.credential import Credential, CredentialCache
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    BillingError,
    ContextTooLong,
    InvalidRequest,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerError,
    StreamIdle,
    StreamInterrupted,
)
from caliban_provider.http import HttpClient
from caliban_provider.keyed import KeyedProvider
from caliban_provider.request import CompletionRequest
from caliban_provider.retry import RetryPolicy
from caliban_provider.testing.loopback import Close, Exchange, LoopbackServer, answer, sse
from caliban_provider.testing.scripted import Reply, ScriptedProvider, failure, reply, tool_call

RECORD = Path(__file__).parents[2] / "docs" / "adr" / "0010-retries.md"
NO_TIME_S = 1e-9
WORDS = "some words that come in several pieces"

REPLIES: Mapping[str, Reply] = {
    "text": reply("done"),
    "call": reply("I count.", tool_call("Count")),
    "nothing": reply(),
    "malformed": reply("", stop_reason="malformed_call"),
    "cut": reply(WORDS, stop_reason="max_tokens"),
    "cut call": reply(tool_call("Count"), stop_reason="max_tokens"),
    "window": reply(WORDS, stop_reason="context_window"),
    "refusal": reply(WORDS, stop_reason="refusal"),
    "key": failure(AuthenticationError("401")),
    "busy": failure(Overloaded("529")),
    "wait": failure(RateLimited("429", retry_after_s=NO_TIME_S)),
    "wait 0": failure(RateLimited("429", retry_after_s=0.0)),
    "server": failure(ServerError("500")),
    "network": failure(NetworkError("reset")),
    "silence": failure(StreamIdle("silent", idle_s=1)),
    "garbled": failure(BadResponse("garbled")),
    "request": failure(InvalidRequest("400")),
    "image": failure(InvalidRequest("400: this is no image")),
    "long": failure(ContextTooLong("too long")),
    "billing": failure(BillingError("402")),
    "busy later": reply(WORDS, error=Overloaded("529"), error_after=2),
    "broken later": reply(WORDS, error=StreamInterrupted("cut"), error_after=2),
}
"""What a server can do to a call, at every rung."""


class Count:
    """A tool that lets a run go on."""

    spec = ToolSpec(name="Count", description="Counts.", kind="read", input_schema={"type": "object"})

    def conflict_key(self, args: object) -> str | None:
        return None

    async def invoke(self, args: object, context: ToolContext) -> ToolOutput:
        return ToolOutput.of("one more")


class Servers:
    """All servers of a run behind all its keys: they play one script, and count what reaches them."""

    def __init__(self, script: Sequence[str]) -> None:
        self.calls = 0
        self._script = iter(script)

    def answer(self, request: CompletionRequest) -> Reply:
        self.calls += 1
        return REPLIES[next(self._script, "text")]

    def keyed(self, name: str, capabilities: Capabilities) -> KeyedProvider:
        """A provider whose key is renewed when it is refused, for another each time."""
        numbers = count(1)

        async def fetch(refused: bool) -> Credential[str]:
            return Credential(value=f"key-{next(numbers)}")

        def make(key: str) -> ScriptedProvider:
            return ScriptedProvider(self.answer, name=name, family=name, capabilities=capabilities)

        return KeyedProvider(make, fetch)


SHOWN = Message(role="user", content=(ImageBlock.of(media_type="image/png", data="AA=="),))


def history() -> list[Message]:
    """A conversation that is long enough to be summarised."""
    turns = [(user(f"question {n} " + "x" * 200), assistant(f"answer {n} " + "y" * 200)) for n in range(8)]
    return [*(message for turn in turns for message in turn), SHOWN, user("Go on.")]


def played(script: Sequence[str], ladder: Ladder, *, window: int | None, hedged: bool) -> tuple[RunEnd, int]:
    """How a run under `script` ends, and how many calls reached a server."""
    servers = Servers(script)
    capabilities = Capabilities(context_tokens=window, max_output_tokens=64_000)
    names = "abc"[: ladder.routes]
    hedge = Hedge(after_ms=0, max_hedges=2) if hedged else None
    routes = tuple(
        Route(purpose="main_loop", provider=name, model=f"{name}-model", id=name, hedge=hedge, rest_s=0.0)
        for name in names
    )
    providers = {name: servers.keyed(name, capabilities) for name in names}

    async def run() -> RunEnd:
        router = RouterProvider(RouterConfig(routes=routes), providers)
        with anyio.fail_after(HANG_S):
            return await Agent(router, router.model, tools=[Count()], options=ladder.options).run_to_end(
                history()
            )

    return anyio.run(run), servers.calls


RETRIES = st.builds(
    RetryPolicy,
    max_retries=st.integers(0, 2),
    max_told_retries=st.integers(0, 4),
    first_delay_s=st.just(0.0),
)
LADDERS = st.builds(
    Ladder,
    options=st.builds(
        AgentOptions,
        max_turns=st.integers(1, 3),
        retry=RETRIES,
        response_schema=st.sampled_from([None, {"type": "object"}]),
        auto_compact_threshold=st.sampled_from([None, 0.5]),
    ),
    routes=st.integers(1, 3),
)


@settings(max_examples=examples(300))
@given(
    st.lists(st.sampled_from(sorted(REPLIES)), max_size=80),
    LADDERS,
    st.sampled_from([None, 1_000, 100_000]),
    st.booleans(),
)
def test_a_run_never_asks_more_often_than_its_options_allow(
    script: list[str], ladder: Ladder, window: int | None, hedged: bool
) -> None:
    outcome, calls = played(script, ladder, window=window, hedged=hedged)
    assert calls <= ladder.calls * RENEWAL, outcome.stop


@settings(max_examples=examples(200))
@given(
    st.lists(st.sampled_from(["wait", "busy", "malformed", "cut", "request", "long", "window"]), max_size=40),
    LADDERS.filter(lambda ladder: ladder.routes == 1),
)
def test_without_routes_and_refused_keys_each_reply_is_one_call(script: list[str], ladder: Ladder) -> None:
    outcome, calls = played(script, ladder, window=None, hedged=False)
    assert calls <= ladder.replies, outcome.stop


def test_the_worst_turn_is_as_bad_as_the_bound_says() -> None:
    options = AgentOptions(
        max_turns=1,
        retry=RetryPolicy(first_delay_s=0.0),
        response_schema={"type": "object"},
        auto_compact_threshold=None,
    )
    ladder = Ladder(options=options, reactions=1, summary_calls=1)
    retries = ["wait"] * 10 + ["broken later", "busy"] + ["malformed"] * 2
    script = [*retries, "image", "request", "long", "text", "request", "cut", "text"]
    outcome, calls = played(script, ladder, window=None, hedged=False)
    assert (outcome.stop.kind, calls, ladder.run) == ("end_of_turn", 21, 21)


def test_all_that_a_turn_asks_for_shares_one_allowance_of_retries() -> None:
    ladder = Ladder(options=AgentOptions(retry=RetryPolicy(first_delay_s=0.0)))
    script = ["busy", "busy", "cut", "busy", "text"]
    outcome, calls = played(script, ladder, window=None, hedged=False)
    assert (outcome.stop.kind, calls) == ("provider_error", 4)


def test_a_server_that_is_always_busy_is_asked_thrice_by_each_route() -> None:
    ladder = Ladder(options=AgentOptions(retry=RetryPolicy(first_delay_s=0.0)), routes=3)
    outcome, calls = played(["busy"] * 999, ladder, window=None, hedged=False)
    assert (outcome.stop.kind, calls) == ("provider_error", 9)


def test_a_wait_of_nothing_is_no_wait() -> None:
    ladder = Ladder(options=AgentOptions(retry=RetryPolicy(first_delay_s=0.0)))
    outcome, calls = played(["wait 0"] * 999, ladder, window=None, hedged=False)
    assert (outcome.stop.kind, calls) == ("provider_error", 3)


HTTP: Mapping[str, Exchange] = {
    "ok": sse("data: 1\n\n"),
    "closes": Exchange(raw=True, steps=(Close(),)),
    "401": answer(401, b"no"),
    "403": answer(403, b"no"),
    "500": answer(500, b"no"),
}


@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from(sorted(HTTP)), min_size=1, max_size=8))
def test_one_call_is_sent_four_times_at_most(script: list[str]) -> None:
    # A first reply leaves a connection behind; what is kept may be closed when it is used again.
    exchanges: Iterator[Exchange] = iter([HTTP["ok"], *(HTTP[step] for step in script)])
    numbers = count(1)

    async def fetch(refused: bool) -> Credential[str]:
        return Credential(value=f"key-{next(numbers)}")

    def refusal(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
        return error_for(status, headers, body, provider="mine")

    async def run(url: str) -> None:
        http = HttpClient()
        caller = Caller(http, error_from=refusal, credentials=CredentialCache(fetch))
        for _ in range(2):
            try:
                prepared = Prepared(method="POST", url=url, headers={}, body=b"{}")
                async with caller.stream(lambda prepared=prepared: prepared, 9) as got:
                    await got.read(99)
            except ProviderError:
                pass
        await http.aclose()

    with LoopbackServer(lambda request: next(exchanges, HTTP["401"])) as server:
        anyio.run(run, server.url)
        assert len(server.requests) - 1 <= RENEWAL * CONNECTION


@pytest.mark.parametrize(
    "row", [line for line in RECORD.read_text("utf-8").splitlines() if line.startswith("| ")][1:]
)
def test_the_record_names_what_there_is(row: str) -> None:
    where = re.findall(r"`(caliban[\w.]*):([\w.]+)`", row)
    assert where, row
    for module, name in where:
        owner: object = import_module(module)
        for part in name.split("."):
            owner = getattr(owner, part)
