"""The router as a provider: contract, races, views, budgets, and leaving early."""

from __future__ import annotations

from decimal import Decimal

import anyio
import pytest
from hang_guard import HANG_S
from router_kit import ABLE, Silent, answer, ask, rig, rig_over, route, words

from caliban_common.message import ImageBlock, Message
from caliban_common.stop import Stop
from caliban_common.usage import Usage
from caliban_model_router import (
    BudgetExhausted,
    BudgetLimits,
    BudgetQuestion,
    NoCandidate,
    RouterBudget,
    RouterConfig,
    RouterConfigError,
    RouterProvider,
    RoutesResting,
)
from caliban_model_router.breaker import BreakerLimits
from caliban_model_router.route import Hedge
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import AuthenticationError, NetworkError, Overloaded, ServerError
from caliban_provider.stream import MessageStop, TextDelta
from caliban_provider.testing.conformance import contract_checks
from caliban_provider.testing.scripted import Reply, ScriptedProvider, failure, reply, tool_call

AT_ONCE = Hedge(after_ms=0)


def router_for_the_suite(hedge: Hedge | None) -> RouterProvider:
    broken = ScriptedProvider(lambda _: failure(Overloaded("busy")), name="one")
    works = ScriptedProvider(lambda _: reply("a word", tool_call("Read", {"path": "x"})), name="two")
    config = RouterConfig(routes=(route("one", hedge=hedge), route("two")))
    return RouterProvider(config, {"one": broken, "two": works})


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("hedge", [None, AT_ONCE], ids=["in turn", "raced"])
@pytest.mark.parametrize("number", range(5))
def test_the_router_keeps_the_contract_of_a_provider(number, hedge, backend):
    contract_checks(lambda: router_for_the_suite(hedge), model="any")[number].run(backend)


def raced(**providers: object):
    routes = tuple(route(name, hedge=AT_ONCE) for name in providers)
    return rig_over(RouterConfig(routes=routes), providers)


@pytest.mark.anyio
class TestRaces:
    async def test_leaving_before_any_content_ends_both_calls(self):
        one, two = Silent(name="one"), Silent(name="two")
        made = raced(one=one, two=two)
        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(answer, made.router)
                await one.entered.wait()
                await two.entered.wait()
                group.cancel_scope.cancel()
        assert one.left.is_set() and two.left.is_set()
        assert {(call.name, call.end) for call in made.calls} == {("one", "lost"), ("two", "lost")}

    async def test_leaving_in_the_middle_of_the_winner_closes_it(self):
        silent = Silent(name="one")
        made = raced(one=silent, two=ScriptedProvider([reply("many words", piece_chars=1)], name="two"))
        async with made.router.stream(ask()) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
        assert silent.left.is_set()
        assert [(call.name, call.end) for call in made.calls] == [("one", "lost"), ("two", "left")]

    async def test_the_loser_is_closed_while_the_winner_still_speaks(self):
        silent, gate = Silent(name="one"), anyio.Event()
        winner = ScriptedProvider([reply("many words", wait=gate, wait_before=3)], name="two")
        made = raced(one=silent, two=winner)
        with anyio.fail_after(HANG_S):
            async with made.router.stream(ask()) as events:
                await silent.left.wait()
                gate.set()
                assert [event async for event in events]

    async def test_a_refusal_of_a_hedge_that_took_over_ends_the_race(self):
        asked, failed = anyio.Event(), anyio.Event()
        silent = Silent(name="three")

        def fail(_: object) -> Reply:
            return Reply(error=ServerError("boom"), wait=asked, reached=failed)

        def refuse(_: object) -> Reply:
            return Reply(error=AuthenticationError("key"), wait=gone)

        gone = anyio.Event()
        providers = {
            "one": ScriptedProvider(fail, name="one"),
            "two": ScriptedProvider(refuse, name="two"),
            "three": silent,
        }
        routes = tuple(route(name, hedge=Hedge(after_ms=0, max_hedges=2)) for name in providers)
        made = rig_over(RouterConfig(routes=routes), providers, on_switch=lambda _: gone.set())

        async def release() -> None:
            await silent.entered.wait()
            asked.set()

        with anyio.fail_after(HANG_S):
            async with anyio.create_task_group() as group:
                group.start_soon(release)
                with pytest.raises(AuthenticationError):
                    await answer(made.router)

    async def test_what_the_reader_raises_arrives_as_it_was_raised(self):
        made = raced(one=Silent(name="one"), two=ScriptedProvider([reply("words")], name="two"))
        cause = OSError("below")
        with pytest.raises(KeyError) as caught:
            async with made.router.stream(ask()) as events:
                async for _ in events:
                    raise KeyError("mine") from cause
        assert caught.value.__cause__ is cause

    async def test_an_error_after_content_arrives_as_it_was_raised(self):
        error = NetworkError("reset")
        made = raced(
            one=Silent(name="one"),
            two=ScriptedProvider([reply("w" * 99, error=error, error_after=4)], name="two"),
        )
        with pytest.raises(NetworkError) as caught:
            await answer(made.router)
        assert caught.value is error
        assert [call.end for call in made.calls if call.name == "two"] == ["broken"]

    async def test_a_programmers_error_is_not_hidden(self):
        made = raced(one=Silent(name="one"), two=ScriptedProvider([], name="two"))
        with pytest.raises(AssertionError):
            await answer(made.router)

    async def test_a_failing_hedge_does_not_end_the_primary(self):
        gate, reached = anyio.Event(), anyio.Event()
        slow = ScriptedProvider([reply("one", wait=gate, reached=reached)], name="one")

        def refuse(_: object) -> Reply:
            gate.set()
            return failure(AuthenticationError("key"))

        made = raced(one=slow, two=ScriptedProvider(refuse, name="two"))
        assert words(await answer(made.router)) == "one"
        assert made.told == []

    async def test_a_primary_that_fails_hands_over_to_the_hedge_that_runs(self):
        asked = anyio.Event()

        def after_hedge(_: object) -> Reply:
            return Reply(error=ServerError("boom"), wait=asked)

        def hedge(_: object) -> Reply:
            asked.set()
            return reply("two")

        made = raced(one=ScriptedProvider(after_hedge, name="one"), two=ScriptedProvider(hedge, name="two"))
        assert words(await answer(made.router)) == "two"
        assert [entry[:2] for entry in made.told] == [("one", "two")]

    async def test_a_refusal_of_the_primary_ends_the_race(self):
        asked = anyio.Event()
        silent = Silent(name="two")

        def refuse(_: object) -> Reply:
            return Reply(error=AuthenticationError("key"), wait=asked)

        made = raced(one=ScriptedProvider(refuse, name="one"), two=silent)
        with anyio.fail_after(HANG_S), pytest.raises(AuthenticationError):
            async with anyio.create_task_group() as group:

                async def release() -> None:
                    await silent.entered.wait()
                    asked.set()

                group.start_soon(release)
                try:
                    await answer(made.router)
                except AuthenticationError as error:
                    refused = error
            raise refused
        assert silent.left.is_set()


