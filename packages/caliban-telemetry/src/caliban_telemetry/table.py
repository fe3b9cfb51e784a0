"""List prices as of our release: rates.json, made by `scripts/rates` from the library genai-prices.

The file is JSON in lines: the first holds what is known of all lists, each further line one list, so that
only the list that is asked for is parsed. A list maps the id of a model to its prices, or to a pair of the
rule by which its names are known and its prices. Models keep the library's order: the first whose rule fits
wins.

A rule is a name in small letters, with `*` before, after or around it for the rest of one; a list of rules
asks for any of them, `{"all": [...]}` for each, `{"re": ...}` for a regular expression. Prices are text,
dollars per million tokens: input, output, cache reads, cache writes, `-` for none of its own; then, after a
`;`, `200000:` and the prices of longer prompts, or `call` and the dollars of each call. Empty text is a model
without prices for tokens. Where prices change, they stand by the day or the hours of UTC from which they
hold; the last that holds counts, the first for a time before all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from msgspec import Struct

from caliban_telemetry.rate import ZERO, Rate, Tier

FILE = Path(__file__).with_name("rates.json")

Rule: TypeAlias = "str | Sequence[Rule] | Mapping[str, Any]"
Prices: TypeAlias = str | Mapping[str, str]

_COMPACT_DATE = r"-(20[0-9]{2})([01][0-9])([0-3][0-9])(?=[-:]|$)"
_ROUTER = "litellm"
"""A gateway whose models are named by list and model, or by model alone."""


class TableHead(Struct, frozen=True, kw_only=True):
    """What is known of all lists: the library's version, and how providers and addresses tell their list.

    `names`, `models` and `addresses` hold rules by list, in the order in which they are asked; `elsewhere`
    the lists that have the models which a list lacks.
    """

    version: str
    date: str
    names: Mapping[str, Rule]
    models: Mapping[str, Rule]
    addresses: Mapping[str, str]
    elsewhere: Mapping[str, Sequence[str]]


@lru_cache(maxsize=1)
def head() -> TableHead:
    """What the table says of itself and of all lists."""
    facts: dict[str, Any] = json.loads(_data().partition(b"\n")[0] + b"}}")
    return TableHead(**{key: facts[key] for key in facts if key != "lists"})


def rate(vendor: str, model: str, at: datetime) -> Rate | None:
    """The rate of `model` in the list of `vendor` at the time `at` (naive is UTC), or `None`."""
    prices = find(vendor, model)
    return rate_of(prices, at) if prices is not None else None


def find(vendor: str, model: str) -> Prices | None:
    """The prices of `model` in the list of `vendor`; `None` when the list does not have it."""
    return _find(vendor.lower().strip(), model.lower())


def models(vendor: str) -> Iterator[str]:
    """The ids in the list of `vendor`, in the library's order; none where there is no such list."""
    name = _list_of(vendor.lower().strip())
    return iter(_list(name) if name is not None else ())


def rate_of(prices: Prices, at: datetime) -> Rate | None:
    """The rate in force at the time `at`; `None` for a model without prices for tokens."""
    return _rate(prices if isinstance(prices, str) else _in_force(prices, at))


@lru_cache(maxsize=64)
def vendor_at(base_url: str) -> str | None:
    """The list of the vendor whose address `base_url` is, or `None`."""
    for vendor, pattern in head().addresses.items():
        if base_url.startswith(_start(pattern)) and re.match(pattern, base_url):
            return vendor
    return None


def _start(pattern: str) -> str:
    """How all that `pattern` fits begins: to look at it spares most patterns from being compiled."""
    plain, special, _ = re.split(r"([][(){}^$*+?|.\\])", pattern.replace("\\.", "\0") + "$", maxsplit=1)
    start = plain.replace("\0", ".")
    return start[:-1] if special in "*?{" else start


