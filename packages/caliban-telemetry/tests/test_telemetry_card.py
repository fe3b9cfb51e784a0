"""Rates that an operator writes down."""

from __future__ import annotations

import os
import re
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_telemetry.card import CardEntry, RateCard
from caliban_telemetry.document import parse_yaml
from caliban_telemetry.errors import RatesError
from caliban_telemetry.rate import Rate, Tier
from caliban_telemetry.rates import parse_card, read_card

TODAY = date(2026, 11, 27)
WHOLE = """\
version: 1
providers:
  openai:
    - model_glob: "gpt-6.2-sol*"
      effective_from: 2026-11-17
      input_per_mtok: 2
      output_per_mtok: 10.5
      cache_read_per_mtok: 0.1
      cache_creation_per_mtok: 2.50
      tiers:
        - above_prompt_tokens: 272000
          input_per_mtok: 4
          output_per_mtok: 15
          cache_read_per_mtok: 0.2
  house: []
"""


def entry(glob: str, day: str = "2026-01-01", input_usd: int = 1, **more: object) -> dict[str, object]:
    return {
        "model_glob": glob,
        "effective_from": day,
        "input_per_mtok": input_usd,
        "output_per_mtok": 0,
        **more,
    }


def card(*rows: object) -> RateCard:
    return parse_card({"version": 1, "providers": {"p": list(rows)}}, source="here")


def found(cards: RateCard, model: str, day: date = TODAY) -> int | None:
    rate = cards.rate("p", model, day)
    return int(rate.input) if rate is not None else None


def test_a_whole_file_becomes_exact_values(tmp_path: Path) -> None:
    path = tmp_path / "rates.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + WHOLE.encode())
    assert read_card(path) == RateCard(
        entries=(
            CardEntry(
                provider="openai",
                model_glob="gpt-6.2-sol*",
                effective_from=date(2026, 11, 17),
                rate=Rate(
                    input=Decimal(2),
                    output=Decimal("10.5"),
                    cache_read=Decimal("0.1"),
                    cache_write=Decimal("2.5"),
                    tiers=(
                        Tier(
                            above_tokens=272_000,
                            input=Decimal(4),
                            output=Decimal(15),
                            cache_read=Decimal("0.2"),
                        ),
                    ),
                ),
            ),
        )
    )


def test_settings_may_hold_the_same_in_their_own_types() -> None:
    row = {
        "model_glob": "x",
        "effective_from": date(2026, 1, 1),
        "input_per_mtok": 0.1,
        "output_per_mtok": Decimal("1e-7"),
    }
    rate = card(row).rate("p", "x", TODAY)
    assert rate == Rate(input=Decimal("0.1"), output=Decimal("0.0000001"))


def test_the_newest_entry_that_is_in_force_wins() -> None:
    cards = card(
        entry("m", "2026-03-01", 3), entry("m", "2026-11-28", 9), entry("m", "2026-11-27", 5), entry("m")
    )
    days = [date(2025, 12, 31), date(2026, 1, 1), date(2026, 3, 1), TODAY, date(2026, 11, 28)]
    assert [found(cards, "m", day) for day in days] == [None, 1, 3, 5, 9]


def test_of_one_day_the_more_exact_glob_wins_then_the_first() -> None:
    cards = card(
        entry("a*", input_usd=1), entry("a-b*", input_usd=2), entry("a-b-c", input_usd=3), entry("a-b*")
    )
    assert [found(cards, model) for model in ("ax", "a-bx", "a-b-c", "b")] == [1, 2, 3, None]


def test_a_newer_entry_wins_over_a_more_exact_older_one() -> None:
    assert found(card(entry("a-b"), entry("a*", "2026-02-01", 2)), "a-b") == 2


@pytest.mark.parametrize(
    ("glob", "fitting", "other"),
    [
        ("claude-*", ("claude-", "claude-opus-5", "CLAUDE-x"), ("claude", "my-claude-x")),
        ("*-mini", ("gpt-mini", "-mini"), ("mini", "gpt-mini-2")),
        ("gpt-*-mini", ("gpt-5-mini", "gpt--mini"), ("gpt-mini", "gpt-5-minimum")),
        ("*", ("", "anything"), ()),
        ("a.b[c]?", ("a.b[c]?",), ("axbc?", "a.bcx")),
    ],
)
def test_a_glob_has_one_star_and_nothing_else_special(
    glob: str, fitting: tuple[str, ...], other: tuple[str, ...]
) -> None:
    row = card(entry(glob)).entries[0]
    assert [row.fits(model) for model in (*fitting, *other)] == [True] * len(fitting) + [False] * len(other)


def test_another_provider_of_the_same_model_has_no_rate() -> None:
    assert card(entry("*")).rate("q", "m", TODAY) is None


BAD_ROWS = [
    (entry("a*b*"), 'providers.p[0].model_glob: "a*b*" has more than one *'),
    (entry(""), 'providers.p[0].model_glob: "" is not a model name or pattern'),
    (entry("x", "tomorrow"), 'providers.p[0].effective_from: "tomorrow" is not a day'),
    (entry("x", "2026-02-30"), 'providers.p[0].effective_from: "2026-02-30" is not a day'),
    (entry("x", "20260201"), 'providers.p[0].effective_from: "20260201" is not a day'),
    (entry("x", price_per_mtok=1), 'providers.p[0]: "price_per_mtok" is not a word of the format'),
    ({"model_glob": "x", "effective_from": "2026-01-01"}, "providers.p[0]: input_per_mtok is missing"),
    ("x", 'providers.p[0]: a mapping is needed here, not "x"'),
    (None, "providers.p[0]: a mapping is needed here, not nothing"),
    (entry("x", tiers={}), "providers.p[0].tiers: a list is needed here, not a mapping"),
    (entry("x", tiers=[{}]), "providers.p[0].tiers[0]: above_prompt_tokens is missing"),
    (entry("x", tiers=[{}] * 21), "providers.p[0].tiers: there are more than 20 tiers"),
]


