"""The words for names that a vendor takes out of service."""

from __future__ import annotations

from datetime import date

import pytest

from caliban.compose.retired import retirement_words
from caliban_provider.capabilities import Retirement


@pytest.mark.parametrize(
    ("today", "words"),
    [
        (date(2026, 11, 29), "retires 2026-11-30"),
        (date(2026, 11, 30), "retired 2026-11-30"),
        (date(2027, 1, 1), "retired 2026-11-30"),
    ],
)
def test_a_name_is_retired_from_its_last_day_on(today: date, words: str) -> None:
    assert retirement_words(Retirement(on="2026-11-30", as_of="2026-11-27"), today) == words
