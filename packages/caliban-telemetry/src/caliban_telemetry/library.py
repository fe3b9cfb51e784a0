"""List prices from the library genai-prices itself: for models that the table of our release lacks.

It costs a quarter of a second and more to import, so nothing here touches it before it is asked. Its prices
are those of its release: it is never asked to fetch newer ones.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from caliban_telemetry.rate import ZERO, Rate, Tier

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice

_KEYS = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")


def is_loaded() -> bool:
    """Whether the library and its data are in memory, so that asking it takes no time."""
    return "genai_prices.data" in sys.modules


@lru_cache(maxsize=4)
def is_installed(version: str) -> bool:
    """Whether the installed library is this very version, without reading metadata."""
    from importlib.util import find_spec

    spec = find_spec("genai_prices")
    if spec is None or spec.origin is None:
        return False
    return (Path(spec.origin).parent.parent / f"genai_prices-{version}.dist-info").is_dir()


def rate(pairs: Iterable[tuple[str, str]], at: datetime) -> Rate | None:
    """The rate of the first pair of list and model that the library knows, at the time `at`, or `None`."""
    model = _model(tuple(pairs))
    return rate_of(model.get_prices(at)) if model is not None else None


def vendor_at(base_url: str) -> str | None:
    """The vendor whose address `base_url` is, by the library's name, or `None`."""
    from genai_prices import data_snapshot

    try:
        return data_snapshot.get_snapshot().find_provider(None, None, base_url).id
    except LookupError:
        return None


def rate_of(prices: ModelPrice) -> Rate | None:
    """What the library's prices say of text tokens; `None` when they say nothing."""
    if prices.input_mtok is None and prices.output_mtok is None:
        return None
    starts = sorted({tier.start for key in _KEYS for tier in getattr(getattr(prices, key), "tiers", ())})
    per_thousand_calls = getattr(prices, "requests_kcount", None)
    first, *others = (
        Tier(
            above_tokens=start,
            input=_at(prices, "input_mtok", start) or ZERO,
            output=_at(prices, "output_mtok", start) or ZERO,
            cache_read=_at(prices, "cache_read_mtok", start),
            cache_write=_at(prices, "cache_write_mtok", start),
        )
        for start in (-1, *starts)
    )
    return Rate(
        input=first.input,
        output=first.output,
        cache_read=first.cache_read,
        cache_write=first.cache_write,
        per_call=per_thousand_calls / 1000 if isinstance(per_thousand_calls, Decimal) else ZERO,
        tiers=tuple(others),
    )


@lru_cache(maxsize=512)
def _model(pairs: tuple[tuple[str, str], ...]) -> ModelInfo | None:
    from genai_prices import data_snapshot

    snapshot = data_snapshot.get_snapshot()
    for vendor, name in pairs:
        try:
            return snapshot.find_provider_model(name, None, vendor, None)[1]
        except LookupError:
            continue
    return None


def _at(prices: ModelPrice, key: str, start: int) -> Decimal | None:
    """The price `key` for a prompt just above `start` tokens."""
    prices_of_key = getattr(prices, key)
    if prices_of_key is None or isinstance(prices_of_key, Decimal):
        return prices_of_key
    price: Decimal = prices_of_key.base
    for tier in prices_of_key.tiers:
        if tier.start <= start:
            price = tier.price
    return price
