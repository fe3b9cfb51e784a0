"""What a call costs at a rate."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from caliban_common.usage import Usage
from caliban_telemetry.rate import Cost, Rate, Tier

SONNET = Rate(input=Decimal(3), output=Decimal(15), cache_read=Decimal("0.3"), cache_write=Decimal("3.75"))
LONG = Rate(
    input=Decimal(3),
    output=Decimal(15),
    cache_read=Decimal("0.3"),
    cache_write=Decimal("3.75"),
    tiers=(
        Tier(above_tokens=400_000, input=Decimal(9), output=Decimal(30)),
        Tier(
            above_tokens=200_000,
            input=Decimal(6),
            output=Decimal("22.5"),
            cache_read=Decimal("0.6"),
            cache_write=Decimal("7.5"),
        ),
    ),
)

prices = st.decimals(min_value=0, max_value=1000, places=4, allow_nan=False)
maybe_prices = st.none() | prices
tokens = st.integers(min_value=0, max_value=5_000_000)


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    read, write, fresh, output = (draw(tokens) for _ in range(4))
    return Usage(
        input_tokens=read + write + fresh,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=write,
    )


flat_rates = st.builds(Rate, input=prices, output=prices, cache_read=maybe_prices, cache_write=maybe_prices)


def test_fresh_read_written_and_output_tokens_have_their_own_prices() -> None:
    usage = Usage(input_tokens=1_000, output_tokens=50, cache_read_tokens=600, cache_write_tokens=100)
    assert SONNET.cost(usage) == Cost(
        input_usd=Decimal("0.001455"),  # 300 at 3, 600 at 0.30, 100 at 3.75
        output_usd=Decimal("0.00075"),
        saved_usd=Decimal("0.001545"),  # 600 * 2.70 - 100 * 0.75
    )


def test_cached_tokens_without_a_price_cost_what_input_does() -> None:
    usage = Usage(input_tokens=1_000, cache_read_tokens=600, cache_write_tokens=100)
    plain = Rate(input=Decimal(3), output=Decimal(15))
    assert plain.cost(usage) == Cost(input_usd=Decimal("0.003"))


def test_a_prompt_above_a_tier_is_billed_whole_at_the_tier() -> None:
    def total(prompt: int) -> Decimal:
        return LONG.cost(Usage(input_tokens=prompt, output_tokens=1_000)).total_usd

    assert total(200_000) == Decimal("0.615")
    assert total(200_001) == Decimal("1.200006") + Decimal("0.0225")
    assert total(400_001) == Decimal("3.600009") + Decimal("0.03")


def test_cache_prices_of_a_tier_are_those_of_the_tier() -> None:
    usage = Usage(input_tokens=300_000, cache_read_tokens=200_000, cache_write_tokens=100_000)
    assert LONG.cost(usage).input_usd == Decimal("0.87")
    usage = Usage(input_tokens=500_000, cache_read_tokens=500_000)
    assert LONG.cost(usage).input_usd == Decimal("4.5")


def test_a_fee_per_call_is_paid_once() -> None:
    rate = Rate(input=Decimal(1), output=Decimal(1), per_call=Decimal("0.005"))
    assert rate.cost(Usage(input_tokens=1_000)).total_usd == Decimal("0.006")


def test_more_cached_than_prompt_tokens_never_make_a_cost_negative() -> None:
    cost = SONNET.cost(Usage(input_tokens=10, cache_read_tokens=100))
    assert cost.input_usd == Decimal("0.00003")


@given(flat_rates, usages(), st.integers(min_value=0, max_value=50))
def test_cost_is_linear_in_the_usage(rate: Rate, usage: Usage, times: int) -> None:
    total = sum((usage for _ in range(times)), Usage())
    assert rate.cost(total).total_usd == times * rate.cost(usage).total_usd


@given(flat_rates, usages(), usages())
def test_costs_of_calls_add_up(rate: Rate, one: Usage, other: Usage) -> None:
    both = rate.cost(one + other)
    assert both.total_usd == rate.cost(one).total_usd + rate.cost(other).total_usd
    assert both.saved_usd == rate.cost(one).saved_usd + rate.cost(other).saved_usd


@given(usages(), st.sampled_from([SONNET, LONG]))
def test_no_call_costs_more_than_its_ceiling(usage: Usage, rate: Rate) -> None:
    ceiling = rate.ceiling_usd(prompt_tokens=usage.input_tokens, max_tokens=usage.output_tokens)
    assert rate.cost(usage).total_usd <= ceiling


@given(flat_rates, usages())
def test_the_saving_is_the_difference_to_a_call_without_cache(rate: Rate, usage: Usage) -> None:
    plain = Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    cost = rate.cost(usage)
    assert cost.total_usd + cost.saved_usd == rate.cost(plain).total_usd
