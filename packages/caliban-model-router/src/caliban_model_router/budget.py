"""Routing with an eye on the money, as a pure policy: save, then ask, then stop.

0 ────────── soft ──────────────── ask ──────────── limit
   as asked  │ cheaper route,      │ a person says  │ no further
             │ else less effort    │ yes or no      │ call

Only what is spent moves the verdict, as in `caliban_telemetry.budget`: what a call may cost at most is far
from what it does cost, and would turn away from a good model long before the money is short.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.usage import Usage
from caliban_model_router.effort import level_of, lower
from caliban_model_router.route import Route
from caliban_provider.request import CompletionRequest, Effort

Price: TypeAlias = Callable[[Route, Usage], Decimal | None]
"""What a usage costs on a route, in USD; `None` where no price is known."""

BudgetVerdict: TypeAlias = Literal["proceed", "save", "ask", "stop"]


class BudgetLimits(Struct, frozen=True, kw_only=True):
    """From how much money on to save, to ask, and to stop: `soft_usd` ≤ `ask_usd` ≤ `limit_usd`."""

    limit_usd: Decimal
    soft_usd: Decimal
    ask_usd: Decimal

    @classmethod
    def of(cls, limit_usd: Decimal) -> BudgetLimits:
        """The usual shares: save from 80 % on, ask from 95 % on."""
        return cls(
            limit_usd=limit_usd, soft_usd=limit_usd * Decimal("0.8"), ask_usd=limit_usd * Decimal("0.95")
        )


class BudgetQuestion(Struct, frozen=True, kw_only=True):
    """Whether a call of `route` may be made that can cost `estimate_usd` on top of `spent_usd`."""

    route: Route
    spent_usd: Decimal
    estimate_usd: Decimal
    limit_usd: Decimal


class RouterBudget(Struct, frozen=True, kw_only=True):
    """Limits, and where the router gets what it judges by.

    `spent_usd` gives what was spent so far. `reserve_tokens` is the length of reply that routes are compared
    by; `None` is all that the request allows. `ask` is asked between the two upper limits, and a yes holds
    for that one call; without it nobody is asked, and saving goes on up to the limit.
    """

    limits: BudgetLimits
    spent_usd: Callable[[], Decimal]
    price: Price
    reserve_tokens: int | None = None
    ask: Callable[[BudgetQuestion], Awaitable[bool]] | None = None


class BudgetPlan(Struct, frozen=True, kw_only=True):
    """What a budget says to a request: the chain to try, and what its first route may cost at most."""

    verdict: BudgetVerdict
    chain: tuple[Route, ...]
    estimate_usd: Decimal


def judge(limits: BudgetLimits, spent_usd: Decimal) -> BudgetVerdict:
    """What to do about the next call after `spent_usd` were spent."""
    if spent_usd > limits.limit_usd:
        return "stop"
    if spent_usd >= limits.ask_usd:
        return "ask"
    return "save" if spent_usd >= limits.soft_usd else "proceed"


def plan(
    limits: BudgetLimits, spent_usd: Decimal, chain: tuple[Route, ...], estimates: tuple[Decimal | None, ...]
) -> BudgetPlan:
    """The verdict, and the routes of `chain` in the order to ask them: cheapest first once it saves.

    `estimates` are what the routes may cost for this request. Where the first route's price is not known,
    nothing is cheaper than it; another unknown price comes last. The order of equals is kept.
    """
    verdict = judge(limits, spent_usd)
    rows = list(zip(chain, estimates, strict=True))
    if verdict in ("save", "ask") and rows[0][1] is not None:
        rows.sort(key=lambda row: (row[1] is None, row[1] or Decimal()))
    return BudgetPlan(
        verdict=verdict, chain=tuple(route for route, _ in rows), estimate_usd=rows[0][1] or Decimal()
    )


def saved_effort(request: CompletionRequest, route: Route) -> Effort | None:
    """The level to ask `route` for where no route is cheaper; `None` where it is the lowest already."""
    level = level_of(request.effort, route)
    return lower(level) if lower(level) != level else None


def estimated(price: Price, route: Route, *, prompt_tokens: int, max_tokens: int) -> Decimal | None:
    """What a call of `route` may cost at most."""
    return price(route, Usage(input_tokens=prompt_tokens, output_tokens=max_tokens))
