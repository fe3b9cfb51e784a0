"""Every price that is known: the operator's card first, then list prices, then the library behind those."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

from msgspec import Struct, field

from caliban_common.usage import Usage
from caliban_telemetry import prices
from caliban_telemetry.card import CardEntry, RateCard
from caliban_telemetry.rate import Cost, Rate

ListPrices: TypeAlias = Callable[[str, str, datetime], Rate | None]
"""The list price of a provider's model at a time."""

NEWER = (("gpt-6.2-astra*", 8, 40), ("gpt-6.2-sol*", 2, 10))
"""Models that their vendors have priced and the table does not know yet, with dollars in and out."""


class PriceBook(Struct, frozen=True, kw_only=True):
    """Where prices are looked up.

    `vendors` says for a provider of the operator's own whose prices it charges (a gateway to Anthropic:
    `{"gateway": "anthropic"}`), `base_urls` where a provider is reached, by which vendors are recognised too.
    The card is asked under both names. An entry of the card wins over every other price, and what it does not
    name keeps its list price. An address on this machine makes nothing free: it may be a gateway.
    """

    card: RateCard = field(default_factory=RateCard)
    vendors: Mapping[str, str] = field(default_factory=dict)
    base_urls: Mapping[str, str] = field(default_factory=dict)
    listed: ListPrices = prices.listed
    unlisted: ListPrices = prices.unlisted

    def rate(self, provider: str, model: str, at: datetime, *, quickly: bool = False) -> Rate | None:
        """The rate in force at the time `at` (naive is UTC); `None` when no price is known: not zero.

        `quickly` does without the library until it is in memory, which takes half a second: for a price
        that is wanted before a call.
        """
        vendor = self._vendor(provider)
        names = dict.fromkeys((provider, vendor))
        day = (at.astimezone(UTC) if at.tzinfo is not None else at).date()
        rate = (
            next(iter(_on(self.card, names, model, day)), None)
            or self.listed(vendor, model, at)
            or next(iter(_on(_supplement(), names, model, day)), None)
        )
        if rate is not None or (quickly and not prices.is_quick()):
            return rate
        return self.unlisted(vendor, model, at)

    def near(self, provider: str, model: str) -> str:
        """`did you mean X?` for a model without a price that is called almost like one, else nothing."""
        name = prices.near(self._vendor(provider), model)
        return f"did you mean {name}?" if name is not None and name != model else ""

    def price(self, provider: str, model: str, usage: Usage, at: datetime) -> Cost | None:
        """What one call costs; `None` when no price is known."""
        rate = self.rate(provider, model, at)
        return rate.cost(usage) if rate is not None else None

    def _vendor(self, provider: str) -> str:
        if provider in self.vendors:
            return self.vendors[provider]
        base_url = self.base_urls.get(provider)
        return (prices.vendor_at(base_url) if base_url else None) or provider


@lru_cache(maxsize=1)
def _supplement() -> RateCard:
    """The prices of `NEWER`: asked where the table has none, so that it wins as soon as it does."""
    return RateCard(
        entries=tuple(
            CardEntry(
                provider=provider,
                model_glob=glob,
                effective_from=date(2026, 11, 17),
                rate=Rate(input=Decimal(input_usd), output=Decimal(output_usd)),
            )
            for provider in ("openai", "azure", "foundry")
            for glob, input_usd, output_usd in NEWER
        )
    )


def _on(card: RateCard, names: Mapping[str, None], model: str, day: date) -> list[Rate]:
    if not card.entries:
        return []
    rates = (card.rate(name, spelling, day) for spelling in prices.spellings(model) for name in names)
    return [rate for rate in rates if rate is not None]
