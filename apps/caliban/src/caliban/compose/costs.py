"""What a run costs, and how much it may."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from caliban_common.event import Warned
from caliban_common.paths import expand_user
from caliban_common.stop import Stop
from caliban_common.usage import Usage
from caliban_settings import Settings

if TYPE_CHECKING:
    from decimal import Decimal

    from caliban_telemetry import Account, Budget, PriceBook

RATES = "CALIBAN_RATES_YAML"
SPOKEN_BY_MANY = ("anthropic", "openai")

Endpoint: TypeAlias = tuple[str, str | None]
"""Which adapter a provider has, by its own name, and the address that settings or a flag give it."""


def build_costs(
    max_budget_usd: str | None, settings: Settings, environ: Mapping[str, str], *, told: bool
) -> RunCosts:
    """The costs of a run under a limit, if any; `told` says that its frames will name them.

    Raises `BudgetError` and `RatesError`.
    """
    rules = {
        "soft_ratio": settings.get("budget.soft_ratio"),
        "unpriced": settings.get("budget.unpriced"),
    }
    costs = RunCosts(rates=environ.get(RATES) or None, told=told, rules=rules)
    if max_budget_usd is not None or costs.rates is not None:
        costs.open(max_budget_usd)
    return costs


def price_book(rates: str | None, endpoints: Mapping[str, Endpoint]) -> PriceBook:
    """The prices that are known, those in the file `rates` first. Raises `RatesError`."""
    from caliban_telemetry import PriceBook

    if rates is None:
        return PriceBook(vendors=_vendors(endpoints))
    from caliban_telemetry.rates import read_card

    return PriceBook(card=read_card(expand_user(rates)), vendors=_vendors(endpoints))


def _vendors(endpoints: Mapping[str, Endpoint]) -> dict[str, str]:
    """Whose prices the providers charge: of one that speaks another's interface its address tells."""
    from caliban_telemetry.prices import vendor_at

    return {
        name: (vendor_at(url) if url and kind in SPOKEN_BY_MANY else None) or kind
        for name, (kind, url) in endpoints.items()
    }


class RunCosts:
    """The ledger of one process, and what its frames say of money.

    Prices are loaded when the first reply has come, for until then nobody asks; with a limit or rates of the
    operator's own they are loaded at once, so that a mistake is told before anything is spent. Where no frame
    will say what was spent (`told` is false) and nothing limits it, nothing is priced. `rules` are the
    settings `budget.*`; what is `None` there keeps its default.
    """

    def __init__(
        self, *, rates: str | None = None, told: bool = True, rules: Mapping[str, Any] | None = None
    ) -> None:
        self.rates = rates
        self._rules = rules or {}
        self._told = told
        self._account: Account | None = None
        self._endpoints: dict[str, Endpoint] = {}
        self._begun: list[tuple[str, str, int, int, str]] = []
        self._numbers: dict[int, int] = {}

    @property
    def account(self) -> Account | None:
        """The account, if there is a limit or anything was priced yet."""
        return self._account

    def open(self, limit: str | None = None) -> Account:
        """The account, made now if it was not yet. `limit` is in US dollars, as text."""
        if self._account is None:
            from caliban_telemetry import Account, parse_usd

            amount: Decimal | None = None if limit is None else parse_usd(limit)
            self._account = Account(price_book(self.rates, self._endpoints), self._budget(amount))
        return self._account

    def know(self, name: str, endpoint: Endpoint) -> None:
        """The provider at `endpoint` is called `name`, in settings and in rates."""
        self._endpoints[name] = endpoint
        if self._account is not None:
            self._account.book = replace(self._account.book, vendors=_vendors(self._endpoints))

    async def before_call(
        self, *, provider: str, model: str, prompt_tokens: int, max_tokens: int, agent: str = ""
    ) -> int | Stop:
        """Leave to make a call; see `Account`. Without an account yet there is no limit to look at."""
        if self._account is not None:
            return await self._account.before_call(
                provider=provider,
                model=model,
                prompt_tokens=prompt_tokens,
                max_tokens=max_tokens,
                agent=agent,
            )
        self._begun.append((provider, model, prompt_tokens, max_tokens, agent))
        return -len(self._begun)

    def after_call(self, number: int, usage: Usage, *, seen_output_tokens: int = 0) -> Warned | None:
        """Settle a call; see `Account`."""
        if self._account is None and not self._told:
            return None
        account = self.open()
        if number < 0:
            number = self._number(account, number)
        return account.after_call(number, usage, seen_output_tokens=seen_output_tokens)

    def total_usd(self) -> float:
        """All that was spent."""
        if self._account is None:
            return 0.0
        from caliban_telemetry import dollars

        return dollars(self._account.meter.total_usd)

    def by_model(self) -> tuple[tuple[str, Usage, float | None], ...]:
        """Tokens and dollars per model, in the order of the names; `None` where no price is known."""
        if self._account is None:
            return ()
        from caliban_telemetry import dollars

        found: dict[str, tuple[Usage, float | None]] = {}
        for row in self._account.meter.rows:
            usage, spent = found.get(row.model, (Usage(), None))
            if row.calls > row.unpriced_calls:
                spent = (spent or 0.0) + dollars(row.cost_usd)
            found[row.model] = (usage + row.usage, spent)
        return tuple((model, usage, spent) for model, (usage, spent) in sorted(found.items()))

    def _budget(self, limit_usd: Decimal | None) -> Budget:
        from decimal import Decimal

        from caliban_telemetry import Budget

        said = {name: value for name, value in self._rules.items() if value is not None}
        if "soft_ratio" in said:
            said["soft_ratio"] = Decimal(str(said["soft_ratio"]))
        return Budget(limit_usd=limit_usd, **said)

    def _number(self, account: Account, number: int) -> int:
        """The account's own number for a call that began before there was an account; once per call."""
        if number not in self._numbers:
            provider, model, prompt_tokens, max_tokens, agent = self._begun[-number - 1]
            given = account.try_call(
                provider=provider,
                model=model,
                prompt_tokens=prompt_tokens,
                max_tokens=max_tokens,
                agent=agent,
            )
            self._numbers[number] = given if isinstance(given, int) else 0
        return self._numbers[number]
