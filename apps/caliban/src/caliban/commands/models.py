"""`caliban models`: what a provider offers, asked of the provider itself, and what it costs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING

import anyio
from msgspec import Struct
from msgspec.structs import asdict

from caliban.cli.invocation import Invocation
from caliban.cli.options import Options
from caliban.commands.inputs import model_inputs
from caliban.commands.providers import list_providers
from caliban.commands.report import report
from caliban.compose.catalog import find_provider, provider_tables
from caliban.compose.costs import RATES, price_book
from caliban.compose.model import plain_model
from caliban.compose.provider import close_provider, list_models
from caliban.compose.retired import retirement_words
from caliban.faces.cancellable import run_cancellable
from caliban.stdio import print_text, write_out
from caliban_common.codec import dumps
from caliban_common.history import is_same_model
from caliban_common.text import one_line
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import StreamIdle
from caliban_provider.provider import make_ready

if TYPE_CHECKING:
    from caliban_telemetry.rate import Rate

ABILITIES = ("tools", "vision", "documents", "thinking", "prompt_cache", "structured_output")
PRICES = ("input", "output", "cache_read", "cache_write")
HEADER = ("MODEL", "CONTEXT", "IN $/MTOK", "OUT $/MTOK", "CAPABILITIES")
UNKNOWN = "?"
LIST_S = 30.0


class Offer(Struct, frozen=True, kw_only=True):
    """A model with its price, where that is known. `is_default` marks what a run would ask."""

    model: ModelInfo
    rate: Rate | None
    is_default: bool


def models(invocation: Invocation) -> int:
    """List the models of a provider, one a line, or as JSON."""
    if invocation.values["providers"]:
        return list_providers(invocation)
    offers = run_cancellable(lambda: _offers(invocation.options), invocation.signals)
    if invocation.values["json"]:
        return write_out(b"".join(dumps(_data(offer)) + b"\n" for offer in offers))
    return print_text(_table(offers))


async def _offers(options: Options) -> tuple[Offer, ...]:
    """What the provider lists, priced by the time it is listed."""
    inputs = model_inputs(options)
    resolved = plain_model(inputs, report)
    try:
        await make_ready(resolved.provider)
        with anyio.move_on_after(LIST_S) as scope:
            listed = await list_models(resolved.provider)
        if scope.cancelled_caught:
            raise StreamIdle(f"{resolved.name} did not list its models in {LIST_S:.0f} s", idle_s=LIST_S)
    finally:
        await close_provider(resolved.provider, report)
    place = (resolved.provider.name, resolved.base_url)
    entry = find_provider(resolved.name, provider_tables(inputs.settings))
    described = {(resolved.name, model): price for model, price in entry.prices.items()}
    book = price_book(os.environ.get(RATES) or None, {resolved.name: place}, described)
    now = datetime.now(UTC)
    chosen = _chosen([model.id for model in listed], resolved.model)
    return tuple(
        Offer(model=model, rate=book.rate(resolved.name, model.id, now), is_default=model.id in chosen)
        for model in listed
    )


def _chosen(ids: Sequence[str], wanted: str) -> Sequence[str]:
    """The `ids` that mean the model `wanted`, by its exact name or else by another of its names."""
    if wanted in ids:
        return [wanted]
    return [id for id in ids if is_same_model(id.removesuffix(":latest"), wanted.removesuffix(":latest"))]


def _table(offers: Sequence[Offer]) -> str:
    if not offers:
        return "(the provider lists no models)\n"
    rows = [HEADER, *map(_row, offers)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER) - 1)]
    return "".join(
        "  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:-1], widths[1:]), row[-1])).rstrip() + "\n"
        for row in rows
    )


def _row(offer: Offer) -> tuple[str, ...]:
    able, rate = offer.model.capabilities, offer.rate
    more = "+" if rate is not None and rate.tiers else ""
    prices = (UNKNOWN, UNKNOWN) if rate is None else (_usd(rate.input) + more, _usd(rate.output) + more)
    mark = (" (default)" if offer.is_default else "") + _last_day(able)
    window = UNKNOWN if able.context_tokens is None else f"{able.context_tokens:,}"
    return (one_line(offer.model.id) + mark, window, *prices, _abilities(able))


def _last_day(capabilities: Capabilities) -> str:
    """A mark for a name that has a last day."""
    if capabilities.retirement is None:
        return ""
    return f" ({retirement_words(capabilities.retirement, datetime.now(UTC).date())})"


def _usd(amount: Decimal) -> str:
    return f"{amount.normalize():f}"


def _abilities(capabilities: Capabilities) -> str:
    return ", ".join(name.replace("_", " ") for name in ABILITIES if getattr(capabilities, name))


def _data(offer: Offer) -> dict[str, object]:
    able = offer.model.capabilities
    return {
        "id": offer.model.id,
        "display_name": offer.model.display_name,
        "default": offer.is_default,
        "context_tokens": able.context_tokens,
        "input_tokens": able.prompt_tokens,
        "max_output_tokens": able.max_output_tokens,
        "efforts": able.efforts,
        "retirement": None if able.retirement is None else asdict(able.retirement),
        **{f"{name}_usd_per_mtok": _price(offer.rate, name) for name in PRICES},
        **{name: getattr(able, name) for name in ABILITIES},
    }


def _price(rate: Rate | None, name: str) -> float | None:
    """A price for programs; `None` where unknown, and 0 for every kind where input is free."""
    if rate is None:
        return None
    amount: Decimal | None = getattr(rate, name)
    if amount is None and not rate.input:
        amount = rate.input
    return None if amount is None else float(amount)
