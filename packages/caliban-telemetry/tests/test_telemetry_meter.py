"""Meters are values that are added up."""

from __future__ import annotations

import random
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from caliban_common.usage import Usage
from caliban_telemetry.frames import by_model, dollars
from caliban_telemetry.meter import CostMeter, MeterRow, merged
from caliban_telemetry.rate import Cost, Rate

RATE = Rate(input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.3"), cache_write=Decimal("3.75"))


usages = st.builds(Usage, **{name: st.integers(0, 10**7) for name in ("input_tokens", "output_tokens")})
costs = st.none() | st.builds(
    Cost,
    input_usd=st.decimals(0, 1000, places=12),
    output_usd=st.decimals(0, 1000, places=12),
    saved_usd=st.decimals(-1000, 1000, places=12),
)
calls = st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), usages, costs, st.sampled_from(["", "kid"]))


@st.composite
def meters(draw: st.DrawFn) -> CostMeter:
    meter = CostMeter()
    for provider, model, usage, cost, agent in draw(st.lists(calls, max_size=5)):
        meter = meter.record(provider, model, usage, cost, agent=agent)
    return meter


@given(meters(), meters(), meters())
def test_merging_is_associative_and_has_a_neutral_element(a: CostMeter, b: CostMeter, c: CostMeter) -> None:
    assert merged((merged((a, b)), c)) == merged((a, merged((b, c))))
    assert merged((a, CostMeter())) == a == merged((CostMeter(), a))


@given(st.lists(meters(), max_size=5), st.randoms(use_true_random=False))
def test_merging_is_free_of_order(parts: list[CostMeter], rand: random.Random) -> None:
    shuffled = parts.copy()
    rand.shuffle(shuffled)
    whole = merged(parts)
    assert merged(shuffled) == whole
    assert whole.total_usd == sum((part.total_usd for part in parts), Decimal(0))
    assert whole.usage == sum((part.usage for part in parts), Usage())


def test_a_call_without_a_price_is_counted_and_named_once() -> None:
    used = Usage(input_tokens=10, output_tokens=1)
    meter = CostMeter()
    for model, cost in (("foo", None), ("foo", None), ("bar", Cost(input_usd=Decimal(2)))):
        meter = meter.record("openai", model, used, cost)
    assert meter.total_usd == 2
    assert meter.unknown == (("openai", "foo"),)
    assert meter.rows == (
        MeterRow(provider="openai", model="bar", usage=used, cost_usd=Decimal(2), calls=1),
        MeterRow(provider="openai", model="foo", usage=used + used, calls=2, unpriced_calls=2),
    )


def test_tokens_and_dollars_per_model_are_plain_data_for_a_frame() -> None:
    used = Usage(
        input_tokens=137,
        output_tokens=47,
        cache_read_tokens=100,
        cache_write_tokens=10,
        thinking_tokens=5,
    )
    meter = (
        CostMeter()
        .record("anthropic", "claude", used, RATE.cost(used))
        .record("anthropic", "claude", used, RATE.cost(used), agent="kid")
        .record("a", "foo", used, None)
        .record("b", "foo", used, Cost())
    )
    paid, free = 0.001707, 0.0
    assert by_model(meter) == (("claude", used + used, paid), ("foo", used + used, free))
    assert by_model(CostMeter().record("a", "foo", used, None)) == (("foo", used, None),)
    assert by_model(CostMeter()) == ()


def test_dollars_are_numbers_without_dust() -> None:
    assert [dollars(Decimal(text)) for text in ("0.1", "0.00340000000001", "0")] == [0.1, 0.0034, 0.0]
