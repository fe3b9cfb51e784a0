"""What users of such tools have reported about costs and budgets, by the name of the report."""

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
from caliban_telemetry.format import cost_report, total
from caliban_telemetry.meter import merged
from caliban_telemetry.rates import parse_card

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 27, tzinfo=UTC)
MODEL = "claude-sonnet-4-6"


def account(limit: str | None = None, book: PriceBook | None = None) -> Account:
    budget = Budget(limit_usd=Decimal(limit) if limit else None)
    return Account(book or PriceBook(), budget, clock=lambda: NOW)


def call(model: str = MODEL, *, provider: str = "anthropic", agent: str = "") -> dict[str, Any]:
    return {"provider": provider, "model": model, "prompt_tokens": 9_000, "max_tokens": 8_192, "agent": agent}


async def test_b170_usage_told_twice_in_a_stream_is_billed_once_by_the_formula() -> None:
    # The stream's last word is 27 fresh, 100 read, 10 written and 47 out; ours counts all of the prompt.
    money = account()
    number = await money.before_call(**call())
    assert isinstance(number, int)
    used = Usage(input_tokens=137, output_tokens=47, cache_read_tokens=100, cache_write_tokens=10)
    money.after_call(number, used)
    by_hand = (27 * Decimal(3) + 100 * Decimal("0.30") + 10 * Decimal("3.75") + 47 * Decimal(15)) / 1_000_000
    assert (money.meter.usage, money.meter.total_usd) == (used, by_hand)


async def test_b173_a_budget_spent_by_a_sub_agent_stops_both_without_a_hang() -> None:
    money = account("0.01")
    with anyio.fail_after(HANG_S):
        parent = await money.before_call(**call())  # its ceiling is far above the limit; it may be made
        assert isinstance(parent, int)
        money.after_call(parent, Usage(input_tokens=500, output_tokens=20))
        child = await money.before_call(**call(agent="Task"))
        assert isinstance(child, int)
        money.after_call(child, Usage(input_tokens=1_000, output_tokens=1_200))
        stops = [await money.before_call(**call(agent=agent)) for agent in ("Task", "")]
    assert [stop.kind for stop in stops if isinstance(stop, Stop)] == ["budget", "budget"]


async def test_b174_an_unknown_price_is_unknown_and_said_to_escape_the_budget() -> None:
    money = account("0.01")
    number = await money.before_call(**call("local/foo", provider="openai"))
    assert isinstance(number, int)
    warned = money.after_call(number, Usage(input_tokens=10**6, output_tokens=10**6))
    assert warned is not None
    assert warned.message == (
        'no price is known for the model "local/foo" of openai: what it costs is unknown and counts as $0; '
        "the budget of $0.0100 cannot be kept for it, limits on turns and tokens still hold"
    )
    assert total(money.meter) == "unknown"
    assert isinstance(await money.before_call(**call("local/foo", provider="openai")), int)


async def test_b174_a_price_in_settings_makes_the_budget_hold() -> None:
    rates = {
        "version": 1,
        "providers": {
            "openai": [
                {
                    "model_glob": "local/*",
                    "effective_from": "2026-01-01",
                    "input_per_mtok": 1,
                    "output_per_mtok": 2,
                }
            ]
        },
    }
    money = account("0.01", PriceBook(card=parse_card(rates, source="settings: budget.rates")))
    number = await money.before_call(**call("local/foo", provider="openai"))
    assert isinstance(number, int)
    assert money.after_call(number, Usage(input_tokens=10_000, output_tokens=5_000)) is None
    assert total(money.meter) == "$0.0200"
    assert isinstance(await money.before_call(**call("local/foo", provider="openai")), Stop)


@pytest.mark.parametrize("model", [MODEL, f"anthropic/{MODEL}", f"{MODEL}-20260217", f"{MODEL}@20260217"])
async def test_b174_prefixes_and_dates_in_a_models_name_find_the_price(model: str) -> None:
    assert PriceBook().rate("anthropic", model, NOW) == PriceBook().rate("anthropic", MODEL, NOW) is not None


async def test_b174_usage_missing_in_the_stream_is_estimated() -> None:
    money = account("0.01")
    number = await money.before_call(**call())
    assert isinstance(number, int)
    money.after_call(number, Usage(), seen_output_tokens=400)
    assert money.meter.rows[0].estimated_calls == 1
    assert isinstance(await money.before_call(**call()), Stop)


async def test_b175_resumed_sub_agents_share_one_limit_and_show_their_share() -> None:
    money = account("1.00")
    rounds = 0
    for resumed in range(1, 9):
        number = await money.before_call(**call(agent="Explore"))
        if isinstance(number, Stop):
            break
        money.after_call(number, Usage(input_tokens=30_000 * resumed, output_tokens=500))
        rounds += 1
    assert rounds == 5  # 30k, 60k … 150k tokens at $3: the fifth passes $1, a sixth is not made
    assert isinstance(await money.before_call(**call()), Stop)
    main = Account(PriceBook(), clock=lambda: NOW)
    own = await main.before_call(**call())
    assert isinstance(own, int)
    main.after_call(own, Usage(input_tokens=1_000, output_tokens=10))
    assert cost_report(merged((money.meter, main.meter))) == (
        "total $1.39\n"
        "  [Explore] anthropic/claude-sonnet-4-6: $1.39 (450,000 in, 2,500 out)\n"
        "  [main] anthropic/claude-sonnet-4-6: $0.0032 (1,000 in, 10 out)"
    )
