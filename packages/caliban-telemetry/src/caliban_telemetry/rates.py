"""Rates that an operator writes down: the format of rates.yaml, version 1.

    version: 1
    providers:
      openai:
        - model_glob: "gpt-6.2-sol*"        # at most one *
          effective_from: 2026-11-17
          input_per_mtok: 2
          output_per_mtok: 10
          cache_read_per_mtok: 0.2          # optional, as the next two
          cache_creation_per_mtok: 2.5
          tiers:                            # ours: prices of a call whose prompt is longer
            - above_prompt_tokens: 272000
              input_per_mtok: 4
              output_per_mtok: 15

`RateCard` says which of several entries counts. A word that the format does not have is an error, so that a
misspelt price is never silently left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.files import read_regular
from caliban_common.text import one_line
from caliban_telemetry.card import CardEntry, RateCard
from caliban_telemetry.document import parse_yaml
from caliban_telemetry.errors import RatesError
from caliban_telemetry.rate import Rate, Tier

VERSION = 1
MAX_FILE_BYTES = 1 << 20
MAX_ENTRIES = 10_000
MAX_NAME_CHARS = 200
MAX_USD_PER_MTOK = Decimal(1_000_000)
MAX_TIERS = 20
MAX_PROMPT_TOKENS = 1_000_000_000

_PRICES = ("input_per_mtok", "output_per_mtok")
_CACHE_PRICES = ("cache_read_per_mtok", "cache_creation_per_mtok")
_PRICE = re.compile(r"[0-9]{1,7}(\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2})?")
_COUNT = re.compile(r"[0-9]{1,10}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def read_card(path: Path) -> RateCard:
    """The rate card in the file `path`, YAML in UTF-8. Raises `RatesError`."""
    try:
        data = read_regular(path, max_bytes=MAX_FILE_BYTES)
    except CalibanError as error:
        raise RatesError(f"the rates cannot be used: {error.message}", hint=error.hint) from error
    return parse_card(parse_yaml(data, source=str(path)), source=str(path))


def parse_card(document: object, *, source: str) -> RateCard:
    """The rate card in plain data, from YAML or from settings. `source` begins every error.

    Prices may be text, whole numbers, Decimals or floats (by their shortest form). Raises `RatesError`.
    """
    top = _Place(one_line(source), "").table(document, required=("version", "providers"))
    if str(top["version"]) != str(VERSION) or isinstance(top["version"], bool):
        raise RatesError(
            f"{one_line(source)}: version: {_shown(top['version'])} is not supported; version 1 is"
        )
    entries: list[CardEntry] = []
    providers = _Place(one_line(source), "providers").table(top["providers"])
    for provider, rows in providers.items():
        place = _Place(one_line(source), f"providers.{one_line(str(provider), max_chars=60)}")
        if not isinstance(provider, str) or not 0 < len(provider) <= MAX_NAME_CHARS:
            place.fail("is not the name of a provider")
        for number, row in enumerate(place.sequence(rows)):
            entries.append(_entry(provider, row, place.at(f"[{number}]")))
            if len(entries) > MAX_ENTRIES:
                place.fail(f"there are more than {MAX_ENTRIES:,} entries")
    return RateCard(entries=tuple(entries))


def _entry(provider: str, row: object, place: _Place) -> CardEntry:
    table = place.table(
        row, required=("model_glob", "effective_from", *_PRICES), optional=(*_CACHE_PRICES, "tiers")
    )
    rows = place.at(".tiers").sequence(table.get("tiers", ()))
    if len(rows) > MAX_TIERS:
        place.at(".tiers").fail(f"there are more than {MAX_TIERS} tiers")
    tiers = tuple(_tier(tier, place.at(f".tiers[{n}]")) for n, tier in enumerate(rows))
    if len({tier.above_tokens for tier in tiers}) < len(tiers):
        place.at(".tiers").fail("two tiers begin at the same number of prompt tokens")
    return CardEntry(
        provider=provider,
        model_glob=place.at(".model_glob").glob(table["model_glob"]),
        effective_from=place.at(".effective_from").day(table["effective_from"]),
        rate=Rate(
            input=place.at(".input_per_mtok").price(table["input_per_mtok"]),
            output=place.at(".output_per_mtok").price(table["output_per_mtok"]),
            cache_read=place.maybe_price(table, "cache_read_per_mtok"),
            cache_write=place.maybe_price(table, "cache_creation_per_mtok"),
            tiers=tiers,
        ),
    )


def _tier(row: object, place: _Place) -> Tier:
    table = place.table(row, required=("above_prompt_tokens", *_PRICES), optional=_CACHE_PRICES)
    return Tier(
        above_tokens=place.at(".above_prompt_tokens").count(table["above_prompt_tokens"]),
        input=place.at(".input_per_mtok").price(table["input_per_mtok"]),
        output=place.at(".output_per_mtok").price(table["output_per_mtok"]),
        cache_read=place.maybe_price(table, "cache_read_per_mtok"),
        cache_write=place.maybe_price(table, "cache_creation_per_mtok"),
    )


class _Place(Struct, frozen=True):
    """A place in a card, and how the value there is read or refused."""

    source: str
    path: str

    def at(self, step: str) -> _Place:
        return _Place(self.source, f"{self.path}{step}")

    def fail(self, why: str) -> None:
        raise RatesError(
            f"{self.source}: {self.path or 'the document'}: {why}",
            hint="correct the entry, or do without the file",
        )

    def table(
        self, value: object, *, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
    ) -> Mapping[str, object]:
        if not isinstance(value, Mapping):
            self.fail(f"a mapping is needed here, not {_shown(value)}")
        assert isinstance(value, Mapping)
        missing = [word for word in required if word not in value]
        unknown = [word for word in value if word not in (*required, *optional)] if required else []
        if missing:
            self.fail(f"{missing[0]} is missing")
        if unknown:
            self.fail(f"{_shown(unknown[0])} is not a word of the format")
        return value

    def sequence(self, value: object) -> Sequence[object]:
        if not isinstance(value, (list, tuple)):
            self.fail(f"a list is needed here, not {_shown(value)}")
        assert isinstance(value, (list, tuple))
        return value

    def price(self, value: object) -> Decimal:
        text = "" if isinstance(value, bool) or not isinstance(value, _NUMBERS) else str(value)
        price = Decimal(text) if _PRICE.fullmatch(text) else None
        if price is None or price > MAX_USD_PER_MTOK:
            self.fail(
                f"{_shown(value)} is not a price: "
                f"dollars per million tokens are needed, from 0 to {MAX_USD_PER_MTOK:,}"
            )
        assert price is not None
        return price

    def maybe_price(self, table: Mapping[str, object], word: str) -> Decimal | None:
        return self.at(f".{word}").price(table[word]) if word in table else None

    def count(self, value: object) -> int:
        text = "" if isinstance(value, bool) or not isinstance(value, (str, int)) else str(value)
        if not _COUNT.fullmatch(text) or int(text) > MAX_PROMPT_TOKENS:
            self.fail(f"{_shown(value)} is not a number of tokens from 0 to {MAX_PROMPT_TOKENS:,}")
        return int(text)

    def glob(self, value: object) -> str:
        if not isinstance(value, str) or not 0 < len(value) <= MAX_NAME_CHARS:
            self.fail(f"{_shown(value)} is not a model name or pattern")
        assert isinstance(value, str)
        if value.count("*") > 1:
            self.fail(f"{_shown(value)} has more than one *")
        return value

    def day(self, value: object) -> date:
        if isinstance(value, date) and not isinstance(value, datetime):
            return value
        try:
            if isinstance(value, str) and _DAY.fullmatch(value):
                return date.fromisoformat(value)
        except ValueError:
            pass
        self.fail(f"{_shown(value)} is not a day such as 2026-11-27")
        raise AssertionError


_NUMBERS = (str, int, float, Decimal)


def _shown(value: object) -> str:
    match value:
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case None:
            return "nothing"
        case str():
            return f'"{one_line(value, max_chars=60)}"'
        case _:
            return one_line(repr(value), max_chars=60)