@pytest.mark.anyio
class TestBooks:
    async def test_reading_on_after_the_end_bills_nothing_more(self):
        made = rig({"one": [reply("one")]})
        async with made.router.stream(ask()) as events:
            async for _ in events:
                pass
            with pytest.raises(StopAsyncIteration):
                await anext(events)
        assert [call.end for call in made.calls] == ["answered"]

    async def test_a_reader_who_leaves_at_the_end_of_the_message_has_an_answer(self):
        made = rig({"one": [reply("one")]})
        async with made.router.stream(ask()) as events:
            async for event in events:
                if isinstance(event, MessageStop):
                    break
        assert [call.end for call in made.calls] == ["answered"]

    async def test_a_probe_whose_caller_left_makes_room_for_the_next(self):
        gate, reached = anyio.Event(), anyio.Event()
        script = [failure(ServerError("boom")), reply("late", wait=gate, reached=reached), reply("back")]
        made = rig({"one": script}, (route("one", breaker=BreakerLimits(failure_threshold=1)),))
        with pytest.raises(ServerError):
            await answer(made.router)
        made.clock.now_s += 30
        async with anyio.create_task_group() as group:
            group.start_soon(answer, made.router)
            await reached.wait()
            with pytest.raises(RoutesResting):
                await answer(made.router)
            group.cancel_scope.cancel()
        assert words(await answer(made.router)) == "back"


