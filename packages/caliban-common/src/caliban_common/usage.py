"""Token counts of model calls."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct, field

MAX_COUNT = 10**15
"""No sum of a session is greater: what a file says beyond it is damage."""

Count: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_COUNT)]

MAX_TOKENS = 10**12
"""No call uses more: a greater count is a fault of who tells it."""


def told_count(value: object) -> int | None:
    """The count that a provider tells in `value`, a whole number from 0 to `MAX_TOKENS`; else `None`."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MAX_TOKENS else None


class Usage(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Tokens of one call or of many.

    `input_tokens` is the whole prompt; `cache_read_tokens` and `cache_write_tokens` are parts of it.
    `cache_write_long_tokens` are those of the latter that the cache keeps for an hour, which costs more.
    `output_tokens` includes `thinking_tokens`. All counts are ≥ 0. `estimated` says that some of them are not
    the provider's: it told none. In JSON the cache's counts have the names of the session file.
    """

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_write_tokens: Count = field(default=0, name="cache_creation_input_tokens")
    cache_read_tokens: Count = field(default=0, name="cache_read_input_tokens")
    thinking_tokens: Count = 0
    cache_write_long_tokens: Count = 0
    estimated: bool = False

    @property
    def cache_hit_ratio(self) -> float | None:
        """The share of the prompt that came from the provider's cache; `None` without a prompt."""
        return min(1.0, self.cache_read_tokens / self.input_tokens) if self.input_tokens else None

    def then(self, later: Usage) -> Usage:
        """The counts of a call that were told as `self` first and as `later` then.

        Counts are running totals: one that is left out later, or 0, takes nothing back.
        """
        return Usage(
            input_tokens=later.input_tokens or self.input_tokens,
            output_tokens=later.output_tokens or self.output_tokens,
            cache_read_tokens=later.cache_read_tokens or self.cache_read_tokens,
            cache_write_tokens=later.cache_write_tokens or self.cache_write_tokens,
            thinking_tokens=later.thinking_tokens or self.thinking_tokens,
            cache_write_long_tokens=later.cache_write_long_tokens or self.cache_write_long_tokens,
            estimated=later.estimated,
        )

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            thinking_tokens=self.thinking_tokens + other.thinking_tokens,
            cache_write_long_tokens=self.cache_write_long_tokens + other.cache_write_long_tokens,
            estimated=self.estimated or other.estimated,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cache_read_tokens=self.cache_read_tokens - other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens - other.cache_write_tokens,
            thinking_tokens=self.thinking_tokens - other.thinking_tokens,
            cache_write_long_tokens=self.cache_write_long_tokens - other.cache_write_long_tokens,
            estimated=self.estimated,
        )
