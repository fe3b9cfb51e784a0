"""The members of a result frame that speak of money: plain data for any encoder."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, TypeAlias

from caliban_common.usage import Usage
from caliban_telemetry.meter import CostMeter

Limits: TypeAlias = Mapping[str, tuple[int, int]]
"""Model -> its context window and the most output of a reply, in tokens."""


def dollars(amount: Decimal) -> float:
    """`amount` as the number that JSON carries, without the dust of sums: exact to 1e-10 dollars."""
    return round(float(amount), 10)


def model_usage(meter: CostMeter, limits: Limits | None = None) -> dict[str, dict[str, Any]]:
    """The member `modelUsage`: tokens and dollars per model, all agents together.

    `inputTokens` leaves out what the cache read or took in. A model of several providers is one entry, and
    `provider` is then missing. `costKnown` is false where calls without a price count as 0 in `costUSD`.
    """
    found: dict[str, dict[str, Any]] = {}
    for model in sorted({row.model for row in meter.rows}):
        rows = [row for row in meter.rows if row.model == model]
        usage = sum((row.usage for row in rows), Usage())
        providers = {row.provider for row in rows}
        window, max_output = (limits or {}).get(model, (0, 0))
        cached = usage.cache_read_tokens + usage.cache_write_tokens
        found[model] = {
            "inputTokens": max(0, usage.input_tokens - cached),
            "outputTokens": usage.output_tokens,
            "cacheReadInputTokens": usage.cache_read_tokens,
            "cacheCreationInputTokens": usage.cache_write_tokens,
            "webSearchRequests": 0,
            "costUSD": dollars(CostMeter(rows=tuple(rows)).total_usd),
            "contextWindow": window,
            "maxOutputTokens": max_output,
            "thinkingTokens": usage.thinking_tokens,
            "costKnown": not any(row.unpriced_calls for row in rows),
        }
        if len(providers) == 1:
            found[model]["provider"] = providers.pop()
    return found
