"""The account of one session under a limit: every model call of every agent asks before and tells after."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count

import anyio
from msgspec.structs import replace

from caliban_common.event import Warned
from caliban_common.remedy import Remedy
from caliban_common.stop import Stop
from caliban_common.usage import Usage
from caliban_telemetry.book import PriceBook
from caliban_telemetry.budget import Budget, Verdict
from caliban_telemetry.ledger import ModelCall
from caliban_telemetry.meter import CostMeter
from caliban_telemetry.rate import ZERO

PROMPT_MARGIN = Decimal("1.5")
"""How far an estimate of a prompt's tokens may be below the truth; code is denser than prose."""


class Account:
    """One session's money, shared by its main agent, its sub-agents, its compaction and its hedges.

    Used by one event loop. No call is under way while its tools run, so agents cannot wait for each other.
    `agent` is empty for the main one. `prompt_tokens` is an estimate. A `book` that is a function is made
    with the first price that is asked for: who is charged where is often known later than the limit.
    """

    def __init__(
        self,
        book: PriceBook | Callable[[], PriceBook],
        budget: Budget | None = None,
        *,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        self._book = book
        self.budget: Budget = budget or Budget()
        self.meter: CostMeter = CostMeter()
        self._clock = clock or _now
        self._numbers = count(1)
        self._under_way: dict[int, ModelCall] = {}
        self._turnstile = anyio.Lock()
        self._settled = anyio.Event()

    def verdict(self) -> Verdict:
        """Go on, go on more cheaply, or stop: for routing, and for work that would make calls."""
        return self.budget.verdict()

    async def before_call(
        self, *, provider: str, model: str, prompt_tokens: int, max_tokens: int, agent: str = ""
    ) -> int | Stop:
        """Leave to make a call, as the number to settle it by, or why it must not be made.

        Waits, first come first served, while calls under way may use up what is left. Cancelling the wait
        leaves nothing behind. A number must be given to `after_call`, however the call ends.
        """
        call = ModelCall(
            provider=provider, model=model, prompt_tokens=prompt_tokens, max_tokens=max_tokens, agent=agent
        )
        if self.budget.limit_usd is None:
            return self._begin(call, None)
        async with self._turnstile:
            while (answer := self._try(call)) is None:
                self._settled = anyio.Event()
                await self._settled.wait()
            return answer

    def after_call(self, number: int, usage: Usage, *, seen_output_tokens: int = 0) -> Warned | None:
        """Call `number` ended, well or not, and used `usage`: empty when it failed before it was billed.

        `seen_output_tokens` estimates the reply that came where its usage was not told, or not to the end (a
        cut stream). A prompt of which nothing was told counts as planned wherever there was a reply. Returns
        the one warning about a model without a price. Settling a call twice does nothing.
        """
        call = self._under_way.pop(number, None)
        if call is None:
            return None
        try:
            return self.charge(call, usage, seen_output_tokens=seen_output_tokens)
        finally:
            self.budget = self.budget.settle(number, ZERO)
            self._settled.set()

    def charge(self, call: ModelCall, usage: Usage, *, seen_output_tokens: int = 0) -> Warned | None:
        """Add what `call` cost, which was not asked for; as `after_call` otherwise."""
        reply_tokens = max(seen_output_tokens, usage.output_tokens)
        if reply_tokens > usage.output_tokens or (reply_tokens and not usage.input_tokens):
            prompt_tokens = usage.input_tokens or call.prompt_tokens
            usage = replace(usage, input_tokens=prompt_tokens, output_tokens=reply_tokens, estimated=True)
        if usage == Usage():
            return None
        known = self.meter.unknown
        cost = self._prices.price(call.provider, call.model, usage, self._clock())
        self.meter = self.meter.record(
            call.provider, call.model, usage, cost, agent=call.agent, estimated=usage.estimated
        )
        if cost is not None:
            self.budget = replace(self.budget, spent_usd=self.budget.spent_usd + cost.total_usd)
        is_new = cost is None and (call.provider, call.model) not in known
        return self._warning(call) if is_new else None

    def estimate(self, provider: str, model: str, usage: Usage) -> Decimal | None:
        """What a call of `usage` would cost now, in dollars; `None` where no price is known."""
        rate = self._prices.rate(provider, model, self._clock(), quickly=True)
        return None if rate is None else rate.cost(usage).total_usd

    @property
    def _prices(self) -> PriceBook:
        if not isinstance(self._book, PriceBook):
            self._book = self._book()
        return self._book

    def _try(self, call: ModelCall) -> int | Stop | None:
        floor_usd, ceiling_usd = self._bounds_usd(call) if self.budget.limit_usd is not None else (ZERO, None)
        match self.budget.admit(ceiling_usd, floor_usd):
            case "go":
                return self._begin(call, ceiling_usd)
            case "wait":
                return None
            case "stop":
                return self._spent(floor_usd)
            case "refuse":
                return _refusal(call)

    def _begin(self, call: ModelCall, ceiling_usd: Decimal | None) -> int:
        number = next(self._numbers)
        self._under_way[number] = call
        self.budget = self.budget.reserve(number, ceiling_usd)
        return number

    def _bounds_usd(self, call: ModelCall) -> tuple[Decimal, Decimal | None]:
        """What a call costs at least, with its prompt in the cache, and at most if its price is known."""
        quickly = self.budget.unpriced != "refuse"
        rate = self._prices.rate(call.provider, call.model, self._clock(), quickly=quickly)
        if rate is None:
            return ZERO, None
        floor = rate.cost(Usage(cache_read_tokens=call.prompt_tokens)).total_usd
        prompt_tokens = int(call.prompt_tokens * PROMPT_MARGIN)
        return floor, rate.ceiling_usd(prompt_tokens=prompt_tokens, max_tokens=call.max_tokens)

    def _spent(self, floor_usd: Decimal) -> Stop:
        from caliban_telemetry.format import usd

        spent, limit = usd(self.budget.spent_usd), usd(self.budget.limit_usd)
        is_left = self.budget.limit_usd is not None and self.budget.spent_usd < self.budget.limit_usd
        rest = f", and the next prompt alone costs about {usd(floor_usd)}" if is_left else ""
        return Stop(
            kind="budget",
            message=f"the budget of {limit} is used up: {spent} is spent{rest}",
            hint="raise the limit to go on",
            remedy=Remedy(kind="budget_limit"),
        )

    def _warning(self, call: ModelCall) -> Warned:
        message = f"{_unknown(call)}: what it costs is unknown and counts as $0"
        if self.budget.limit_usd is not None:
            from caliban_telemetry.format import usd

            message += (
                f"; the budget of {usd(self.budget.limit_usd)} cannot be kept for it, "
                "limits on turns and tokens still hold"
            )
        if near := self._prices.near(call.provider, call.model):
            message += f"; {near}"
        details = {"provider": call.provider, "model": call.model}
        return Warned(subtype="unpriced_model", message=message, details=details)


def _refusal(call: ModelCall) -> Stop:
    return Stop(
        kind="budget",
        message=f"{_unknown(call)}, and models without a price are refused under a budget",
        hint="give its rates in the file that CALIBAN_RATES_YAML names, or set budget.unpriced to count_zero",
    )


def _unknown(call: ModelCall) -> str:
    return f'no price is known for the model "{call.model}" of {call.provider}'


def _now() -> datetime:
    return datetime.now(UTC)