@pytest.mark.anyio
class TestViews:
    async def test_each_purpose_goes_its_own_way(self):
        routes = (route("big"), route("small", purpose="summarization"))
        made = rig({"big": [reply("big"), reply("big")], "small": [reply("small")]}, routes)
        views = [made.router, made.router.for_purpose("summarization"), made.router.for_purpose("sub_agent")]
        assert [words(await answer(view)) for view in views] == ["big", "small", "big"]
        assert [view.model for view in views] == ["big-model", "small-model", "big-model"]
        assert {view.family for view in views} == {""}
        assert made.told == []

    async def test_a_view_can_have_another_first_model(self):
        made = rig({"one": [failure(Overloaded("busy"))], "two": [reply("two")]})
        view = made.router.for_purpose("sub_agent", model="mini")
        assert words(await answer(view)) == "two"
        assert [p.requests[0].model for p in made.providers.values()] == ["mini", "two-model"]
        assert (view.model, view.route.id) == ("mini", "two")

    async def test_all_views_know_how_a_route_is_doing(self):
        made = rig({"one": [failure(Overloaded("busy"))], "two": [reply("two"), reply("two")]})
        await answer(made.router)
        assert words(await answer(made.router.for_purpose("sub_agent"))) == "two"
        assert made.told == [("one", "two", "overloaded"), ("one", "two", "resting")]

    async def test_no_candidate_says_what_each_route_lacks(self):
        made = rig({"one": []}, capabilities={"one": Capabilities()})
        picture = Message(role="user", content=(ImageBlock.of(media_type="image/png", data="AA=="),))
        with pytest.raises(NoCandidate, match="one: its model does not have vision"):
            await answer(made.router, ask(picture))

    async def test_capabilities_are_the_first_routes_and_what_any_can_see(self):
        skills = {"one": Capabilities(context_tokens=9, structured_output=True), "two": ABLE}
        made = rig({"one": [], "two": []}, capabilities=skills)
        assert made.router.capabilities("") == Capabilities(context_tokens=9, vision=True, documents=True)

    async def test_models_of_all_providers_are_listed_and_all_are_closed(self):
        made = rig({"one": [], "two": []})
        assert [info.id for info in await made.router.list_models()] == ["scripted-1"]
        assert [info.display_name for info in await made.router.for_purpose("other").list_models()] == [
            "one/one-model",
            "two/two-model",
        ]
        await made.router.aclose()
        assert [provider.closed for provider in made.providers.values()] == [True, True]

    async def test_an_unknown_provider_is_an_error_at_the_start(self):
        with pytest.raises(RouterConfigError, match=r"no provider is called 'one'"):
            RouterProvider(RouterConfig(routes=(route("one"),)), {})

    async def test_many_requests_of_one_view_at_once_do_not_disturb_each_other(self):
        made = rig({"one": [failure(Overloaded("busy"))] * 8, "two": [reply("two")] * 8})
        texts = []

        async def one() -> None:
            texts.append(words(await answer(made.router)))

        async with anyio.create_task_group() as group:
            for _ in range(8):
                group.start_soon(one)
        assert texts == ["two"] * 8
        assert sum(call.end == "answered" for call in made.calls) == 8


@pytest.mark.anyio
class TestBudget:
    def made(self, spent: str, ask=None, scripts=None, capabilities=None, **options):
        prices = {"one": Decimal(10), "two": Decimal(1)}

        def price(priced, usage: Usage) -> Decimal:
            return prices[priced.id] * usage.output_tokens / 1000

        budget = RouterBudget(
            limits=BudgetLimits.of(Decimal(10)),
            spent_usd=lambda: Decimal(spent),
            price=price,
            ask=ask,
            **options,
        )
        scripts = scripts or {"one": [reply("one")], "two": [reply("two")]}
        return rig(scripts, capabilities=capabilities, budget=budget)

    async def test_far_from_the_limit_nothing_changes(self):
        made = self.made("7.99")
        assert words(await answer(made.router)) == "one"
        assert made.told == []

    async def test_past_the_soft_threshold_the_cheaper_route_answers(self):
        made = self.made("8.50")
        assert words(await answer(made.router)) == "two"
        assert [(s.category, s.reason) for s in made.switches] == [("budget", "$8.50 of $10.00 are spent")]

    async def test_without_a_cheaper_route_the_effort_goes_down_and_that_is_told_once(self):
        made = self.made("8.50", scripts={"two": [reply("two"), reply("two")]})
        for _ in range(2):
            await answer(made.router, ask(effort="high"))
        assert [request.effort for request in made.providers["two"].requests] == ["medium", "medium"]
        assert [s.message for s in made.switches] == [
            "two/two-model: $8.50 of $10.00 are spent: effort is now medium"
        ]

    async def test_near_the_limit_somebody_is_asked(self):
        questions: list[BudgetQuestion] = []

        async def yes(question: BudgetQuestion) -> bool:
            questions.append(question)
            return len(questions) == 1

        made = self.made("9.60", ask=yes, scripts={"one": [], "two": [reply("two")]})
        assert words(await answer(made.router)) == "two"
        assert questions[0].estimate_usd == Decimal("0.1")
        with pytest.raises(BudgetExhausted, match="was not allowed"):
            await answer(made.router)

    async def test_where_nobody_can_be_asked_saving_goes_on_to_the_limit(self):
        assert words(await answer(self.made("9.99").router)) == "two"

    async def test_past_the_limit_no_call_is_made(self):
        made = self.made("10.01")
        with pytest.raises(BudgetExhausted) as caught:
            await answer(made.router)
        assert caught.value.stop == Stop(
            kind="budget",
            message="the budget of $10.00 is used up: $10.01 is spent",
            hint="allow a larger budget to go on",
        )
        assert made.asked() == [0, 0]

    async def test_no_effort_is_asked_of_a_model_that_knows_none(self):
        made = self.made(
            "8.50", scripts={"two": [reply("two")]}, capabilities={"two": Capabilities(thinking=False)}
        )
        await answer(made.router)
        assert made.providers["two"].requests[0].effort is None
        assert made.switches == []
