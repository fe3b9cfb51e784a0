"""Routing with an eye on the money, as a pure policy: save, then ask, then stop.

0 ────────── soft ──────────────── ask ──────────── limit
   as asked  │ cheaper route,      │ a person says  │ no call that could
             │ else less effort    │ yes or no      │ go beyond
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from caliban_common.usage import Usage
from caliban_model_router.effort import level_of, lower
from caliban_model_router.route import Route
from caliban_provider.request import CompletionRequest, Effort

Price: TypeAlias = Callable[[Route, Usage], Decimal | None]
"""What a usage costs on a route, in USD; `None` where no price is known."""

Verdict: TypeAlias = Literal["proceed", "save", "ask", "stop"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetQuestion:
    """Whether a call of `route` may be made that can cost `estimate_usd` on top of `spent_usd`."""

    route: Route
    spent_usd: Decimal
    estimate_usd: Decimal
    limit_usd: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Limits, and where the router gets what it judges by.

    `spent_usd` gives what was spent so far. `reserve_tokens` is the length of reply that is reckoned with;
    `None` is all that the request allows. Without `ask`, or where it answers no, the router stops where it
    would have asked; a yes holds for that one call.
    """

    limits: BudgetLimits
    spent_usd: Callable[[], Decimal]
    price: Price
    reserve_tokens: int | None = None
    ask: Callable[[BudgetQuestion], Awaitable[bool]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a budget leaves of a request: the chain to try, and `effort` where it had to be lowered.

    `estimate_usd` is what the first route of the chain may cost at most.
    """

    verdict: Verdict
    chain: tuple[Route, ...]
    estimate_usd: Decimal
    effort: Effort | None = None


def judge(limits: BudgetLimits, spent_usd: Decimal, estimate_usd: Decimal) -> Verdict:
    """What to do about a call that may cost `estimate_usd` after `spent_usd` were spent.

    Saving and asking look at what was spent; stopping also at what the call may add, so that the limit is
    not found to be broken afterwards.
    """
    if spent_usd >= limits.limit_usd or spent_usd + estimate_usd > limits.limit_usd:
        return "stop"
    if spent_usd >= limits.ask_usd:
        return "ask"
    return "save" if spent_usd >= limits.soft_usd else "proceed"


def plan(
    limits: BudgetLimits, spent_usd: Decimal, chain: tuple[Route, ...], estimates: tuple[Decimal | None, ...]
) -> Plan:
    """The routes of `chain` that may still be paid, the cheapest first once it is time to save.

    `estimates` are what the routes may cost for this request; an unknown price counts as nothing, and never
    as cheaper. The order of equals is kept. The verdict is that on the first route left.
    """
    priced = list(zip(chain, estimates, strict=True))
    payable = [
        (route, cost) for route, cost in priced if judge(limits, spent_usd, cost or Decimal()) != "stop"
    ]
    if not payable:
        return Plan(verdict="stop", chain=(), estimate_usd=min(cost or Decimal() for cost in estimates))
    first, cost = payable[0]
    if judge(limits, spent_usd, Decimal()) == "proceed":
        verdict: Verdict = "proceed" if first is chain[0] else "save"
        return Plan(verdict=verdict, chain=_routes(payable), estimate_usd=cost or Decimal())
    if cost is not None:
        known = sorted((row for row in payable if row[1] is not None), key=lambda row: row[1] or Decimal())
        payable = [*known, *(row for row in payable if row[1] is None)]
    cost = payable[0][1] or Decimal()
    return Plan(verdict=judge(limits, spent_usd, cost), chain=_routes(payable), estimate_usd=cost)


def saved_effort(request: CompletionRequest, route: Route) -> Effort | None:
    """The level to ask `route` for where no route is cheaper; `None` where it is the lowest already."""
    level = level_of(request.effort, route)
    return lower(level) if lower(level) != level else None


def estimated(price: Price, route: Route, *, prompt_tokens: int, max_tokens: int) -> Decimal | None:
    """What a call of `route` may cost at most."""
    return price(route, Usage(input_tokens=prompt_tokens, output_tokens=max_tokens))


def _routes(rows: list[tuple[Route, Decimal | None]]) -> tuple[Route, ...]:
    return tuple(route for route, _ in rows)
