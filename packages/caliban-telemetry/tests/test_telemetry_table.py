"""The table of our release against the library that it is made from, and what looking into it costs."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import genai_prices
import pytest
from genai_prices import data_snapshot
from hang_guard import HANG_S

from caliban_common.usage import Usage
from caliban_telemetry import library, prices, table
from caliban_telemetry.account import Account
from caliban_telemetry.book import PriceBook
from caliban_telemetry.budget import Budget
from caliban_telemetry.rate import Rate

NOW = datetime(2026, 11, 27, 12, tzinfo=UTC)
TIMES = (datetime(2024, 2, 1), datetime(2026, 1, 1, 0, 45), NOW, datetime(2027, 6, 1, 17, tzinfo=UTC))
PROVIDERS = data_snapshot.get_snapshot().providers
SCRIPT = Path(__file__).parents[3] / "scripts" / "rates"
HEAVY = "{'genai_prices', 'yaml', 'pydantic', 'httpx2', 'asyncio', 'importlib.metadata'}"


def names(rule: object) -> list[str]:
    """Names that may fit a rule; the library is asked whether they do."""
    if isinstance(rule, dict):
        return [name for each in rule.get("all", ()) for name in names(each)]
    if isinstance(rule, list):
        return [name for each in rule for name in names(each)]
    return [str(rule).strip("*"), str(rule).replace("*", "x-1")]


def candidates(provider: str) -> list[str]:
    """Every id of a list and every name that one of its rules tells."""
    rows = json.loads(table.FILE.read_bytes())["lists"][provider]
    aliases = [
        name for id, row in rows.items() for name in (id, *names(row if isinstance(row, str) else row[0]))
    ]
    return [*dict.fromkeys(name for name in aliases if name)]


def usages(rate: Rate) -> list[Usage]:
    """Prompts just at and just above every tier, with and without a cache."""
    edges = {1_000, *(tier.above_tokens + more for tier in rate.tiers for more in (0, 1))}
    plain = [Usage(input_tokens=edge, output_tokens=321) for edge in sorted(edges)]
    return plain + [
        Usage(
            input_tokens=edge,
            output_tokens=7,
            cache_read_tokens=edge // 3,
            cache_write_tokens=edge // 5,
        )
        for edge in sorted(edges)
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


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("provider", [each.id for each in PROVIDERS])
def test_every_name_of_every_model_costs_what_the_library_says(provider: str) -> None:
    rates = {name: table.rate(provider, name, NOW) for name in candidates(provider)}
    priced = {name: rate for name, rate in rates.items() if rate is not None}
    assert priced or provider in SILENT
    assert [
        (name, usage)
        for name, rate in priced.items()
        for usage in usages(rate)
        if rate.cost(usage).total_usd != oracle(provider, name, usage, NOW)
    ] == []


SILENT = ("elevenlabs",)
"""Lists without a price for text tokens."""


@pytest.mark.long(keep=5)
@pytest.mark.parametrize("provider", [each.id for each in PROVIDERS])
def test_the_table_and_the_library_find_the_same_rate_at_any_time(provider: str) -> None:
    for name in (*candidates(provider), "no-such-model", "gpt-5.2-20251211", "Claude-Opus-4-5-20251101"):
        ours = [table.rate(provider, name, at) for at in TIMES]
        assert ours == [library.rate([(provider, name)], at) for at in TIMES], name


def test_hours_of_the_day_are_kept_over_midnight() -> None:
    start = datetime(2025, 6, 1, tzinfo=UTC)
    for minutes in range(0, 24 * 60, 15):
        at = start + timedelta(minutes=minutes)
        for model in candidates("deepseek"):
            assert table.rate("deepseek", model, at) == library.rate([("deepseek", model)], at)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("Gemini", "gemini-2.5-pro"),
        ("my-bedrock", "eu.anthropic.claude-sonnet-4-6"),
        ("xai", "grok-4"),
        ("azure", "claude-sonnet-4-6"),
        ("litellm", "groq/llama-3.3-70b-versatile"),
        ("litellm", "gpt-5.5"),
        ("litellm", "nobody/nothing"),
        ("lab", "gpt-5.5"),
        ("", ""),
    ],
)
def test_a_provider_finds_its_list_as_in_the_library(provider: str, model: str) -> None:
    assert table.rate(provider, model, NOW) == library.rate([(provider, model)], NOW)


@pytest.mark.parametrize(
    "url",
    [
        "https://api.anthropic.com/v1",
        "https://bedrock-runtime.eu-west-1.amazonaws.com",
        "https://me.openai.azure.com/openai",
        "https://api.minimax.io/v1",
        "https://api.minimaxi.com/v1",
        "https://generativelanguage.googleapis.com/v1beta",
        "https://x.modal.run/v1",
        "https://openrouter.ai/api/v1",
        "https://api.openai.com/v1",
        "http://127.0.0.1:1234/v1",
        "https://api.openai.com.evil.example",
        "https://example.com",
        "",
    ],
)
def test_an_address_tells_the_vendor_as_in_the_library(url: str) -> None:
    assert table.vendor_at(url) == (library.vendor_at(url) if url else None)


def test_every_address_pattern_begins_as_its_start_says() -> None:
    for each in PROVIDERS:
        if each.api_pattern.startswith("https://api") and "(" not in each.api_pattern:
            address = each.api_pattern.replace("\\", "")
            assert table.vendor_at(address) == library.vendor_at(address)


def test_the_table_is_small_and_of_the_installed_library() -> None:
    assert table.FILE.stat().st_size <= 400_000
    assert not library.is_other_than(table.head().version)
    assert library.is_other_than("0.0.1")
    if SCRIPT.exists():
        run = subprocess.run(
            [sys.executable, str(SCRIPT), "--check"],
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
        )
        assert (run.returncode, run.stderr) == (0, "")


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=HANG_S, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    ("provider", "model", "priced"),
    [("anthropic", "claude-sonnet-4-6", True), ("openai", "gpt-6.2-sol", True), ("openai", "qwen3", False)],
)
def test_a_price_loads_no_heavy_library(provider: str, model: str, priced: bool) -> None:
    printed = run(
        "import sys, datetime\n"
        "from caliban_common.usage import Usage\n"
        "from caliban_telemetry.book import PriceBook\n"
        f"cost = PriceBook().price({provider!r}, {model!r}, Usage(input_tokens=1), "
        "datetime.datetime(2026, 11, 27))\n"
        f"print(cost is not None, sorted({HEAVY} & set(sys.modules)))\n"
    )
    assert printed == f"{priced} []"


class Asked:
    """List prices that count how often they are asked."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, provider: str, model: str, at: datetime) -> Rate | None:
        self.times += 1
        return Rate(input=Decimal(1), output=Decimal(1))


