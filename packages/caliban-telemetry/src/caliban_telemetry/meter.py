"""What was used and what it cost, per agent, provider and model: values that are added up.

Merging is associative and does not depend on order, so the meters of children, of other processes and of
earlier runs can be merged as they come.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from msgspec import Struct, field
from msgspec.structs import replace

from caliban_common.usage import Usage
from caliban_telemetry.rate import ZERO, Cost


class MeterRow(Struct, frozen=True, kw_only=True):
    """What one agent used of one model. `agent` is empty for the main one.

    Calls without a known price are in `unpriced_calls` and add nothing to `cost_usd`; calls whose usage was
    estimated, because the provider did not tell it, are in `estimated_calls`.
    """

    provider: str
    model: str
    agent: str = ""
    usage: Usage = field(default_factory=Usage)
    cost_usd: Decimal = ZERO
    saved_usd: Decimal = ZERO
    calls: int = 0
    unpriced_calls: int = 0
    estimated_calls: int = 0

    @property
    def key(self) -> tuple[str, str, str]:
        return self.agent, self.provider, self.model

    def __add__(self, other: MeterRow) -> MeterRow:
        return replace(
            self,
            usage=self.usage + other.usage,
            cost_usd=self.cost_usd + other.cost_usd,
            saved_usd=self.saved_usd + other.saved_usd,
            calls=self.calls + other.calls,
            unpriced_calls=self.unpriced_calls + other.unpriced_calls,
            estimated_calls=self.estimated_calls + other.estimated_calls,
        )


class CostMeter(Struct, frozen=True, kw_only=True):
    """All that was used; `rows` are sorted by agent, provider and model, each of which occurs once."""

    rows: tuple[MeterRow, ...] = ()

    @property
    def usage(self) -> Usage:
        return sum((row.usage for row in self.rows), Usage())

    @property
    def total_usd(self) -> Decimal:
        """What is known to be spent: calls of `unknown` models count as nothing."""
        return sum((row.cost_usd for row in self.rows), ZERO)

    @property
    def unknown(self) -> tuple[tuple[str, str], ...]:
        """Provider and model of every call without a price, each pair once."""
        return tuple(sorted({(row.provider, row.model) for row in self.rows if row.unpriced_calls}))

    def record(
        self,
        provider: str,
        model: str,
        usage: Usage,
        cost: Cost | None,
        *,
        agent: str = "",
        estimated: bool = False,
    ) -> CostMeter:
        """With one more call; `cost` is `None` when its price is not known."""
        row = MeterRow(
            provider=provider,
            model=model,
            agent=agent,
            usage=usage,
            cost_usd=cost.total_usd if cost is not None else ZERO,
            saved_usd=cost.saved_usd if cost is not None else ZERO,
            calls=1,
            unpriced_calls=int(cost is None),
            estimated_calls=int(estimated),
        )
        return merged((self, CostMeter(rows=(row,))))


def merged(meters: Iterable[CostMeter]) -> CostMeter:
    """All `meters` together."""
    rows: dict[tuple[str, str, str], MeterRow] = {}
    for meter in meters:
        for row in meter.rows:
            old = rows.get(row.key)
            rows[row.key] = row if old is None else old + row
    return CostMeter(rows=tuple(rows[key] for key in sorted(rows)))
