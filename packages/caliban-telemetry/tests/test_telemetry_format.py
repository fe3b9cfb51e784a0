"""Money as text."""

from __future__ import annotations

from decimal import Decimal

import pytest

from caliban_common.usage import Usage
from caliban_telemetry.errors import BudgetError
from caliban_telemetry.format import cost_report, parse_usd, total, usd
from caliban_telemetry.meter import CostMeter
from caliban_telemetry.rate import Cost


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        ("0.0034", "$0.0034"),
        ("0", "$0.00"),
        ("0.00001", "<$0.0001"),
        ("0.5", "$0.5000"),
        ("1", "$1.00"),
        ("12.345", "$12.34"),
        ("1234567.8", "$1,234,567.80"),
        ("-0.25", "-$0.2500"),
    ],
)
def test_an_amount_is_written_with_the_digits_that_matter(amount: str, text: str) -> None:
    assert usd(Decimal(amount)) == text


def test_an_unknown_amount_is_said_to_be_unknown() -> None:
    assert usd(None) == "unknown"


@pytest.mark.parametrize(
    ("text", "amount"),
    [("0.50", "0.5"), ("$2", "2"), (" 1. ", "1"), (".5", "0.5"), ("0", "0"), ("$.25", "0.25")],
)
def test_an_amount_is_read(text: str, amount: str) -> None:
    assert parse_usd(text) == Decimal(amount)


@pytest.mark.parametrize("text", ["", "-1", "nan", "inf", "1e3", "1,5", "five", "$", ".", "٣", "1" * 40])
def test_what_is_no_amount_is_refused(text: str) -> None:
    with pytest.raises(BudgetError, match="is not an amount in dollars"):
        parse_usd(text)


def test_the_report_shows_models_agents_savings_and_what_is_unknown() -> None:
    cached = Usage(input_tokens=12_000, output_tokens=300, cache_read_tokens=9_000, cache_write_tokens=50)
    plain = Usage(input_tokens=100, output_tokens=5)
    cost = Cost(input_usd=Decimal("0.02"), output_usd=Decimal("1.5"), saved_usd=Decimal("0.0243"))
    meter = CostMeter().record("anthropic", "claude", cached, cost)
    assert cost_report(meter) == (
        "total $1.52\n"
        "  anthropic/claude: $1.52 (12,000 in, 300 out; cache 9,000 read, 50 written, $0.0243 saved)"
    )
    meter = meter.record("openai", "foo", plain, None, agent="Explore", estimated=True)
    assert cost_report(meter) == (
        "total $1.52 + unknown\n"
        "  [main] anthropic/claude: $1.52 (12,000 in, 300 out; cache 9,000 read, 50 written, $0.0243 saved)\n"
        "  [Explore] openai/foo: unknown (100 in, 5 out) partly estimated"
    )
    assert cost_report(CostMeter()) == "nothing was spent"
    assert total(CostMeter()) == "$0.00"
