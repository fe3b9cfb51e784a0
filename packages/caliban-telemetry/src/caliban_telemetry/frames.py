"""The members of a result frame that speak of money: plain data for any encoder."""

from __future__ import annotations

from decimal import Decimal

from caliban_common.usage import Usage
from caliban_telemetry.meter import CostMeter


def dollars(amount: Decimal) -> float:
    """`amount` as the number that JSON carries, without the dust of sums: exact to 1e-10 dollars."""
    return round(float(amount), 10)


def by_model(meter: CostMeter) -> tuple[tuple[str, Usage, float | None], ...]:
    """Tokens and dollars per model, all agents and providers together, in the order of the names.

    The dollars are those of the calls with a price; `None` where no call has one.
    """
    models: dict[str, tuple[Usage, float | None]] = {}
    for row in meter.rows:
        usage, spent = models.get(row.model, (Usage(), None))
        if row.calls > row.unpriced_calls:
            spent = (spent or 0.0) + dollars(row.cost_usd)
        models[row.model] = (usage + row.usage, spent)
    return tuple((model, usage, spent) for model, (usage, spent) in sorted(models.items()))
