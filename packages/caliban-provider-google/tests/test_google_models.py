"""The table of models beside what the vendor says of them."""

from __future__ import annotations

import pytest

from caliban_provider_google.models import TABLE, capabilities, facts

MILLION, MEBI = 1_000_000, 1_048_576
LEVELS = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
VENDOR = {
    # model: window, output, levels or budget of its reasoning, whether it takes a temperature, signs calls
    "gemini-4-argon": (MEBI, 65_536, ("LOW", "MEDIUM", "HIGH"), False, True),
    "gemini-3.8-flash": (MILLION, 65_536, LEVELS, False, True),
    "gemini-3.7-flash": (MILLION, 65_536, LEVELS, False, True),
    "gemini-3.6-flash": (MILLION, 65_536, LEVELS, False, True),
    "gemini-3.5-flash": (MILLION, 65_536, LEVELS, True, True),
    "gemini-3.5-flash-lite": (MILLION, 65_536, LEVELS, True, True),
    "gemini-3.1-flash-lite": (MILLION, 65_536, LEVELS, True, True),
    "gemini-2.5-pro": (MEBI, 65_536, (128, 32_768), True, False),
    "gemini-2.5-flash": (MEBI, 65_536, (512, 24_576), True, False),
    "gemini-2.5-flash-lite": (MEBI, 65_536, (512, 24_576), True, False),
    "gemini-2.0-flash": (MILLION, 8192, (), True, False),
}


@pytest.mark.parametrize("model", VENDOR)
def test_a_row_says_what_the_vendor_says(model: str) -> None:
    row = facts(model)
    reasons = row.levels or row.budget or ()
    columns = (row.context_tokens, row.max_output_tokens, reasons, row.sampling, row.signs)
    assert columns == VENDOR[model]


def test_every_row_is_found_by_its_own_name_and_reasons_in_one_way() -> None:
    for row in TABLE:
        assert facts(row.prefix) is row
        assert not (row.levels and row.budget)
        assert capabilities(row.prefix).context_tokens == row.context_tokens


def test_a_gemini_without_a_row_is_taken_for_a_new_one() -> None:
    assert facts("gemini-9-xenon").levels == ("LOW", "MEDIUM", "HIGH")
    assert capabilities("gemma-9").context_tokens is None
