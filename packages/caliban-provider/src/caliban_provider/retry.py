"""When a failed call is asked again, as a pure function.

The rule: an error that says how long to wait is believed. It gets `max_told_retries` and never less than the
wait it asked for, so a server that says "in 3 s" five times costs 15 seconds and not the whole allowance.
Every other retryable error gets `max_retries` of growing, jittered waits. The two are counted apart.
"""

from __future__ import annotations

from msgspec import Struct

from caliban_provider.errors import ProviderError


class RetryPolicy(Struct, frozen=True, kw_only=True):
    """How often, and how long to wait before.

    Guessed waits double from `first_delay_s` up to `max_delay_s` and are cut to between half and all of
    that. A told wait longer than `max_told_s` is not worth a person's time: the call fails at once.
    """

    max_retries: int = 2
    max_told_retries: int = 10
    first_delay_s: float = 0.5
    max_delay_s: float = 30.0
    max_told_s: float = 60.0

    def delay(self, attempt: int, error: ProviderError, rand: float, *, told: int = 0) -> float | None:
        """Seconds to wait before asking again; `None` is to give up.

        `attempt` ≥ 1 counts the failed attempts, this one included, and `told` those before it that said
        how long to wait. `rand` is uniform in [0, 1).
        """
        if not error.retryable:
            return None
        if names_wait(error):
            told_s = error.retry_after_s or 0.0
            if told >= self.max_told_retries or told_s > self.max_told_s:
                return None
            # A little later than told, so that many clients do not come back in the same instant.
            return told_s + rand * self.first_delay_s
        guessed = attempt - told
        if guessed > self.max_retries:
            return None
        # The exponent is bounded because a float is: 2.0 ** 1024 does not exist.
        longest = min(self.max_delay_s, self.first_delay_s * 2.0 ** min(guessed - 1, 64))
        return longest * (0.5 + rand / 2)

    def allowed(self, attempt: int, error: ProviderError, *, told: int = 0) -> int:
        """How many failures there may be until `error` is final, if all that follow are of its sort.

        `attempt` is as for `delay`; `told` counts this one, too, where it says how long to wait.
        """
        if names_wait(error):
            return attempt - told + self.max_told_retries
        return told + self.max_retries


def names_wait(error: ProviderError) -> bool:
    """Whether `error` says how long to wait: such failures are counted apart. A wait of 0 says nothing."""
    return (error.retry_after_s or 0.0) > 0


NO_RETRIES = RetryPolicy(max_retries=0, max_told_retries=0)
"""Every failure is final."""
