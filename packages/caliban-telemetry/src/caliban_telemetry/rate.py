"""What a model asks for its tokens, and what a call costs at that rate. Decimal throughout."""

from __future__ import annotations

from decimal import Decimal

from msgspec import Struct

from caliban_common.usage import Usage

ZERO = Decimal(0)
PER_MTOK = Decimal("0.000001")


class Cost(Struct, frozen=True, kw_only=True):
    """What a call cost, in dollars; reads from and writes to the cache are in `input_usd`.

    `saved_usd` is what the prompt would have cost more without a cache; negative when only writes were paid.
    """

    input_usd: Decimal = ZERO
    output_usd: Decimal = ZERO
    saved_usd: Decimal = ZERO

    @property
    def total_usd(self) -> Decimal:
        return self.input_usd + self.output_usd


class Tier(Struct, frozen=True, kw_only=True):
    """The prices of a whole call whose prompt has more than `above_tokens` tokens; fields as in `Rate`."""

    above_tokens: int
    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None


class Rate(Struct, frozen=True, kw_only=True):
    """Prices in dollars per million tokens, and `per_call` in dollars.

    Without a price of their own, tokens read from the cache or written to it cost what other input does.
    `tiers` may come in any order; the highest one that the prompt exceeds sets the prices of the whole call,
    output included, as vendors bill it.
    """

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    per_call: Decimal = ZERO
    tiers: tuple[Tier, ...] = ()

    def cost(self, usage: Usage) -> Cost:
        """What one call with `usage` costs. Tiers look at one prompt: do not price a sum of calls."""
        band = self._band(usage.input_tokens)
        read = band.input if band.cache_read is None else band.cache_read
        write = band.input if band.cache_write is None else band.cache_write
        cached = usage.cache_read_tokens + usage.cache_write_tokens
        fresh = max(0, usage.input_tokens - cached)
        paid = read * usage.cache_read_tokens + write * usage.cache_write_tokens
        return Cost(
            input_usd=(band.input * fresh + paid) * PER_MTOK + self.per_call,
            output_usd=band.output * usage.output_tokens * PER_MTOK,
            saved_usd=(band.input * cached - paid) * PER_MTOK,
        )

    def ceiling_usd(self, *, prompt_tokens: int, max_tokens: int) -> Decimal:
        """The most that a call can cost: the whole prompt new or written to the cache, and a full reply."""
        plain = Usage(input_tokens=prompt_tokens, output_tokens=max_tokens)
        written = Usage(
            input_tokens=prompt_tokens, cache_write_tokens=prompt_tokens, output_tokens=max_tokens
        )
        return max(self.cost(plain).total_usd, self.cost(written).total_usd)

    def _band(self, prompt_tokens: int) -> Rate | Tier:
        reached = [tier for tier in self.tiers if prompt_tokens > tier.above_tokens]
        return max(reached, key=lambda tier: tier.above_tokens) if reached else self
