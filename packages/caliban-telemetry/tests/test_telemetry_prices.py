"""List prices against the library that keeps them, and the order in which prices are looked up."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import genai_prices
import pytest
from extent_kit import examples
from genai_prices import data_snapshot
from hypothesis import given, settings
from hypothesis import strategies as st

from caliban_common.usage import Usage
from caliban_telemetry import prices
from caliban_telemetry.book import PriceBook
from caliban_telemetry.card import CardEntry, RateCard
from caliban_telemetry.rate import Rate

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
FREE = Rate(input=Decimal(0), output=Decimal(0))

MODELS = [
    *(
        ("anthropic", f"claude-{name}")
        for name in (
            "fable-5-2",
            "mythos-5-2",
            "opus-5-5",
            "sonnet-5-5",
            "haiku-5-5",
            "fable-5-1",
            "fable-5",
            "opus-5",
            "opus-4-8",
            "opus-4-7",
            "opus-4-6",
            "sonnet-5",
            "sonnet-4-6",
            "haiku-4-5",
            "opus-4-5",
            "sonnet-4-5",
        )
    ),
    *(
        ("openai", f"gpt-{name}")
        for name in (
            "6.1-sol",
            "6.1-terra",
            "6-astra",
            "6-sol",
            "6-luna",
            "5.6-sol",
            "5.6-terra",
            "5.6-luna",
            "5.5",
            "5.5-2026-04-23",
            "5.4",
            "5.4-mini",
            "5.4-nano",
            "5.3-codex",
            "5.2",
            "5",
            "5.1",
            "4.1",
            "4o",
        )
    ),
    *(
        ("google", f"gemini-{name}")
        for name in (
            "4-argon",
            "3.8-flash",
            "3.7-flash",
            "3.6-flash",
            "3.5-flash",
            "3.5-flash-lite",
            "3.1-pro-preview",
            "3.1-flash-lite",
            "2.5-pro",
            "2.5-flash",
            "2.5-flash-lite",
            "2.0-flash",
        )
    ),
]


def oracle(provider: str, model: str, usage: Usage, at: datetime) -> Decimal:
    theirs = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    price = genai_prices.calc_price(theirs, model, provider_id=provider, genai_request_timestamp=at)
    return price.total_price


def ours(provider: str, model: str, usage: Usage, at: datetime = NOW) -> Decimal | None:
    cost = prices.price(provider, model, usage, at)
    return cost.total_usd if cost is not None else None


USAGES = [
    Usage(input_tokens=1_234, output_tokens=567),
    Usage(input_tokens=90_000, output_tokens=1, cache_read_tokens=80_000, cache_write_tokens=9_000),
    *(
        Usage(input_tokens=prompt, output_tokens=999, cache_read_tokens=70_001, cache_write_tokens=20_001)
        for prompt in (100_000, 100_001, 200_000, 200_001, 272_000, 272_001, 900_000)
    ),
]


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_every_named_model_costs_what_the_library_says(provider: str, model: str) -> None:
    assert [ours(provider, model, usage) for usage in USAGES] == [
        oracle(provider, model, usage, NOW) for usage in USAGES
    ]


# A model's id is not always a name of it; what the library cannot find by its own id is left out.
SPECIAL = ("output_reasoning_mtok", "output_citation_mtok")
EVERY = [
    (provider.id, model.id)
    for provider in data_snapshot.get_snapshot().providers
    for model in provider.models
    if provider.id not in prices.LISTS and not any(key in repr(model.prices) for key in SPECIAL)
]


@settings(max_examples=examples(150))
@given(
    st.sampled_from(EVERY),
    st.tuples(*[st.integers(0, 400_000)] * 3),
    st.integers(0, 200_000),
    st.datetimes(min_value=datetime(2024, 1, 1), max_value=datetime(2027, 6, 1)),
)
def test_any_model_at_any_time_costs_what_the_library_says(
    pair: tuple[str, str], prompt: tuple[int, int, int], output: int, at: datetime
) -> None:
    read, write, fresh = prompt
    usage = Usage(
        input_tokens=read + write + fresh,
        output_tokens=output,
        cache_read_tokens=read,
        cache_write_tokens=write,
    )
    try:
        expected = oracle(*pair, usage, at)
    except LookupError:
        return
    cost = ours(*pair, usage, at)
    assert cost == expected or (cost is None and expected == 0)


def test_prices_in_force_on_a_day_are_used() -> None:
    usage = Usage(input_tokens=1_000_000)
    days = [datetime(2026, 1, 1, tzinfo=UTC), NOW]
    assert [ours("anthropic", "claude-sonnet-4-6", usage, day) for day in days] == [Decimal(6), Decimal(3)]
    assert [ours("google", "gemini-3.8-flash", usage, day) for day in (NOW, datetime(2027, 1, 1))] == [
        Decimal("0.75"),
        Decimal("1.5"),
    ]


@pytest.mark.parametrize(
    ("provider", "model", "same"),
    [
        ("anthropic", "anthropic/claude-sonnet-4-6", ("anthropic", "claude-sonnet-4-6")),
        ("anthropic", "CLAUDE-Sonnet-4-6", ("anthropic", "claude-sonnet-4-6")),
        ("anthropic", "claude-sonnet-4-6[1m]", ("anthropic", "claude-sonnet-4-6")),
        ("anthropic", "claude-opus-4-5-20251101", ("anthropic", "claude-opus-4-5")),
        ("openai", "openai/gpt-5.5", ("openai", "gpt-5.5")),
        ("openai", "gpt-5.5-20260423", ("openai", "gpt-5.5")),
        ("openai", "gpt-5.5-2031-01-01", ("openai", "gpt-5.5")),
        ("openai", "gpt-5.5-latest", ("openai", "gpt-5.5")),
        ("openai", "anthropic/claude-sonnet-4-6", ("anthropic", "claude-sonnet-4-6")),
        ("gateway", "vertex_ai/gemini-2.5-pro", ("google", "gemini-2.5-pro")),
        ("google", "models/gemini-2.5-pro", ("google", "gemini-2.5-pro")),
        ("vertex", "gemini-2.5-pro", ("google", "gemini-2.5-pro")),
        ("vertex", "publishers/google/models/gemini-2.5-pro", ("google", "gemini-2.5-pro")),
        ("vertex", "claude-sonnet-4-5@20250929", ("google", "claude-sonnet-4-5")),
        ("bedrock", "us.anthropic.claude-sonnet-4-6", ("aws", "us.anthropic.claude-sonnet-4-6-v1:0")),
        (
            "bedrock",
            "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-4-6",
            ("aws", "us.anthropic.claude-sonnet-4-6-v1:0"),
        ),
        ("azure", "gpt-5.5", ("openai", "gpt-5.5")),
        ("foundry", "claude-sonnet-4-6", ("anthropic", "claude-sonnet-4-6")),
        ("openrouter", "anthropic/claude-sonnet-4.5", ("openrouter", "anthropic/claude-sonnet-4.5")),
    ],
)
def test_models_are_found_however_they_are_named(provider: str, model: str, same: tuple[str, str]) -> None:
    usage = USAGES[1]
    assert ours(provider, model, usage) == oracle(*same, usage, NOW)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "local/foo"),
        ("openai", "qwen3"),
        ("gateway", "gpt-5.5"),
        ("anthropic", ""),
        ("", "/"),
        ("x", "a/"),
    ],
)
def test_an_unknown_price_is_none_and_never_zero(provider: str, model: str) -> None:
    assert prices.rate(provider, model, NOW) is None


@pytest.mark.parametrize("provider", ["local", "ollama"])
def test_local_models_are_known_and_free(provider: str) -> None:
    assert prices.rate(provider, "anything:70b", NOW) == FREE


def test_a_model_that_the_library_lacks_has_its_vendors_price() -> None:
    book = PriceBook()
    assert book.rate("openai", "gpt-6.2-sol", NOW) == Rate(input=Decimal(2), output=Decimal(10))
    assert book.rate("azure", "gpt-6.2-astra-2026-11-20", NOW) == Rate(input=Decimal(8), output=Decimal(40))
    assert book.rate("openai", "gpt-6.2-sol", datetime(2026, 11, 16)) is None


def mine(provider: str, glob: str, usd: int, day: date = date(2026, 1, 1)) -> CardEntry:
    rate = Rate(input=Decimal(usd), output=Decimal(usd))
    return CardEntry(provider=provider, model_glob=glob, effective_from=day, rate=rate)


def test_the_operators_card_wins_and_leaves_the_rest_as_listed() -> None:
    card = RateCard(entries=(mine("anthropic", "claude-sonnet-*", 7), mine("ollama", "*", 1)))
    book = PriceBook(card=card)

    def input_usd(provider: str, model: str) -> Decimal | None:
        rate = book.rate(provider, model, NOW)
        return rate.input if rate is not None else None

    assert [
        input_usd("anthropic", "claude-sonnet-4-6"),
        input_usd("anthropic", "anthropic/claude-sonnet-4-6"),
        input_usd("anthropic", "claude-opus-4-6"),
        input_usd("ollama", "llama3.1"),
        input_usd("local", "llama3.1"),
        input_usd("openai", "foo"),
    ] == [7, 7, 5, 1, 0, None]


def test_a_card_is_read_by_the_day_in_utc() -> None:
    book = PriceBook(card=RateCard(entries=(mine("p", "*", 7, date(2026, 11, 28)),)))
    evening = datetime(2026, 11, 27, 20, tzinfo=timezone(-timedelta(hours=8)))
    assert book.rate("p", "m", evening) is not None
    assert book.rate("p", "m", NOW) is None


def test_a_provider_of_ones_own_charges_what_its_vendor_does() -> None:
    card = RateCard(entries=(mine("anthropic", "claude-opus-*", 7),))
    book = PriceBook(
        card=card,
        vendors={"gateway": "anthropic"},
        base_urls={"openai": "https://openrouter.ai/api/v1", "lab": "http://127.0.0.1:8080/v1"},
    )
    usage = USAGES[0]

    def total(provider: str, model: str) -> Decimal | None:
        cost = book.price(provider, model, usage, NOW)
        return cost.total_usd if cost is not None else None

    assert total("gateway", "claude-sonnet-4-6") == oracle("anthropic", "claude-sonnet-4-6", usage, NOW)
    assert total("gateway", "claude-opus-4-6") == Decimal(7 * (1_234 + 567)) / 1_000_000
    assert total("openai", "deepseek/deepseek-chat") == oracle(
        "openrouter", "deepseek/deepseek-chat", usage, NOW
    )
    assert total("lab", "qwen3") is None
