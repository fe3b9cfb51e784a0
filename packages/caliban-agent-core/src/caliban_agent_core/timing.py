"""What a run knows of time: injected, so that a run can be recorded and played again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import perf_counter

import anyio


def _chance() -> float:
    from random import random  # with the first call that is asked again

    return random()


class Timing:
    """`clock` gives seconds that never go back, `sleep` waits for some, `jitter` spreads waits (0 to 1)."""

    __slots__ = ("clock", "jitter", "sleep")

    def __init__(
        self,
        *,
        clock: Callable[[], float] = perf_counter,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        jitter: Callable[[], float] = _chance,
    ) -> None:
        self.clock: Callable[[], float] = clock
        self.sleep: Callable[[float], Awaitable[None]] = sleep
        self.jitter: Callable[[], float] = jitter
