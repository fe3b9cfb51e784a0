"""What a session may spend: a value, and what it says to the next call.

A limit is kept as documented: spending stops when more than the limit is spent, and the call that passes it
is let finish. So a lone call is never refused by an estimate. What estimates are for is calls at the same
time, by sub-agents and hedges: a second one starts only when all that are under way, each at the most it can
cost, still fit. One that does not fit waits for another to end. Hence the law: however many agents there are,
the limit is passed by less than one call.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_telemetry.rate import ZERO

Verdict: TypeAlias = Literal["go", "soft", "stop"]
"""Go on, go on more cheaply, or start no further call."""

Admission: TypeAlias = Literal["go", "wait", "stop", "refuse"]
"""Whether a call may start: at once, after another has ended, not at all, or not without a price."""

Unpriced: TypeAlias = Literal["count_zero", "refuse"]
"""What to do with a model whose price nobody knows while there is a limit."""


class Budget(Struct, frozen=True, kw_only=True):
    """A limit in dollars, what is spent of it, and what calls under way may cost at most.

    `limit_usd` is `None` for no limit, else finite and ≥ 0; above `soft_ratio` of it `verdict` says `soft`.
    `holds` are the open reservations, by number. Raises `ValueError` for a limit or a ratio that is none.
    """

    limit_usd: Decimal | None = None
    soft_ratio: Decimal = Decimal("0.8")
    unpriced: Unpriced = "count_zero"
    spent_usd: Decimal = ZERO
    holds: tuple[tuple[int, Decimal], ...] = ()

    def __post_init__(self) -> None:
        if self.limit_usd is not None and not (self.limit_usd.is_finite() and self.limit_usd >= 0):
            raise ValueError(f"a limit of {self.limit_usd} dollars")
        if not (self.soft_ratio.is_finite() and 0 <= self.soft_ratio <= 1):
            raise ValueError(f"a soft ratio of {self.soft_ratio}")

    @property
    def reserved_usd(self) -> Decimal:
        return sum((usd for _, usd in self.holds), ZERO)

    def verdict(self) -> Verdict:
        """What the money already spent says; reservations do not count."""
        if self.limit_usd is None:
            return "go"
        if self.spent_usd > self.limit_usd:
            return "stop"
        return "soft" if self.spent_usd > self.limit_usd * self.soft_ratio else "go"

    def admit(self, ceiling_usd: Decimal | None) -> Admission:
        """Whether a call that costs `ceiling_usd` at most may start; `None` when its price is not known."""
        if self.limit_usd is None:
            return "go"
        if self.spent_usd > self.limit_usd:
            return "stop"
        if ceiling_usd is None and self.unpriced == "refuse":
            return "refuse"
        if not self.holds or self.spent_usd + self.reserved_usd + (ceiling_usd or ZERO) <= self.limit_usd:
            return "go"
        return "wait"

    def reserve(self, number: int, ceiling_usd: Decimal | None) -> Budget:
        """With the call `number` under way. Reserve what `admit` lets go only."""
        return replace(self, holds=(*self.holds, (number, ceiling_usd or ZERO)))

    def settle(self, number: int, spent_usd: Decimal) -> Budget:
        """With the call `number` ended, for whatever reason, and `spent_usd` paid for it."""
        rest = tuple(hold for hold in self.holds if hold[0] != number)
        return replace(self, holds=rest, spent_usd=self.spent_usd + spent_usd)
