"""What saved sessions have cost: their tokens at list prices, or at those of the operator's own rates."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from caliban.cli.groups import PROVIDERS
from caliban.compose.costs import RATES, Endpoint, price_book
from caliban_common.errors import CalibanError
from caliban_common.usage import Usage
from caliban_sessions import SessionHead, SessionState
from caliban_settings import Settings
from caliban_telemetry.book import PriceBook
from caliban_telemetry.rate import Rate


class SavedPrices:
    """Prices of what sessions have spent. Each is looked up once. Raises `RatesError` when it is made."""

    def __init__(self, settings: Settings) -> None:
        self._tables: Mapping[str, Any] = settings.get("provider") or {}
        self._endpoints: dict[str, Endpoint] = {}
        self._described: dict[tuple[str, str], Mapping[str, float]] = {}
        self._book = self._new_book()
        self._per_token: dict[tuple[str, int], tuple[float, float, float, float] | None] = {}

    def total(self, spent: Mapping[str, Usage], at: datetime) -> float | None:
        """What sums of tokens by `provider/model` cost at `at`, in dollars; `None`: a price is not known.

        Prices that depend on the length of one prompt are taken as those of a short one. It has more digits
        than it knows: see `rounded`.
        """
        total, day = 0.0, at.toordinal()
        for name, usage in spent.items():
            key = (name, day)
            prices = self._per_token[key] if key in self._per_token else self._prices(name, at)
            if prices is None:
                return None
            # In floats and inline, for lists of thousands: a tenth of the time that decimals take.
            fresh, read, written, output = prices
            cached = usage.cache_read_tokens + usage.cache_write_tokens
            total += fresh * max(0, usage.input_tokens - cached) + output * usage.output_tokens
            total += read * usage.cache_read_tokens + written * usage.cache_write_tokens
            total += 0.6 * written * usage.cache_write_long_tokens
        return total

    def call(self, name: str, usage: Usage, at: datetime) -> float | None:
        """What a call of `name`, a `provider/model`, cost at `at`; `None` where its price is not known."""
        rate = self._rate(name, at.date())
        return None if rate is None else float(rate.cost(usage).total_usd)

    def _prices(self, name: str, at: datetime) -> tuple[float, float, float, float] | None:
        """Dollars per token: new in a prompt, read from the cache, written to it, written by the model."""
        rate = self._rate(name, at.date())
        prices = self._per_token[name, at.toordinal()] = None if rate is None else _per_token(rate)
        return prices

    def _rate(self, name: str, day: date) -> Rate | None:
        provider, _, model = name.partition("/")
        self._know(provider)
        return self._book.rate(
            provider, model, datetime(day.year, day.month, day.day, tzinfo=UTC), quickly=True
        )

    def _know(self, provider: str) -> None:
        """Look up what settings say of `provider`, where they say anything."""
        if provider in self._endpoints or (provider in PROVIDERS and provider not in self._tables):
            return
        from caliban.compose.catalog import find_provider

        try:
            entry = find_provider(provider, self._tables)
        except CalibanError:  # it may have gone since: its own name is all there is
            self._endpoints[provider] = (provider, None)
            return
        self._endpoints[provider] = (entry.factory.name, entry.table.get("base_url"))
        self._described |= {(provider, model): price for model, price in entry.prices.items()}
        self._book = self._new_book()

    def _new_book(self) -> PriceBook:
        return price_book(os.environ.get(RATES) or None, self._endpoints, self._described)


def spent_by(session: SessionHead | SessionState) -> Mapping[str, Usage]:
    """What `session` has spent by `provider/model`; what nobody divided is the last model's."""
    spent, total = session.spent, session.total_usage
    if total in spent.values():
        return spent
    rest = total - sum(spent.values(), Usage())
    if rest.input_tokens <= 0 and rest.output_tokens <= 0:
        return spent
    name = f"{session.provider}/{session.model}"
    return {**spent, name: spent.get(name, Usage()) + rest}


def rounded(amount: float | None) -> float | None:
    """`amount` in dollars as data has it, to a millionth; `None` where nobody knows it."""
    return None if amount is None else round(amount, 6)


def usd(amount: float | None) -> str:
    """`amount` in dollars for people, `?` where nobody knows it."""
    if amount is None:
        return "?"
    return f"${amount:,.2f}" if amount >= 1 or not amount else f"${max(amount, 0.0001):.4f}"


def _per_token(rate: Rate) -> tuple[float, float, float, float]:
    read = rate.input if rate.cache_read is None else rate.cache_read
    written = rate.input if rate.cache_write is None else rate.cache_write
    fresh, output = float(rate.input) / 1e6, float(rate.output) / 1e6
    return fresh, float(read) / 1e6, float(written) / 1e6, output
