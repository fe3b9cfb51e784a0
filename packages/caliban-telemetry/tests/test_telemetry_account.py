"""The account that all agents of a session share."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S

from caliban_common.stop import Stop
from caliban_common.usage import Usage
from caliban_telemetry.account import Account
from caliban_telemetry.book import PriceBook
from caliban_telemetry.budget import Budget
from caliban_telemetry.ledger import UnlimitedLedger
from caliban_telemetry.meter import CostMeter
from caliban_telemetry.rate import Rate

pytestmark = pytest.mark.anyio


def listed(provider: str, model: str, at: datetime) -> Rate | None:
    """A dollar per thousand tokens of anything; nobody knows the price of foo."""
    return Rate(input=Decimal(1000), output=Decimal(1000)) if model != "foo" else None


def account(limit: str | None = None, **more: object) -> Account:
    budget = Budget(limit_usd=Decimal(limit) if limit else None, **more)  # type: ignore[arg-type]
    return Account(PriceBook(listed=listed), budget, clock=lambda: datetime(2026, 11, 27, tzinfo=UTC))


def call(max_tokens: int = 100, *, prompt: int = 0, model: str = "m", agent: str = "") -> dict[str, Any]:
    return {
        "provider": "p",
        "model": model,
        "prompt_tokens": prompt,
        "max_tokens": max_tokens,
        "agent": agent,
    }


def used(output: int) -> Usage:
    return Usage(output_tokens=output)


async def begin(account: Account, planned: dict[str, Any]) -> int:
    number = await account.before_call(**planned)
    assert isinstance(number, int)
    return number


async def test_a_call_is_held_then_paid_for() -> None:
    money = account("1")
    number = await begin(money, call(500, prompt=100))
    assert money.budget.reserved_usd == Decimal("0.65")  # the prompt with its margin, and a full reply
    money.after_call(number, Usage(input_tokens=100, output_tokens=50))
    assert (money.budget.reserved_usd, money.budget.spent_usd) == (Decimal(0), Decimal("0.15"))
    assert money.meter.total_usd == Decimal("0.15")


async def test_a_call_that_failed_before_it_was_billed_leaves_no_trace() -> None:
    money = account("1")
    money.after_call(await begin(money, call()), Usage())
    assert (money.meter, money.budget) == (CostMeter(), Budget(limit_usd=Decimal(1)))


async def test_settling_twice_pays_once() -> None:
    money = account("1")
    number = await begin(money, call())
    money.after_call(number, used(10))
    money.after_call(number, used(10))
    assert money.meter.total_usd == Decimal("0.01")


async def test_a_reply_whose_usage_was_not_told_is_estimated_and_marked() -> None:
    money = account()
    money.after_call(await begin(money, call(prompt=200)), Usage(), seen_output_tokens=30)
    money.after_call(
        await begin(money, call(prompt=999)),
        Usage(input_tokens=220, output_tokens=1, cache_read_tokens=100),
        seen_output_tokens=40,
    )
    row = money.meter.rows[0]
    assert (row.calls, row.estimated_calls) == (2, 2)
    assert row.usage == Usage(input_tokens=420, output_tokens=70, cache_read_tokens=100, estimated=True)


async def test_a_model_without_a_price_is_warned_about_once() -> None:
    money = account()
    warnings = [money.after_call(await begin(money, call(model="foo")), used(5)) for _ in range(3)]
    assert warnings[0] is not None
    assert warnings[1:] == [None, None]
    assert warnings[0].subtype == "unpriced_model"
    assert warnings[0].details == {"provider": "p", "model": "foo"}
    assert warnings[0].message == (
        'no price is known for the model "foo" of p: what it costs is unknown and counts as $0'
    )


async def test_under_a_strict_budget_a_model_without_a_price_is_refused() -> None:
    money = account("1", unpriced="refuse")
    stop = await money.before_call(**call(model="foo"))
    assert isinstance(stop, Stop)
    assert (stop.kind, stop.message) == (
        "budget",
        'no price is known for the model "foo" of p, and models without a price are refused under a budget',
    )
    assert isinstance(await account(unpriced="refuse").before_call(**call(model="foo")), int)


async def test_a_call_that_may_not_fit_waits_for_another_to_end() -> None:
    money = account("1")
    first = await begin(money, call(900))
    order: list[str] = []
    arrived = anyio.Event()

    async def second() -> None:
        arrived.set()
        number = await begin(money, call(200))
        order.append("second")
        money.after_call(number, used(1))

    async with anyio.create_task_group() as group:
        group.start_soon(second)
        await arrived.wait()
        await anyio.lowlevel.checkpoint()
        order.append("first ends")
        money.after_call(first, used(300))
    assert order == ["first ends", "second"]
    assert money.budget.spent_usd == Decimal("0.301")


async def test_who_waits_is_served_in_order_and_stopped_when_nothing_is_left() -> None:
    money = account("1")
    first = await begin(money, call(2000))
    outcomes: list[tuple[int, bool]] = []

    async def late(number: int) -> None:
        answer = await money.before_call(**call(100))
        outcomes.append((number, isinstance(answer, Stop)))

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(late, number)
            await anyio.wait_all_tasks_blocked()
        money.after_call(first, used(2000))
    assert outcomes == [(0, True), (1, True), (2, True)]


async def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    money = account("1")
    first = await begin(money, call(900))
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: money.before_call(**call(200)))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert [number for number, _ in money.budget.holds] == [first]
    money.after_call(first, used(10))
    assert isinstance(await money.before_call(**call(200)), int)


async def test_many_agents_at_once_pass_the_limit_by_less_than_one_call() -> None:
    money = account("1")
    made: list[int] = []

    async def agent(number: int) -> None:
        while True:
            answer = await money.before_call(**call(120, agent=str(number)))
            if isinstance(answer, Stop):
                return
            await anyio.lowlevel.checkpoint()
            money.after_call(answer, used(110))
            made.append(number)

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as group:
            for number in range(8):
                group.start_soon(agent, number)
    assert Decimal(1) < money.budget.spent_usd <= Decimal("1.11")
    assert len(set(made)) > 1


async def test_the_account_says_when_to_go_on_more_cheaply() -> None:
    money = account("1")
    money.after_call(await begin(money, call()), used(850))
    assert money.verdict() == "soft"


@pytest.mark.parametrize(
    ("told", "seen", "counted"),
    [
        (Usage(), 30, (200, 30)),
        (Usage(input_tokens=150), 30, (150, 30)),
        (Usage(output_tokens=40), 0, (200, 40)),
    ],
)
async def test_what_a_provider_leaves_out_is_estimated_and_paid_for(told, seen, counted) -> None:
    money = account("1")
    money.after_call(await begin(money, call(prompt=200)), told, seen_output_tokens=seen)
    (row,) = money.meter.rows
    assert (row.usage.input_tokens, row.usage.output_tokens) == counted
    assert (row.usage.estimated, row.estimated_calls) == (True, 1)
    assert money.meter.total_usd == Decimal(sum(counted)) / 1000


async def test_without_a_limit_the_account_is_made_when_the_first_call_has_ended() -> None:
    made: list[Account] = []

    def make() -> Account:
        made.append(account())
        return made[-1]

    ledger = UnlimitedLedger(make)
    first, second = [await ledger.before_call(**call()) for _ in range(2)]
    assert (ledger.account, made) == (None, [])
    assert isinstance(first, int) and isinstance(second, int)
    for number in (second, first, first):
        assert ledger.after_call(number, Usage(input_tokens=10, output_tokens=10)) is None
    total = Usage(input_tokens=20, output_tokens=20)
    assert [(row.calls, row.usage) for row in made[0].meter.rows] == [(2, total)]
    assert made[0].budget.spent_usd == made[0].meter.total_usd > 0
    assert (len(made), ledger.account) == (1, made[0])


async def test_where_nobody_is_told_nothing_is_priced() -> None:
    ledger = UnlimitedLedger(account, is_told=False)
    number = await ledger.before_call(**call())
    assert isinstance(number, int)
    assert ledger.after_call(number, Usage(input_tokens=10, output_tokens=10)) is None
    assert ledger.account is None


async def test_a_book_is_made_with_the_first_price_that_is_asked_for() -> None:
    asked: list[str] = []

    def book() -> PriceBook:
        asked.append("book")
        return PriceBook(listed=listed)

    money = Account(book, Budget(limit_usd=Decimal(1)), clock=lambda: datetime(2026, 11, 27, tzinfo=UTC))
    assert asked == []
    for _ in range(2):
        money.after_call(await begin(money, call()), Usage(input_tokens=1, output_tokens=1))
    assert asked == ["book"]
