"""The members of a result frame that speak of money: plain data for any encoder."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from caliban_common.usage import Usage
from caliban_telemetry.meter import CostMeter, MeterRow


def dollars(amount: Decimal) -> float:
    """`amount` as the number that JSON carries, without the dust of sums: exact to 1e-10 dollars."""
    return round(float(amount), 10)


def by_model(meter: CostMeter) -> tuple[tuple[str, Usage, float | None], ...]:
    """Tokens and dollars per model, all agents and providers together, in the order of the names.

    The dollars are those of the calls with a price; `None` where no call has one.
    """
    return _summed((row.model, row) for row in meter.rows)


def by_agent(meter: CostMeter) -> tuple[tuple[str, Usage, float | None], ...]:
    """The same per sub-agent, by its name; what the main agent used is the rest."""
    return _summed((row.agent, row) for row in meter.rows if row.agent)


def _summed(rows: Iterable[tuple[str, MeterRow]]) -> tuple[tuple[str, Usage, float | None], ...]:
    sums: dict[str, tuple[Usage, float | None]] = {}
    for name, row in rows:
        usage, spent = sums.get(name, (Usage(), None))
        if row.calls > row.unpriced_calls:
            spent = (spent or 0.0) + dollars(row.cost_usd)
        sums[name] = (usage + row.usage, spent)
    return tuple((name, usage, spent) for name, (usage, spent) in sorted(sums.items()))