@lru_cache(maxsize=512)
def _find(vendor: str, model: str) -> Prices | None:
    name, known = _list_of(vendor), head()
    if name is None and vendor == _ROUTER:
        prefix, _, rest = model.partition("/")
        if rest and (name := _list_of(prefix)) is not None:
            model = rest
        else:
            name = next((name for name, rule in known.models.items() if _fits(rule, model)), None)
    if name is None:
        return None
    lists = (name, *known.elsewhere.get(name, ()))
    entry = _first(lists, model)
    if entry is None:
        dashed = re.sub(_COMPACT_DATE, _with_dashes, model)
        entry = _first(lists, dashed) if dashed != model else None
    return entry


def _first(lists: Iterable[str], model: str) -> Prices | None:
    for name in lists:
        for id, row in _list(name).items():
            rule, prices = (id, row) if isinstance(row, str) else row
            if _fits(rule, model):
                return prices
    return None


def _list_of(provider: str) -> str | None:
    if _place_of(provider) >= 0:
        return provider
    return next((name for name, rule in head().names.items() if _fits(rule, provider)), None)


def _fits(rule: Rule, name: str) -> bool:
    if isinstance(rule, Mapping):
        if "re" in rule:
            pattern = str(rule["re"])
            begins = pattern[:1] == "^" and "|" not in pattern
            if begins and not name.startswith(_start(pattern[1:])):
                return False
            return re.search(pattern, name) is not None
        return all(_fits(each, name) for each in rule["all"])
    if not isinstance(rule, str):
        return any(_fits(each, name) for each in rule)
    if rule.startswith("*"):
        return rule[1:-1] in name if rule.endswith("*") else name.endswith(rule[1:])
    return name.startswith(rule[:-1]) if rule.endswith("*") else name == rule


def _in_force(prices: Mapping[str, str], at: datetime) -> str:
    at = at.astimezone(UTC) if at.tzinfo is not None else at
    holding = [text for when, text in prices.items() if not when or _holds(when, at)]
    return holding[-1] if holding else next(iter(prices.values()))


def _holds(when: str, at: datetime) -> bool:
    start, is_daily, end = when.partition("/")
    if not is_daily:
        return at.date() >= date.fromisoformat(start)
    now = at.time().isoformat()
    return start <= now < end if start <= end else now >= start or now < end


@lru_cache(maxsize=512)
def _rate(text: str) -> Rate | None:
    if not text:
        return None  # a model that is billed by the page, the second or the picture
    base, *further = text.split(";")
    per_call, tiers = ZERO, list[Tier]()
    for part in further:
        above, is_tier, prices = part.partition(":")
        if is_tier:
            tiers.append(Tier(above_tokens=int(above), **_prices(prices)))
        else:
            per_call = Decimal(part.split()[1])
    return Rate(per_call=per_call, tiers=tuple(tiers), **_prices(base))


def _prices(text: str) -> dict[str, Any]:
    words = ("input", "output", "cache_read", "cache_write")
    return {word: Decimal(price) for word, price in zip(words, text.split(), strict=False) if price != "-"}


def _with_dashes(match: re.Match[str]) -> str:
    day = "-".join(match.groups())
    try:
        return f"-{date.fromisoformat(day)}"
    except ValueError:
        return match[0]


@lru_cache(maxsize=1)
def _data() -> bytes:
    return FILE.read_bytes()


@lru_cache(maxsize=16)
def _list(name: str) -> Mapping[str, str | tuple[Rule, Prices]]:
    data, start = _data(), _place_of(name)
    line = data[start : data.index(b"\n", start)].rstrip(b",")
    rows: dict[str, str | tuple[Rule, Prices]] = json.loads(line)
    return rows


def _place_of(name: str) -> int:
    """Where what the list `name` holds begins in the file; below 0 where there is no such list."""
    start = f'\n"{name}":'.encode(errors="replace")
    place = _data().find(start) if '"' not in name else -1
    return place + len(start) if place >= 0 else -1
