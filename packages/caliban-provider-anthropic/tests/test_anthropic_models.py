"""The table of models, and how names find their rows."""

from __future__ import annotations

import re

import pytest

from caliban_provider.capabilities import Capabilities, Retirement
from caliban_provider_anthropic import models
from caliban_provider_anthropic.models import TABLE, capabilities, facts, same_model


@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("claude-sonnet-4-6", "Claude Sonnet 4.6"),
        ("claude-opus-5", "Claude Opus 5"),
        ("claude-opus-5-5", "Claude Opus 5.5"),
        ("claude-opus-5-5-20260922", "Claude Opus 5.5"),
        ("claude-haiku-4-5-20251001", "Claude Haiku 4.5"),
        ("claude-opus-4-5@20251101", "Claude Opus 4.5"),
        ("us.anthropic.claude-opus-4-6-v1:0", "Claude Opus 4.6"),
        ("anthropic/claude-sonnet-4.5", "Claude Sonnet 4.5"),
        ("claude-opus-4-20250514", "Claude Opus 4"),
        ("claude-3-5-haiku-20241022", "Claude 3.5"),
        ("claude-mythos-preview", "Claude Mythos"),
        (" Claude-Fable-5-2 ", "Claude Fable 5.2"),
    ],
)
def test_the_longest_prefix_wins_in_any_spelling(name: str, row: str) -> None:
    assert facts(name).display_name == row


def test_an_unknown_claude_is_taken_for_a_new_one() -> None:
    row = facts("claude-wonder-7")
    assert (row.thinking, row.sampling, row.prefill) == ("adaptive", False, False)


def test_an_unknown_model_has_no_limits_that_would_be_guesses() -> None:
    assert capabilities("glm-5") == Capabilities(vision=True, thinking=True, efforts=(), prompt_cache=True)
    assert capabilities("").context_tokens is None


def test_the_default_model_can_do_what_the_harness_needs() -> None:
    assert capabilities("claude-sonnet-4-6") == Capabilities(
        context_tokens=1_000_000,
        max_output_tokens=128_000,
        vision=True,
        documents=True,
        document_pages=600,
        thinking=True,
        efforts=("low", "medium", "high", "max"),
        prompt_cache=True,
        structured_output=True,
    )


def test_a_name_that_the_vendor_retires_has_a_last_day_in_any_spelling() -> None:
    four_five = Retirement(on="2026-11-30", successor="claude-sonnet-5-5", as_of=models.AS_OF)
    names = ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5")
    assert [models.retirement(name) for name in names] == [four_five] * 3
    assert [models.retirement(row.prefix) for row in TABLE if row.prefix.endswith("-4-6")] == [None, None]


MILLION = 1_000_000
VENDOR = {
    # model: window, how it reasons, whether it takes a temperature, a prefill, a forced tool
    "claude-fable-5-2": (MILLION, "always", False, False, False),
    "claude-mythos-5-2": (MILLION, "always", False, False, False),
    "claude-opus-5-5": (MILLION, "always", False, False, False),
    "claude-haiku-5-5": (MILLION, "adaptive", False, False, True),
    "claude-fable-5-1": (MILLION, "always", False, False, False),
    "claude-fable-5": (MILLION, "always", False, False, False),
    "claude-opus-5": (MILLION, "adaptive", False, False, True),
    "claude-opus-4-8": (MILLION, "adaptive", False, False, True),
    "claude-opus-4-7": (MILLION, "adaptive", False, False, True),
    "claude-opus-4-6": (MILLION, "adaptive", True, False, True),
    "claude-sonnet-5": (MILLION, "adaptive", False, False, True),
    "claude-sonnet-4-6": (MILLION, "adaptive", True, False, True),
    "claude-haiku-4-5": (200_000, "budget", True, True, True),
    "claude-opus-4-5": (200_000, "budget", True, True, True),
    "claude-sonnet-4-5": (200_000, "budget", True, True, True),
}


@pytest.mark.parametrize("model", VENDOR)
def test_a_row_says_what_the_vendor_says(model: str) -> None:
    row = facts(model)
    columns = (row.context_tokens, row.thinking, row.sampling, row.prefill, row.forced_tools)
    assert columns == VENDOR[model]


def test_models_of_the_5_5_generation_cache_short_prefixes() -> None:
    for model in ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-2"):
        assert facts(model).min_cache_tokens == 512


def test_the_table_is_dated_and_sound() -> None:
    assert re.fullmatch(r"20\d\d-\d\d-\d\d", models.AS_OF)
    assert len({row.prefix for row in TABLE}) == len(TABLE)
    for row in TABLE:
        assert facts(row.prefix) is row
        assert row.display_name.startswith("Claude ")
        assert row.min_cache_tokens in (512, 1024, 2048, 4096)
        assert row.thinking in ("adaptive", "always") or row.thinking_off is None
        assert not (row.prefill and not row.sampling)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("claude-sonnet-4-6", "claude-sonnet-4-6", True),
        ("claude-haiku-4-5", "claude-haiku-4-5-20251001", True),
        ("claude-haiku-4-5@20251001", "us.anthropic.claude-haiku-4-5-20251001-v1:0", True),
        ("claude-opus-5", "claude-opus-5-5", False),
        ("claude-opus-4-6", "claude-sonnet-4-6", False),
        ("glm-5", "glm-5", True),
        ("glm-5", "glm-5.1", False),
        (None, "claude-opus-5", False),
        (None, None, False),
    ],
)
def test_an_alias_and_its_snapshot_are_one_model(left: str | None, right: str | None, same: bool) -> None:
    assert same_model(left, right) is same
    assert same_model(right, left) is same
