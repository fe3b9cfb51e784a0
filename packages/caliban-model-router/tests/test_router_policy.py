"""The pure parts: needs, selection, effort, budgets, translation, and what `router debug` shows."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from router_kit import ABLE, ask, route

from caliban_common.estimate import MESSAGE_TOKENS, tokens, tool_tokens
from caliban_common.history import TargetModel
from caliban_common.message import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    assistant,
    system,
    user,
)
from caliban_common.testing import without_ids
from caliban_common.tool import ToolSpec
from caliban_model_router import BudgetLimits, Requirements, RouterConfig
from caliban_model_router.breaker import BreakerLimits
from caliban_model_router.budget import judge, plan, saved_effort
from caliban_model_router.debug import explain, render
from caliban_model_router.effort import Knob, lower, read_knob, with_effort
from caliban_model_router.requirements import needs_of
from caliban_model_router.route import Hedge
from caliban_model_router.select import select
from caliban_model_router.translate import IdLimits, Translator, adapt, wire_id
from caliban_provider.capabilities import Capabilities

TOOL = ToolSpec(name="Read", description="Reads.", input_schema={"type": "object"})
PICTURE = ImageBlock.of(media_type="image/png", data="AA==")


def test_needs_are_read_off_the_request():
    assert needs_of(ask(user("a" * 400))) == Requirements(context_tokens=100 + MESSAGE_TOKENS)
    shown = ToolResultBlock(tool_use_id="1", content=(PICTURE,))
    seen = ask(
        Message(
            role="user",
            content=(shown, DocumentBlock(source=Base64Source(media_type="application/pdf", data="x" * 80))),
        ),
        tools=(TOOL,),
        thinking_tokens=1024,
    )
    assert needs_of(seen) == Requirements(
        vision=True,
        documents=True,
        tool_use="basic",
        thinking=True,
        context_tokens=tokens(seen.messages) + tool_tokens(seen.tools),
    )
    call = ToolUseBlock(id="1", name="W", input={"text": "y" * 4000, "list": [1, True, {"k": None}]})
    assert 1000 <= needs_of(ask(Message(role="assistant", content=(call,)))).context_tokens < 1030


def chosen(config: RouterConfig, required: Requirements, skills: dict[str, Capabilities]) -> list[str]:
    return [r.id for r in select(config, "main_loop", required, lambda r: skills.get(r.id, ABLE)).chain]


def test_a_route_whose_model_lacks_what_it_requires_or_the_request_needs_is_dropped():
    config = RouterConfig(
        routes=(
            route("a", requires=Requirements(tool_use="parallel_calls")),
            route("b", fallback=("d",)),
            route("c"),
            route("d", purpose="other"),
        )
    )
    serial = Capabilities(parallel_tools=False)
    assert chosen(config, Requirements(), {}) == ["a", "b", "c"]
    assert chosen(config, Requirements(), {"a": serial}) == ["b", "d"]
    assert chosen(config, Requirements(thinking=True), {"a": Capabilities(), "b": Capabilities()}) == ["c"]
    blind = dict.fromkeys("abc", Capabilities())
    assert chosen(config, Requirements(vision=True), blind) == ["d"], (
        "a fallback of a route that is unable still helps"
    )
    assert chosen(config, Requirements(vision=True), blind | {"d": Capabilities()}) == []


def test_a_prompt_too_long_for_one_goes_to_a_wider_one_and_stays_when_none_is():
    config = RouterConfig(routes=(route("a"), route("b")))
    narrow, wide = Capabilities(context_tokens=1000), Capabilities(context_tokens=9000)
    assert chosen(config, Requirements(context_tokens=1000), {"a": narrow, "b": wide}) == ["b"]
    assert chosen(config, Requirements(context_tokens=9000), {"a": narrow, "b": wide}) == ["a", "b"]
    assert chosen(config, Requirements(context_tokens=9000), {"a": Capabilities(), "b": wide}) == ["a"]


@pytest.mark.parametrize(
    ("text", "knob"),
    [
        ("budget=8192", Knob(thinking_tokens=8192)),
        ("high", Knob(effort="high")),
        ("effort = max", Knob(effort="max")),
        ("reasoning_effort=minimal", Knob(extra={"reasoning_effort": "minimal"})),
        ("top_k=3", Knob(extra={"top_k": 3})),
    ],
)
def test_a_knob_is_a_budget_a_level_or_a_member_of_the_body(text, knob):
    assert read_knob(text) == knob


@pytest.mark.parametrize(
    "text", ["", "=", "x=", "=1", "budget=", "budget=-1", "budget=1.5", "effort=huge", "huge"]
)
def test_a_knob_that_says_nothing_is_refused(text):
    with pytest.raises(ValueError):
        read_knob(text)


def test_the_effort_of_the_request_beats_the_route_and_its_budget_beats_every_knob():
    plain, eager = route("a"), route("a", effort="high")
    mapped = route(
        "a", effort="low", effort_map={"low": "budget=1024", "high": "budget=32768", "medium": "budget=0"}
    )
    request = ask()
    assert with_effort(request, plain) is request, "nobody said anything: the vendor's default holds"
    assert with_effort(request, eager).effort == "high"
    assert with_effort(ask(effort="low"), eager).effort == "low"

    def knobs(**options: object) -> tuple[object, object]:
        made = with_effort(ask(**options), mapped)
        return made.effort, made.thinking_tokens

    assert knobs() == ("low", 1024), "a model that takes no budget goes by the level"
    assert (knobs(effort="high"), knobs(effort="max")) == (("high", 32768), ("max", 32768))
    assert knobs(effort="xhigh") == ("xhigh", 32768)
    assert knobs(effort="medium") == (None, 0), "no thinking, also where the vendor's default is to think"
    assert knobs(effort="high", thinking_tokens=5000) == ("high", 5000)
    bodied = with_effort(ask(extra={"b": 1}), route("a", effort_map={"medium": "a=x"}))
    assert dict(bodied.extra) == {"b": 1, "a": "x"}
    assert [lower(level) for level in ("max", "xhigh", "high", "low")] == ["xhigh", "high", "medium", "low"]


CENTS = st.integers(0, 400).map(lambda cents: Decimal(cents) / 100)
ORDER = ("proceed", "save", "ask", "stop")
TWO = BudgetLimits.of(Decimal(2))


@given(CENTS, CENTS)
def test_the_more_was_spent_the_stricter_the_verdict_and_past_the_limit_it_is_stop(spent, more):
    before, after = judge(TWO, spent), judge(TWO, spent + more)
    assert ORDER.index(after) >= ORDER.index(before)
    assert (before == "stop") == (spent > TWO.limit_usd)


@given(CENTS, st.lists(st.one_of(st.none(), CENTS), min_size=1, max_size=4))
def test_a_budget_asks_every_route_the_cheapest_first_once_it_saves(spent, costs):
    chain = tuple(route(f"r{number}") for number in range(len(costs)))
    price = dict(zip((r.id for r in chain), costs, strict=True))
    planned = plan(TWO, spent, chain, tuple(costs))
    assert sorted(r.id for r in planned.chain) == sorted(r.id for r in chain)
    if planned.verdict in ("proceed", "stop") or costs[0] is None:
        assert planned.chain == chain
        return
    assert spent >= TWO.soft_usd
    known = [cost for kept in planned.chain if (cost := price[kept.id]) is not None]
    assert known == sorted(known)
    assert [price[kept.id] for kept in planned.chain[: len(known)]] == known
    assert planned.estimate_usd == known[0]


def test_effort_is_saved_one_level_at_a_time():
    assert saved_effort(ask(), route("a")) == "low"
    assert saved_effort(ask(effort="max"), route("a")) == "xhigh"
    assert saved_effort(ask(), route("a", effort="low")) is None


RAW_IDS = st.one_of(st.text(max_size=80), st.from_regex(r"[A-Za-z0-9_-]{1,60}", fullmatch=True))


@given(st.lists(RAW_IDS, unique=True, max_size=20), st.sampled_from([16, 40, 64]))
def test_ids_fit_stay_unique_and_need_no_memory(raw, most):
    limits = IdLimits(max_chars=most)
    made = [wire_id(id, limits) for id in raw]
    assert len(set(made)) == len(raw)
    assert all(0 < len(id) <= most and id.isascii() for id in made)
    assert made == [wire_id(id, limits) for id in raw]
    assert [wire_id(id, limits) for id in made] == made


def test_a_history_that_grows_keeps_its_translated_beginning():
    calls = tuple(
        message
        for number in range(20)
        for message in (
            Message(role="assistant", content=(ToolUseBlock(id=f"f.Read:{number}", name="Read", input={}),)),
            Message(
                role="user",
                content=(ToolResultBlock(tool_use_id=f"f.Read:{number}", content=(TextBlock(text="ok"),)),),
            ),
        )
    )
    history = (system("Be brief."), user("go"), *calls)
    translator = Translator(TargetModel(family="f", model="m"))
    before: tuple[Message, ...] = ()
    for length in range(2, len(history) + 1, 2):
        view = translator.messages(history[:length])
        assert all(one is two for one, two in zip(before, view, strict=False))
        before = view
    assert before == Translator(TargetModel(family="f", model="m")).messages(history)
    assert translator.messages(history[:2]) == history[:2]


def test_a_history_that_was_rewritten_is_translated_anew():
    def history(word: str) -> tuple[Message, ...]:
        call = ToolUseBlock(id=f"f.{word}", name="Read", input={})
        result = ToolResultBlock(tool_use_id=f"f.{word}", content=(TextBlock(text=word),))
        return (
            user(word),
            Message(role="assistant", content=(call,)),
            Message(role="user", content=(result,)),
        )

    translator = Translator(TargetModel(family="f", model="m"))
    for word in ("one", "two"):
        view = translator.messages(history(word))
        anew = Translator(TargetModel(family="f", model="m")).messages(history(word))
        assert without_ids(view) == without_ids(anew)
        assert view[2].tool_results[0].content == (TextBlock(text=word),)


def test_a_history_with_nothing_to_change_is_handed_on_as_it_is():
    history = (user("go"), assistant("gone"))
    assert Translator(TargetModel(family="f", model="m")).messages(history) is history


def test_a_request_is_cut_to_what_the_model_can_write():
    small = Capabilities(max_output_tokens=64)
    request = adapt(ask(), route("a"), small, (user("x"),), is_home=True, is_new=False)
    assert (request.max_tokens, request.model, request.cache) == (64, "a-model", True)


SHOWN = """\
purpose main_loop, needs vision, tool use (basic), 1,200 tokens, effort high
+ able   able/able-model      first choice                       [open for 3 s]  hedged after 1000 ms
+ spare  spare/spare-model    fallback 1                         [no breaker]
- blind  blind/blind-model    its model does not have vision     [closed]
effort high: budget=9000  (able)
effort high: effort=high  (spare)
"""


def test_debug_shows_what_is_kept_and_dropped_and_why():
    config = RouterConfig(
        routes=(
            route("blind", breaker=BreakerLimits()),
            route("able", hedge=Hedge(), effort_map={"high": "budget=9000"}),
            route("spare"),
        )
    )
    required = Requirements(vision=True, tool_use="basic", context_tokens=1200)
    skills = {"blind": Capabilities()}
    explained = explain(
        config,
        "main_loop",
        required,
        capabilities_of=lambda r: skills.get(r.id, ABLE),
        effort="high",
        states={"able": "open for 3 s"},
    )
    text = render(explained)
    assert [" ".join(line.split()) for line in text.splitlines()] == [
        " ".join(line.split()) for line in SHOWN.splitlines()
    ]
    table = render(explained, effort_table=True).splitlines()
    assert [line for line in table if line.endswith("(able)")] == [
        "effort low: effort=low  (able)",
        "effort medium: effort=medium  (able)",
        "effort high: budget=9000  (able)",
        "effort xhigh: budget=9000  (able)",
        "effort max: budget=9000  (able)",
    ]


def test_debug_shows_each_routes_own_effort_and_a_race_only_where_there_is_one():
    config = RouterConfig(
        routes=(
            route("one", effort="high", hedge=Hedge()),
            route("two", effort="low", hedge=Hedge()),
            route("alone", purpose="summarization", hedge=Hedge()),
        )
    )
    text = render(explain(config, "main_loop", Requirements(), capabilities_of=lambda _: ABLE))
    assert [line for line in text.splitlines() if line.startswith("effort")] == [
        "effort high: effort=high  (one)",
        "effort low: effort=low  (two)",
    ]
    assert text.count("hedged") == 1
    assert "hedged" not in render(
        explain(config, "summarization", Requirements(), capabilities_of=lambda _: ABLE)
    )


def test_debug_says_so_when_nothing_can_answer():
    config = RouterConfig(routes=(route("blind"),))
    text = render(
        explain(config, "other", Requirements(vision=True), capabilities_of=lambda _: Capabilities())
    )
    assert text.splitlines()[0] == "purpose other, needs vision, effort medium"
    assert text.endswith("no route can answer such a request\n")
