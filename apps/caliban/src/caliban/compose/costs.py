"""What a run costs, and how much it may."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from caliban_common.paths import expand_user
from caliban_common.usage import Usage
from caliban_settings import Settings
from caliban_telemetry import UnlimitedLedger

if TYPE_CHECKING:
    from caliban_telemetry.account import Account
    from caliban_telemetry.book import PriceBook
    from caliban_telemetry.card import RateCard
    from caliban_telemetry.rate import Rate

RATES = "CALIBAN_RATES_YAML"
SPOKEN_BY_MANY = ("anthropic", "openai")

Endpoint: TypeAlias = tuple[str, str | None]
"""Which adapter a provider has, by its own name, and the address that settings or a flag give it."""


def build_costs(
    max_budget_usd: str | None, settings: Settings, environ: Mapping[str, str], *, are_shown: bool
) -> RunCosts:
    """The costs of a run under a limit, if any; `are_shown` says that the run names them.

    Raises `BudgetError` and `RatesError`.
    """
    return RunCosts(
        limit=max_budget_usd,
        rates=environ.get(RATES) or None,
        is_told=are_shown,
        rules={
            "soft_ratio": settings.get("budget.soft_ratio"),
            "unpriced": settings.get("budget.unpriced"),
        },
    )


def price_book(
    rates: str | None,
    endpoints: Mapping[str, Endpoint],
    described: Mapping[tuple[str, str], Mapping[str, float]] = MappingProxyType({}),
) -> PriceBook:
    """The prices that are known: those in the file `rates` first, then those `described` by name and model.

    Raises `RatesError`.
    """
    return _book(_with_prices(_card(rates), described), endpoints)


def _card(rates: str | None) -> RateCard | None:
    if rates is None:
        return None
    from caliban_telemetry.rates import read_card

    return read_card(expand_user(rates))


def _book(card: RateCard | None, endpoints: Mapping[str, Endpoint]) -> PriceBook:
    from caliban_telemetry.book import PriceBook
    from caliban_telemetry.card import RateCard

    return PriceBook(card=card or RateCard(), vendors=_vendors(endpoints))


def _vendors(endpoints: Mapping[str, Endpoint]) -> dict[str, str]:
    """Whose prices the providers charge: of one that speaks another's interface its address tells."""
    from caliban_telemetry.prices import vendor_at

    return {
        name: (vendor_at(url) if url and kind in SPOKEN_BY_MANY else None) or kind
        for name, (kind, url) in endpoints.items()
    }


class RunCosts:
    """The ledger of one process, and what its frames say of money.

    Prices are loaded when the first reply has come, for until then nobody asks; with a `limit` in US dollars
    or `rates` of the operator's own they are loaded at once, so that a mistake is told before anything is
    spent. Where no frame will say what was spent (`is_told` is false) and nothing limits it, nothing is
    priced. `rules` are the settings `budget.*`; what is `None` there keeps its default. Raises `BudgetError`
    and `RatesError`.
    """

    def __init__(
        self,
        *,
        limit: str | None = None,
        rates: str | None = None,
        is_told: bool = True,
        rules: Mapping[str, Any] | None = None,
    ) -> None:
        self._rules = {name: value for name, value in (rules or {}).items() if value is not None}
        self._endpoints: dict[str, Endpoint] = {}
        self._prices: dict[tuple[str, str], Mapping[str, float]] = {}
        self.are_told = is_told
        self._ledger: Account | UnlimitedLedger
        if limit is None and rates is None:
            self._ledger = UnlimitedLedger(lambda: self._account_of(None), is_told=is_told)
        else:
            self._ledger = self._account_of(limit, rates)
        self.before_call = self._ledger.before_call
        self.after_call = self._ledger.after_call

    @property
    def account(self) -> Account | None:
        """The account, if there is a limit or anything was priced yet."""
        return self._ledger.account if isinstance(self._ledger, UnlimitedLedger) else self._ledger

    def know(self, name: str, endpoint: Endpoint) -> None:
        """The provider at `endpoint` is called `name`, in settings and in rates. To be told before a call."""
        self._endpoints[name] = endpoint

    def describe(self, name: str, prices: Mapping[str, Mapping[str, float]]) -> None:
        """What models of the provider `name` cost, as it says or settings do. To be told before a call."""
        self._prices.update({(name, model): price for model, price in prices.items()})

    def total_usd(self) -> float:
        """All that was spent."""
        if self.account is None:
            return 0.0
        from caliban_telemetry.frames import dollars

        return dollars(self.account.meter.total_usd)

    def by_model(self) -> tuple[tuple[str, Usage, float | None], ...]:
        """Tokens and dollars per model, in the order of the names; `None` where no price is known."""
        if self.account is None:
            return ()
        from caliban_telemetry.frames import by_model

        return by_model(self.account.meter)

    def by_agent(self) -> tuple[tuple[str, Usage, float | None], ...]:
        """The same per sub-agent."""
        if self.account is None:
            return ()
        from caliban_telemetry.frames import by_agent

        return by_agent(self.account.meter)

    def _account_of(self, limit: str | None, rates: str | None = None) -> Account:
        from decimal import Decimal

        from caliban_telemetry.account import Account
        from caliban_telemetry.budget import Budget
        from caliban_telemetry.format import parse_usd

        rules = dict(self._rules)
        if "soft_ratio" in rules:
            rules["soft_ratio"] = Decimal(str(rules["soft_ratio"]))
        budget = Budget(limit_usd=None if limit is None else parse_usd(limit), **rules)
        card = _card(rates)
        return Account(lambda: _book(_with_prices(card, self._prices), self._endpoints), budget)


def _with_prices(
    card: RateCard | None, prices: Mapping[tuple[str, str], Mapping[str, float]]
) -> RateCard | None:
    """`card` with the prices of settings under it: a file of rates is the more exact word."""
    if not prices:
        return card
    from datetime import date

    from caliban_telemetry.card import CardEntry, RateCard

    entries = tuple(
        CardEntry(
            provider=provider,
            model_glob=model,
            effective_from=date.min,
            rate=_rate(price),
        )
        for (provider, model), price in prices.items()
    )
    return RateCard(entries=((card.entries if card is not None else ()) + entries))


def _rate(price: Mapping[str, float]) -> Rate:
    """A price of settings, in dollars per million tokens."""
    from decimal import Decimal

    from caliban_telemetry.rate import Rate

    cached = {name: Decimal(str(price[name])) for name in ("cache_read", "cache_write") if name in price}
    return Rate(
        input=Decimal(str(price["input"])),
        output=Decimal(str(price["output"])),
        cache_read=cached.get("cache_read"),
        cache_write=cached.get("cache_write"),
    )