@pytest.mark.parametrize(("row", "message"), BAD_ROWS)
def test_a_bad_entry_is_named(row: object, message: str) -> None:
    with pytest.raises(RatesError, match=re.escape(f"here: {message}")):
        card(row)


@pytest.mark.parametrize(
    "price",
    [
        *("", "-1", "abc", "NaN", "Infinity", "1e99", "1_000", "٣", "1000000.1", "9" * 400, " 1", "1\n"),
        *(True, None, [], {}, float("nan"), float("inf"), -1, -0.5, 10**30),
    ],
)
def test_what_is_no_price_is_refused(price: object) -> None:
    with pytest.raises(RatesError, match=r"here: providers\.p\[0\]\.cache_read_per_mtok: .* is not a price"):
        card(entry("x", cache_read_per_mtok=price))


@pytest.mark.parametrize("count", ["-1", "1.5", "", "x", True, None, 1.0, 10**12])
def test_what_is_no_number_of_tokens_is_refused(count: object) -> None:
    tier = {"above_prompt_tokens": count, "input_per_mtok": 1, "output_per_mtok": 1}
    with pytest.raises(RatesError, match="is not a number of tokens"):
        card(entry("x", tiers=[tier]))


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "the document: version is missing"),
        ({"version": 1}, "the document: providers is missing"),
        ({"version": 2, "providers": {}}, "version: 2 is not supported; version 1 is"),
        ({"version": True, "providers": {}}, "version: True is not supported"),
        ({"version": 1, "providers": [], "x": 1}, 'the document: "x" is not a word of the format'),
        ({"version": 1, "providers": []}, "providers: a mapping is needed here, not a list"),
        ({"version": 1, "providers": {"p": "x"}}, 'providers.p: a list is needed here, not "x"'),
        ({"version": 1, "providers": {7: []}}, "providers.7: is not the name of a provider"),
        ([], "the document: a mapping is needed here, not a list"),
        (None, "the document: a mapping is needed here, not nothing"),
    ],
)
def test_a_bad_document_is_named(document: object, message: str) -> None:
    with pytest.raises(RatesError, match=re.escape(message)):
        parse_card(document, source="here")


def test_two_tiers_at_one_place_are_refused() -> None:
    tier = {"above_prompt_tokens": 5, "input_per_mtok": 1, "output_per_mtok": 1}
    with pytest.raises(RatesError, match="two tiers begin at the same number"):
        card(entry("x", tiers=[tier, tier]))


def test_the_number_of_entries_is_bounded() -> None:
    with pytest.raises(RatesError, match="more than 10,000 entries"):
        card(*[entry("x")] * 10_001)


BAD_FILES = [
    (b"", "the file is empty"),
    (b"# nothing\n", "the file is empty"),
    (b"version: 1\nproviders: {p: [\n", ":3: not YAML:"),
    (b"version: 1\nversion: 1\nproviders: {}\n", ':2: "version" stands here twice'),
    (b"\xff\xfe", "not UTF-8 at byte 0"),
    (b"version: \x00\n", "not YAML"),
    (b"a: &x [1]\nb: *x\n", ":1: anchors and aliases are not taken here"),
    (b"version: !!python/object/apply:os.system [ls]\n", ":1: tags are not taken here"),
    (b"? [1, 2]\n: 3\n", ":1: a key that is not text"),
    (b"---\nversion: 1\n---\nversion: 1\n", "not YAML"),
    (b"[" * 20 + b"]" * 20, "nested more than 8 deep"),
    (b"[" * 100_000, "nest"),
    (b"{a: " * 100_000, "nested more than 8 deep"),
    (b"- " * 50_000, "nested more than 8 deep"),
    (b"version: " + b"1" * 2_000, "more than 1,000 characters"),
    (b"just text", 'a mapping is needed here, not "just text"'),
]


@pytest.mark.parametrize(("data", "message"), BAD_FILES)
def test_a_garbage_file_is_an_error_that_names_it(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "rates.yaml"
    path.write_bytes(data)
    with pytest.raises(RatesError) as caught:
        read_card(path)
    assert caught.value.message.startswith(str(path))
    assert message in caught.value.message


@settings(max_examples=examples(200))
@given(
    st.binary(max_size=200)
    | st.text(alphabet=" \n:-[]{}&*!|>%@`'\"#?,a1.", max_size=120).map(str.encode)
    | st.tuples(st.integers(0, len(WHOLE)), st.binary(max_size=6)).map(
        lambda cut: WHOLE.encode()[: cut[0]] + cut[1] + WHOLE.encode()[cut[0] + 3 :]
    )
)
def test_any_bytes_are_a_card_or_a_rates_error(data: bytes) -> None:
    try:
        parse_card(parse_yaml(data, source="here"), source="here")
    except RatesError as error:
        assert error.message.startswith("here")


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    with pytest.raises(RatesError, match=r"the rates cannot be used: .* is a directory"):
        read_card(tmp_path)
    with pytest.raises(RatesError, match="the rates cannot be used: cannot read"):
        read_card(tmp_path / "missing.yaml")
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(RatesError, match="a named pipe, not a regular file"):
            read_card(tmp_path / "pipe")


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rates.yaml"
    path.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(RatesError, match="at most 1,048,576 are read"):
        read_card(path)
