"""List prices: from the table of our release, and from the library it was made of for what it lacks.

Here is which list prices a provider's models and how a model may be called; `table` and `library` look it up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from caliban_common.near import nearest
from caliban_common.usage import Usage
from caliban_telemetry import table
from caliban_telemetry.rate import ZERO, Cost, Rate

FREE = ("local", "ollama")
"""Providers that run on the operator's own machine: every model is known and costs nothing."""

LISTS: Mapping[str, tuple[str, ...]] = {
    "azure": ("openai", "azure"),
    "bedrock": ("aws",),
    "foundry": ("anthropic", "openai"),
    "vertex": ("google", "anthropic"),
}
"""Our name of a provider -> the library's lists that price it, tried in order. Others keep their name."""

PREFIXES: Mapping[str, str] = {
    "anthropic": "anthropic",
    "azure": "openai",
    "bedrock": "aws",
    "gemini": "google",
    "google": "google",
    "openai": "openai",
    "vertex_ai": "google",
}
"""What gateways put before a model's name -> the list of the vendor who bills it."""

_SUFFIX = r"(\[1m\]|[-@][0-9]{8}|-[0-9]{4}-[0-9]{2}-[0-9]{2}|[-:@]latest)$"


def price(provider: str, model: str, usage: Usage, at: datetime) -> Cost | None:
    """What one call costs by list price at the time `at` (naive is UTC); `None` when no price is known."""
    list_rate = rate(provider, model, at)
    return list_rate.cost(usage) if list_rate is not None else None


def rate(provider: str, model: str, at: datetime) -> Rate | None:
    """The list price in force at the time `at` (naive is UTC), or `None`.

    Names are taken as people write them: with a gateway's prefix, with the date of a release, in capitals.
    Reasoning counts as output; audio, images and server tools are not priced.
    """
    return listed(provider, model, at) or unlisted(provider, model, at)


def listed(provider: str, model: str, at: datetime) -> Rate | None:
    """What `rate` finds in the table of our release: in a few milliseconds the first time."""
    if provider in FREE:
        return Rate(input=ZERO, output=ZERO)
    rates = (table.find(vendor, name) for vendor, name in _pairs(provider, model))
    first = next((prices for prices in rates if prices is not None), None)
    return table.rate_of(first, at) if first is not None else None


def unlisted(provider: str, model: str, at: datetime) -> Rate | None:
    """What `rate` finds in the library alone, which may take half a second the first time.

    Without a library there is nothing to ask, and one of the very version that the table was made from knows
    no more than the table.
    """
    from caliban_telemetry import library

    if not library.is_other_than(table.head().version):
        return None
    return library.rate(_pairs(provider, model), at)


def near(provider: str, model: str) -> str | None:
    """The model of the table that a mistyped name was probably meant to be, or `None`.

    A name with other digits is no mistyped one: it is another version, and may be newer than the table.
    """
    digits = re.sub(r"[^0-9]", "", model)
    names = (name for vendor in LISTS.get(provider, (provider,)) for name in table.models(vendor))
    return nearest(model, (name for name in names if re.sub(r"[^0-9]", "", name) == digits))


def is_quick() -> bool:
    """Whether `unlisted` takes no time."""
    from caliban_telemetry import library

    return library.is_loaded() or not library.is_other_than(table.head().version)


def vendor_at(base_url: str) -> str | None:
    """The vendor whose address `base_url` is, by the name of its list, or `None`."""
    return table.vendor_at(base_url)


def spellings(model: str) -> Iterator[str]:
    """`model` and what else the same model is called: without prefix, without the date of its release."""
    names = [name for name in dict.fromkeys((model, model.rpartition("/")[2])) if name]
    yield from names
    for name in dict.fromkeys(re.sub(_SUFFIX, "", re.sub(_SUFFIX, "", name)) for name in names):
        if name and name not in names:
            yield name


def _pairs(provider: str, model: str) -> Iterator[tuple[str, str]]:
    """The lists and the names in them under which the price of `model` may stand, likeliest first."""
    prefix, slash, _ = model.partition("/")
    lists = LISTS.get(provider, (provider,))
    if slash and prefix.lower() in PREFIXES:
        lists = (*lists, PREFIXES[prefix.lower()])
    for vendor in lists:
        for name in spellings(model):
            yield vendor, name
