"""When a history should be made shorter: before the window is full, and after it was (A19, A20)."""

from __future__ import annotations

MAX_REACTIONS = 3
"""How often one run makes a refused history shorter: an estimate may fall short more than once."""

MAX_FAILURES = 2
"""Failures in a row after which forethought is off for the rest of the run."""


class Trigger:
    """The memory of one run about its compactions.

    `threshold` is the share of the window (0 to 1) from which on compaction is due; `None` or 0 is never.
    `failures` counts those in a row, `reactions` those of the run to a refused history.
    """

    def __init__(self, *, threshold: float | None = 0.75) -> None:
        self.threshold = threshold
        self.failures: int = 0
        self.reactions: int = 0

    def due(self, tokens: int, window_tokens: int) -> bool:
        """Whether a history of `tokens` should be made shorter before it is sent."""
        if not self.threshold or window_tokens <= 0 or self.failures >= MAX_FAILURES:
            return False
        return tokens >= self.threshold * window_tokens

    def react(self) -> bool:
        """Whether a history that the provider refused as too long may be made shorter (again)."""
        self.reactions += 1
        return self.reactions <= MAX_REACTIONS

    def failed(self) -> None:
        """A compaction did not work."""
        self.failures += 1

    def succeeded(self) -> None:
        """A compaction worked."""
        self.failures = 0
