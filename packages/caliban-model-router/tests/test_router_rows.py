"""The rows R1 to R6 of behaviours 3.6, and b062, b064, b078, b084 of the reports."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace
from router_kit import ABLE, Silent, answer, ask, rig, rig_over, route, words

from caliban_agent_core import Agent, AgentOptions
from caliban_common.event import ReplyDiscarded
from caliban_common.message import (
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    assistant,
    user,
)
from caliban_common.testing import without_ids
from caliban_common.usage import Usage
from caliban_model_router import (
    FallbackExhausted,
    NoCandidate,
    NoRouteFits,
    RouterConfig,
    RouterConfigError,
    RoutesResting,
)
from caliban_model_router.breaker import BreakerLimits
from caliban_model_router.route import Hedge
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    BeyondRate,
    BillingError,
    ContextTooLong,
    InvalidRequest,
    ModelUnavailable,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
    RequestTooLarge,
    ServerError,
    StreamIdle,
    StreamInterrupted,
)
from caliban_provider.retry import RetryPolicy
from caliban_provider.stream import MessageStart
from caliban_provider.testing.scripted import ScriptedProvider, failure, reply

pytestmark = pytest.mark.anyio

QUICK = AgentOptions(retry=RetryPolicy(first_delay_s=0.0))
TRANSIENT = (
    ModelUnavailable("no such model"),
    ContextTooLong("too long"),
    RateLimited("slow down", retry_after_s=3.0),
    Overloaded("busy"),
    ServerError("500"),
    NetworkError("the name does not resolve"),
    StreamInterrupted("cut"),
    StreamIdle("silence", idle_s=1.0),
    BadResponse("garbage"),
)
FINAL = (
    AuthenticationError("bad key"),
    InvalidRequest("bad request"),
    RequestTooLarge("413"),
    BillingError("pay first"),
)


def named(error: ProviderError) -> str:
    return type(error).__name__


@pytest.mark.parametrize("error", TRANSIENT, ids=named)
async def test_r1_route_2_answers_when_route_1_fails_before_content(error):
    known = {"one": ABLE, "two": Capabilities(context_tokens=400_000)}
    made = rig({"one": [failure(error)], "two": [reply("two here")]}, capabilities=known)
    assert words(await answer(made.router)) == "two here"
    assert made.told == [("one", "two", error.category)]
    assert made.switches[0].message == f"one/one-model → two/two-model: {error.message}"
    assert made.outcomes == [
        ("one", "failed", Usage()),
        ("two", "answered", Usage(input_tokens=10, output_tokens=5)),
    ]


@pytest.mark.parametrize("error", FINAL, ids=named)
async def test_r1_what_no_other_route_could_mend_is_told_at_once(error):
    made = rig({"one": [failure(error)], "two": [reply("never")]})
    with pytest.raises(type(error)) as caught:
        await answer(made.router)
    assert caught.value is error
    assert (made.asked(), made.told) == ([1, 0], [])


async def test_r1_all_routes_fail_is_fallback_exhausted_with_every_cause():
    first, last = RateLimited("slow down", retry_after_s=9.0), ServerError("boom", status=500)
    made = rig({"one": [failure(first)], "two": [failure(last)]})
    with pytest.raises(FallbackExhausted) as caught:
        await answer(made.router)
    error = caught.value
    assert error.message == "fallback exhausted: one: slow down; two: boom"
    assert [f.error for f in error.failures] == [first, last]
    assert error.__cause__ is last
    assert (error.category, error.status, error.retryable, error.retry_after_s) == (
        "server_error",
        500,
        True,
        None,
    )


async def test_the_only_route_fails_with_its_own_error():
    error = Overloaded("busy", retry_after_s=2.0)
    with pytest.raises(Overloaded) as caught:
        await answer(rig({"one": [failure(error)]}).router)
    assert caught.value is error


async def test_a_prompt_too_long_for_all_stays_a_matter_of_its_length():
    """The loop compacts on it. A window that is no wider is not even asked."""
    made = rig({"one": [failure(ContextTooLong("too long"))], "two": [reply("never")]})
    with pytest.raises(NoRouteFits) as caught:
        await answer(made.router)
    assert isinstance(caught.value, ContextTooLong)
    assert made.asked() == [1, 0]
    assert str(made.router.health["one"]) == "no breaker"


async def test_a_prompt_that_an_account_may_not_send_at_once_goes_to_a_window_that_is_no_wider():
    made = rig({"one": [failure(BeyondRate("more than a minute's tokens"))], "two": [reply("here")]})
    assert words(await answer(made.router)) == "here"
    assert made.asked() == [1, 1]


async def test_r2_an_image_goes_to_the_route_that_can_see():
    blind = Capabilities(context_tokens=200_000)
    made = rig({"one": [], "two": [reply("a cat")]}, capabilities={"one": blind})
    picture = Message(
        role="user", content=(ImageBlock.of(media_type="image/png", data="AA=="), TextBlock(text="?"))
    )
    assert words(await answer(made.router, ask(picture))) == "a cat"
    assert made.told == [("one", "two", "capability")]
    assert made.router.capabilities("one-model").vision


async def test_pictures_that_nobody_can_see_end_the_request_unless_that_is_allowed():
    picture = Message(role="user", content=(ImageBlock.of(media_type="image/png", data="AA=="),))
    blind = {"one": replace(ABLE, vision=False)}
    with pytest.raises(NoCandidate, match="vision"):
        await answer(rig({"one": []}, capabilities=blind).router, ask(picture))
    made = rig({"one": [reply("one")]}, capabilities=blind, strict=False)
    assert words(await answer(made.router, ask(picture))) == "one"


@pytest.mark.parametrize("where", ["before", "tool"])
async def test_a_picture_that_nobody_asks_about_does_not_end_a_conversation(where):
    image = ImageBlock.of(media_type="image/png", data="AA==")
    call = Message(role="assistant", content=(ToolUseBlock(id="t1", name="Read", input={}),))
    history = {
        "before": (Message(role="user", content=(image,)), assistant("a cat"), user("and now?")),
        "tool": (
            user("look"),
            call,
            Message(role="user", content=(ToolResultBlock(tool_use_id="t1", content=(image,)),)),
        ),
    }
    made = rig({"one": [reply("one")]}, capabilities={"one": replace(ABLE, vision=False)})
    assert words(await answer(made.router, ask(*history[where]))) == "one"


async def test_r3_explicit_fallback_ids_override_the_order_of_declaration():
    busy = failure(Overloaded("busy"))
    routes = (route("one", fallback=("three", "two")), route("two"), route("three"))
    made = rig({"one": [busy], "two": [reply("two")], "three": [busy]}, routes)
    assert words(await answer(made.router)) == "two"
    assert made.told == [("one", "three", "overloaded"), ("three", "two", "overloaded")]


async def test_r3_an_empty_fallback_list_is_no_fallback():
    made = rig(
        {"one": [failure(Overloaded("busy"))], "two": [reply("two")]},
        (route("one", fallback=()), route("two")),
    )
    with pytest.raises(Overloaded):
        await answer(made.router)


async def test_r3_an_unknown_fallback_id_is_an_error_at_the_start():
    with pytest.raises(RouterConfigError, match=r"^\[router.route 1\] fallback: no route is called 'nobody'"):
        rig({"one": []}, (route("one", fallback=("nobody",)),))


async def test_r4_five_failures_open_the_breaker_and_one_probe_closes_it():
    limits = BreakerLimits()
    boom = failure(ServerError("boom"))
    routes = (route("one", breaker=limits, rest_s=0.0), route("two"))
    made = rig({"one": [*[boom] * 5, reply("back")], "two": [reply("two")] * 6}, routes)
    for _ in range(6):
        assert words(await answer(made.router)) == "two"
    assert made.asked() == [5, 6]
    assert str(made.router.health["one"]) == "open for 30 s"
    made.clock.now_s += limits.cooldown_s
    assert words(await answer(made.router)) == "back"
    assert str(made.router.health["one"]) == "closed"


async def test_r4_every_route_blocked_is_a_typed_error_that_says_how_long():
    made = rig(
        {"one": [failure(ServerError("boom"))]}, (route("one", breaker=BreakerLimits(failure_threshold=1)),)
    )
    with pytest.raises(ServerError):
        await answer(made.router)
    made.clock.now_s += 10
    with pytest.raises(RoutesResting) as caught:
        await answer(made.router)
    assert (caught.value.retryable, caught.value.retry_after_s) == (True, 20.0)


HEDGED = Hedge(after_ms=0)


async def test_r5_a_slow_primary_loses_and_its_usage_is_told_apart():
    slow = Silent(before=[MessageStart(usage=Usage(input_tokens=7))], name="slow")
    fast = ScriptedProvider([reply("fast")], name="fast")
    made = rig_over(
        RouterConfig(routes=(route("slow", hedge=HEDGED), route("fast"))), {"slow": slow, "fast": fast}
    )
    result = await answer(made.router)
    assert (words(result), result.usage) == ("fast", Usage(input_tokens=10, output_tokens=5))
    assert slow.left.is_set()
    assert sorted(made.outcomes, key=str) == [
        ("fast", "answered", Usage(input_tokens=10, output_tokens=5)),
        ("slow", "lost", Usage(input_tokens=7)),
    ]
    assert made.told == [("slow", "fast", "hedge")]


async def test_r5_a_fast_primary_costs_nothing_more():
    made = rig({"one": [reply("one")], "two": []}, (route("one", hedge=Hedge(after_ms=60_000)), route("two")))
    assert words(await answer(made.router)) == "one"
    assert (made.asked(), made.told) == ([1, 0], [])
    assert made.outcomes == [("one", "answered", Usage(input_tokens=10, output_tokens=5))]


async def test_r6_cache_markers_and_what_only_one_vendor_knows_stay_behind_on_a_hop():
    made = rig({"one": [failure(Overloaded("busy")), reply("one")], "two": [reply("two"), reply("two")]})
    request = ask(extra={"metadata": {"user_id": "u"}})
    for _ in range(2):
        await answer(made.router, request)
    made.clock.now_s += 31
    await answer(made.router, request)
    seen = [(r.model, r.cache, dict(r.extra)) for p in made.providers.values() for r in p.requests]
    assert seen == [
        ("one-model", True, {"metadata": {"user_id": "u"}}),
        ("one-model", True, {"metadata": {"user_id": "u"}}),
        ("two-model", False, {}),
        ("two-model", True, {}),
    ]
    assert made.told == [("one", "two", "overloaded"), ("two", "one", "recovered")]


HELLO = reply("Hello there, and a good day", usage=Usage(input_tokens=4, output_tokens=2))


@pytest.mark.parametrize("after", [0, 5], ids=["before content", "after three deltas"])
@pytest.mark.parametrize(
    "error", [Overloaded("busy"), ServerError("529"), RateLimited("no", retry_after_s=86400)]
)
async def test_b062_b064_b078_an_error_in_the_stream_reaches_the_next_route_and_nothing_is_said_twice(
    error, after
):
    broken = reply("Hello th", "x" * 90, error=error, error_after=after)
    made = rig({"one": [broken], "two": [HELLO]})
    async with Agent(made.router, made.router.model, options=QUICK).run("Hi") as run:
        events = [event async for event in run.events]
    assert run.outcome.stop.ok
    assert [m.text for m in run.outcome.messages] == ["Hi", "Hello there, and a good day"]
    assert sum(isinstance(event, ReplyDiscarded) for event in events) == (after > 0)
    assert made.asked() == [1, 1]
    assert len(made.told) == 1 and made.told[0][:2] == ("one", "two")


@pytest.mark.parametrize(
    "error", [NetworkError("reset"), StreamInterrupted("cut"), StreamIdle("hush", idle_s=1)], ids=named
)
async def test_a_line_that_breaks_after_content_is_taken_back_and_the_next_route_answers(error):
    made = rig({"one": [reply("Hello there", error=error, error_after=3)], "two": [HELLO]})
    async with Agent(made.router, made.router.model, options=QUICK).run("Hi") as run:
        events = [event async for event in run.events]
    assert [m.text for m in run.outcome.messages] == ["Hi", "Hello there, and a good day"]
    assert sum(isinstance(event, ReplyDiscarded) for event in events) == 1
    assert made.asked() == [1, 1]
    assert made.router.health["one"].is_resting


@pytest.mark.parametrize("stop_reason", ["end_turn", "context_window", "tool_use", "other"])
async def test_the_next_route_answers_where_a_reply_has_nothing_in_it(stop_reason):
    made = rig({"one": [reply(stop_reason=stop_reason)], "two": [HELLO]})
    outcome = await Agent(made.router, made.router.model, options=QUICK).run_to_end("Hi")
    assert (outcome.stop.ok, outcome.text) == (True, "Hello there, and a good day")
    assert made.asked() == [1, 1]


@pytest.mark.parametrize("blank", [" ", "\n\n", " \t\u00a0\n"])
async def test_blank_text_is_nothing_and_the_next_route_answers(blank):
    made = rig({"one": [reply(blank, piece_chars=1)], "two": [HELLO]})
    outcome = await Agent(made.router, made.router.model, options=QUICK).run_to_end("Hi")
    assert (outcome.stop.ok, outcome.text) == (True, "Hello there, and a good day")
    assert made.asked() == [1, 1]


async def test_blanks_before_an_answer_stay_with_it():
    made = rig({"one": [reply("\n\n  one", piece_chars=1)], "two": [HELLO]})
    assert words(await answer(made.router)) == "\n\n  one"


async def test_routes_that_all_have_nothing_to_say_are_an_error():
    made = rig({"one": [reply()], "two": [reply(stop_reason="context_window")]})
    outcome = await Agent(made.router, made.router.model, options=QUICK).run_to_end("Hi")
    assert outcome.stop.kind == "provider_error"
    assert outcome.stop.message == "fallback exhausted: one, two: the model wrote nothing"


@pytest.mark.parametrize("stop_reason", ["refusal", "content_filter"])
async def test_a_refusal_without_words_is_an_answer_that_no_other_route_gives(stop_reason):
    made = rig({"one": [reply(stop_reason=stop_reason)], "two": [HELLO]})
    outcome = await Agent(made.router, made.router.model, options=QUICK).run_to_end("Hi")
    assert (outcome.stop.kind, made.asked()) == (stop_reason, [1, 0])


async def test_b078_the_next_turn_tries_the_primary_again_after_the_cool_down():
    made = rig({"one": [failure(NetworkError("dns")), reply("one")], "two": [reply("two"), reply("two")]})
    texts = [words(await answer(made.router)) for _ in range(2)]
    made.clock.now_s += 30
    texts.append(words(await answer(made.router)))
    assert texts == ["two", "two", "one"]


async def test_b064_a_told_wait_is_kept_and_an_absurd_one_falls_over():
    made = rig({"one": [failure(RateLimited("no", retry_after_s=86400))], "two": [reply("two")]})
    assert words(await answer(made.router)) == "two"
    made.clock.now_s += 3599
    assert made.router.health["one"].wait_s == 1
    busy = rig(
        {
            "one": [failure(RateLimited("no", retry_after_s=9))],
            "two": [failure(RateLimited("no", retry_after_s=4))],
        }
    )
    with pytest.raises(FallbackExhausted) as caught:
        await answer(busy.router)
    assert (caught.value.retry_after_s, caught.value.retryable) == (4, True)
    with pytest.raises(RoutesResting) as again:
        await answer(busy.router)
    assert again.value.retry_after_s == 4


async def test_b084_ids_of_one_vendor_are_fit_for_another_consistent_and_unique():
    raw = ("functions.Read:0", "call_" + "x" * 60, "a b/c", "", "a-b-c")
    history = [user("go")]
    for id in raw:
        history.append(Message(role="assistant", content=(ToolUseBlock(id=id, name="Read", input={}),)))
        result = ToolResultBlock(tool_use_id=id, content=(TextBlock(text="ok"),))
        history.append(Message(role="user", content=(result,)))
    made = rig({"one": [failure(Overloaded("busy"))], "two": [reply("two")]})
    await answer(made.router, ask(*history))
    sent = made.providers["two"].requests[0].messages
    calls = [call.id for message in sent for call in message.tool_uses]
    results = [result.tool_use_id for message in sent for result in message.tool_results]
    assert calls == results
    assert len(set(calls)) == len(raw)
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", id) for id in calls)
    assert calls[-1] == "a-b-c"


async def test_what_one_family_signed_is_never_shown_to_another():
    signed = Message(
        role="assistant",
        family="one-family",
        model="one-model",
        content=(
            ThinkingBlock(text="hm", signature="SIG"),
            RedactedThinkingBlock(data="xxx"),
            OpaqueBlock(family="one-family", data={"a": 1}),
            TextBlock(text="well"),
        ),
    )
    made = rig({"one": [failure(Overloaded("busy"))], "two": [reply("two")]})
    await answer(made.router, ask(user("go"), signed, user("on")))
    one, two = (provider.requests[0].messages[1].content for provider in made.providers.values())
    assert one == signed.content
    assert two == (TextBlock(text="well"),)


async def test_what_a_fallback_signed_comes_back_to_it_and_to_nobody_else():
    private = (
        ThinkingBlock(text="hm", signature="SIG"),
        RedactedThinkingBlock(data="x"),
        TextBlock(text="well"),
    )
    made = rig(
        {
            "one": [failure(Overloaded("busy")), failure(Overloaded("busy")), reply("one")],
            "two": [reply(*private), reply("two")],
        }
    )
    agent = Agent(made.router, made.router.model, options=QUICK)
    first = await agent.run_to_end("Hi")
    signed = Message(role="assistant", content=private, family="two-family", model="two-model")
    assert without_ids(first.messages[-1:]) == without_ids([signed])
    made.clock.now_s += 60
    second = await agent.run_to_end((*first.messages, user("Go on")))
    made.clock.now_s += 60
    third = await agent.run_to_end((*second.messages, user("Go on")))
    assert third.messages[-1].text == "one"
    shown = {name: made.providers[name].requests[-1].messages[1].content for name in ("one", "two")}
    assert shown == {"one": (TextBlock(text="well"),), "two": private}


async def test_a_reply_without_a_start_is_filed_under_the_route_that_answers():
    bare = Startless([reply("well")], name="two", family="two-family")
    made = rig_over(RouterConfig(routes=(route("two"),)), {"two": bare})
    outcome = await Agent(made.router, made.router.model, options=QUICK).run_to_end("Hi")
    assert (outcome.messages[-1].family, outcome.messages[-1].model) == ("two-family", "two-model")


class Startless(ScriptedProvider):
    """A provider that goes straight to the content of its replies."""

    @asynccontextmanager
    async def stream(self, request):
        async with super().stream(request) as events:
            yield (event async for event in events if not isinstance(event, MessageStart))


async def test_what_all_routes_said_alike_is_told_once():
    made = rig({"one": [failure(Overloaded("busy"))], "two": [failure(Overloaded("busy"))]})
    with pytest.raises(FallbackExhausted) as caught:
        await answer(made.router)
    assert caught.value.message == "fallback exhausted: one, two: busy"


@pytest.mark.parametrize(
    ("asked", "limit", "sent"), [(8192, 64_000, 40_960), (40_000, 64_000, 40_000), (8192, 20_000, 20_000)]
)
async def test_a_thinking_budget_that_would_fill_the_reply_comes_on_top_of_it(asked, limit, sent):
    thinker = replace(ABLE, thinking=True, max_output_tokens=limit)
    routes = (route("one", effort_map={"medium": "budget=32768"}),)
    made = rig({"one": [reply("x")]}, routes, capabilities={"one": thinker})
    await answer(made.router, ask(max_tokens=asked))
    assert made.providers["one"].requests[0].max_tokens == sent
