"""Token counts of model calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one call or of many.

    `input_tokens` is the whole prompt; `cache_read_tokens` and `cache_write_tokens` are parts of it.
    `output_tokens` includes `thinking_tokens`. All counts are ≥ 0. `estimated` says that some of them are not
    the provider's: it told none.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    thinking_tokens: int = 0
    estimated: bool = False

    @property
    def cache_hit_ratio(self) -> float | None:
        """The share of the prompt that came from the provider's cache; `None` without a prompt."""
        return min(1.0, self.cache_read_tokens / self.input_tokens) if self.input_tokens else None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            thinking_tokens=self.thinking_tokens + other.thinking_tokens,
            estimated=self.estimated or other.estimated,
        )

    def __sub__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens - other.input_tokens,
            output_tokens=self.output_tokens - other.output_tokens,
            cache_read_tokens=self.cache_read_tokens - other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens - other.cache_write_tokens,
            thinking_tokens=self.thinking_tokens - other.thinking_tokens,
            estimated=self.estimated,
        )
