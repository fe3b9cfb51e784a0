"""The budget: never passed by more than one call, and never in the way before that."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_telemetry.budget import Budget

LIMIT = Decimal("1.00")


def spent(amount: str, **more: object) -> Budget:
    return Budget(limit_usd=LIMIT, spent_usd=Decimal(amount), **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("amount", "verdict"),
    [("0", "go"), ("0.80", "go"), ("0.81", "soft"), ("1.00", "soft"), ("1.000001", "stop")],
)
def test_the_limit_is_compared_strictly(amount: str, verdict: str) -> None:
    assert spent(amount).verdict() == verdict
    assert spent(amount).admit(Decimal(0)) == ("stop" if verdict == "stop" else "go")


def test_without_a_limit_everything_goes() -> None:
    budget = Budget(spent_usd=Decimal(10**9), unpriced="refuse").reserve(1, Decimal(5))
    assert (budget.verdict(), budget.admit(Decimal(9)), budget.admit(None)) == ("go", "go", "go")


def test_a_lone_call_is_not_stopped_by_what_it_might_cost() -> None:
    assert spent("0.99").admit(Decimal(500)) == "go"


def test_calls_at_the_same_time_start_while_all_fit_and_wait_beyond() -> None:
    one = spent("0.50").reserve(1, Decimal("0.30"))
    assert [one.admit(Decimal(usd)) for usd in ("0.20", "0.21")] == ["go", "wait"]
    two = one.reserve(2, Decimal("0.20"))
    assert (two.reserved_usd, two.admit(Decimal("0.01"))) == (Decimal("0.50"), "wait")
    assert two.settle(1, Decimal("0.05")).admit(Decimal("0.25")) == "go"
    assert two.settle(1, Decimal("0.60")).admit(Decimal("0.01")) == "stop"


def test_reservations_do_not_make_a_budget_soft() -> None:
    assert spent("0").reserve(1, Decimal(100)).verdict() == "go"


def test_a_limit_of_nothing_lets_one_call_show_what_it_costs() -> None:
    budget = Budget(limit_usd=Decimal(0))
    assert budget.admit(Decimal(1)) == "go"
    assert budget.reserve(1, Decimal(1)).settle(1, Decimal("0.01")).admit(Decimal(0)) == "stop"


def test_a_model_without_a_price_counts_nothing_or_is_refused() -> None:
    assert (spent("0").admit(None), spent("0", unpriced="refuse").admit(None)) == ("go", "refuse")


def test_settling_replaces_the_reservation_by_what_was_paid() -> None:
    budget = spent("0").reserve(1, Decimal("0.4")).reserve(2, None).settle(1, Decimal("0.1"))
    assert budget == spent("0.1", holds=((2, Decimal(0)),))


@pytest.mark.parametrize("limit", ["-0.01", "NaN", "Infinity", "sNaN"])
def test_a_limit_that_is_none_is_a_programmers_error(limit: str) -> None:
    with pytest.raises(ValueError, match="a limit of"):
        Budget(limit_usd=Decimal(limit))


@pytest.mark.parametrize("ratio", ["-0.1", "1.1", "NaN"])
def test_a_soft_ratio_lies_between_nothing_and_all(ratio: str) -> None:
    with pytest.raises(ValueError, match="a soft ratio of"):
        Budget(limit_usd=LIMIT, soft_ratio=Decimal(ratio))


cents = st.decimals(min_value=0, max_value=3, places=3)


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[Decimal, Decimal, int]]:
    """Calls as (ceiling, cost ≤ ceiling, which open call to settle first, or none when negative)."""
    rows = []
    for _ in range(draw(st.integers(1, 40))):
        ceiling = draw(cents)
        share = draw(st.sampled_from([Decimal(0), Decimal("0.1"), Decimal("0.5"), Decimal(1)]))
        rows.append((ceiling, ceiling * share, draw(st.integers(-1, 4))))
    return rows


@given(cents, steps())
def test_any_number_of_agents_pass_the_limit_by_less_than_one_call(
    limit: Decimal, plan: list[tuple[Decimal, Decimal, int]]
) -> None:
    budget = Budget(limit_usd=limit)
    under_way: dict[int, Decimal] = {}
    dearest = Decimal(0)

    def settle(which: int) -> None:
        nonlocal budget
        number = list(under_way)[which]
        budget = budget.settle(number, under_way.pop(number))

    for number, (ceiling, cost, which) in enumerate(plan):
        if 0 <= which < len(under_way):
            settle(which)
        while (answer := budget.admit(ceiling)) == "wait":
            assert under_way  # who waits, waits for somebody
            settle(0)
        if answer == "stop":
            assert budget.spent_usd > limit
            continue
        budget = budget.reserve(number, ceiling)
        under_way[number] = cost
        dearest = max(dearest, cost)
    while under_way:
        settle(0)
    assert budget.holds == ()
    assert budget.spent_usd <= limit + dearest


@given(cents, st.lists(cents, max_size=20))
def test_one_agent_is_stopped_only_when_more_than_the_limit_is_spent(
    limit: Decimal, costs: list[Decimal]
) -> None:
    budget = Budget(limit_usd=limit)
    made = 0
    for number, cost in enumerate(costs):
        if budget.admit(Decimal(10**6)) != "go":
            break
        budget = budget.reserve(number, Decimal(10**6)).settle(number, cost)
        made += 1
    assert made == len(costs) or sum(costs[:made]) > limit
    assert sum(costs[: max(0, made - 1)]) <= limit
