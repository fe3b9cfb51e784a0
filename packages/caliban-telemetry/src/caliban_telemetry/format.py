"""Money as text, in and out, and the account of a session as a person reads it."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

from caliban_common.text import one_line
from caliban_telemetry.errors import BudgetError
from caliban_telemetry.meter import CostMeter, MeterRow

_AMOUNT = r"\$?([0-9]{1,9}(?:\.[0-9]{0,9})?|\.[0-9]{1,9})"
_SMALLEST = Decimal("0.0001")
_WIDE = Context(prec=100)


def usd(amount: Decimal | None) -> str:
    """`amount` as `$12.34`, below a dollar as `$0.0034`; `None` is `unknown`. Never shows a cost as none."""
    if amount is None:
        return "unknown"
    sign, size = ("-", -amount) if amount < 0 else ("", amount)
    if size == 0:
        return "$0.00"
    if size < _SMALLEST:
        return f"{sign}<${_SMALLEST}"
    step = Decimal("0.01") if size >= 1 else _SMALLEST
    return f"{sign}${size.quantize(step, ROUND_HALF_EVEN, _WIDE):,}"


def parse_usd(text: str) -> Decimal:
    """The amount in `text`, such as `0.50` or `$2`. Raises `BudgetError`."""
    amount = re.fullmatch(_AMOUNT, text.strip())
    if amount is None:
        raise BudgetError(
            f'"{one_line(text, max_chars=60)}" is not an amount in dollars', hint="write it as 0.50"
        )
    return Decimal(amount[1])


def total(meter: CostMeter) -> str:
    """What `meter` comes to; what is not known is said and not called nothing."""
    if not meter.unknown:
        return usd(meter.total_usd)
    if all(row.calls == row.unpriced_calls for row in meter.rows):
        return "unknown"
    return f"{usd(meter.total_usd)} + unknown"


def cost_report(meter: CostMeter) -> str:
    """What was spent, in all and per model; per agent too as soon as there is more than one."""
    if not meter.rows:
        return "nothing was spent"
    lines = [f"total {total(meter)}"]
    several = len({row.agent for row in meter.rows}) > 1
    for row in sorted(meter.rows, key=lambda row: (-row.cost_usd, row.key)):
        who = f"[{one_line(row.agent, max_chars=60) or 'main'}] " if several else ""
        lines.append(f"  {who}{row.provider}/{one_line(row.model, max_chars=100)}: {_row(row)}")
    return "\n".join(lines)


def _row(row: MeterRow) -> str:
    cost = total(CostMeter(rows=(row,)))
    used = f"{row.usage.input_tokens:,} in, {row.usage.output_tokens:,} out"
    parts = [f"{cost} ({used}"]
    if row.usage.cache_read_tokens or row.usage.cache_write_tokens:
        parts.append(
            f"; cache {row.usage.cache_read_tokens:,} read, {row.usage.cache_write_tokens:,} written"
        )
        if row.saved_usd > 0:
            parts.append(f", {usd(row.saved_usd)} saved")
    return "".join((*parts, ")", " partly estimated" if row.estimated_calls else ""))