def test_the_library_is_asked_only_for_what_the_table_lacks() -> None:
    unlisted = Asked()
    book = PriceBook(unlisted=unlisted)
    assert book.rate("anthropic", "claude-sonnet-4-6", NOW) == prices.listed(
        "anthropic", "claude-sonnet-4-6", NOW
    )
    assert unlisted.times == 0
    assert book.rate("anthropic", "claude-new", NOW) == Rate(input=Decimal(1), output=Decimal(1))
    assert unlisted.times == 1


def test_a_newer_library_is_not_loaded_before_the_first_call_and_once_after_it() -> None:
    printed = run(
        "import sys, anyio, msgspec\n"
        "from decimal import Decimal\n"
        "from caliban_common.usage import Usage\n"
        "from caliban_telemetry import table\n"
        "from caliban_telemetry.account import Account\n"
        "from caliban_telemetry.book import PriceBook\n"
        "from caliban_telemetry.budget import Budget\n"
        "from caliban_telemetry import library\n"
        "head = msgspec.structs.replace(table.head(), version='0.0.1')\n"
        "table.head = lambda: head\n"
        "async def main():\n"
        "    account = Account(PriceBook(), Budget(limit_usd=Decimal(1)))\n"
        "    call = dict(provider='anthropic', model='claude-new', prompt_tokens=1, max_tokens=1)\n"
        "    number = await account.before_call(**call)\n"
        "    print(library.is_loaded(), end=' ')\n"
        "    account.after_call(number, Usage(input_tokens=1))\n"
        "    print(library.is_loaded())\n"
        "anyio.run(main)\n"
    )
    assert printed == "False True"


@pytest.mark.anyio
async def test_a_refusal_of_unpriced_models_asks_the_library_first() -> None:
    unlisted = Asked()
    account = Account(PriceBook(unlisted=unlisted), Budget(limit_usd=Decimal(1), unpriced="refuse"))
    answer = await account.before_call(
        provider="anthropic", model="claude-new", prompt_tokens=1, max_tokens=1
    )
    assert (answer, unlisted.times) == (1, 1)


def test_without_the_library_the_table_prices_and_a_model_it_lacks_has_no_price() -> None:
    printed = run(
        "import sys\n"
        "sys.modules['genai_prices'] = None\n"
        "from datetime import UTC, datetime\n"
        "from caliban_telemetry import prices\n"
        "at = datetime(2026, 11, 27, tzinfo=UTC)\n"
        "known = prices.rate('anthropic', 'claude-sonnet-4-6', at)\n"
        "print(known is not None, prices.rate('anthropic', 'no-such-model', at), prices.is_quick())\n"
    )
    assert printed == "True None True"
