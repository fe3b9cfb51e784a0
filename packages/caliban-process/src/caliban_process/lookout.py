"""Looking again and again at what leaves programs while they run: a timer that all of them share."""

from __future__ import annotations

from collections.abc import Callable

FIRST_S = 0.05
"""How soon after the start of a program it is looked first; then ever more seldom."""

LAST_S = 1.0
"""Between two looks while nothing new begins."""

_SLOWER = 1.5


class Lookout:
    """A `Timer` that calls every `look` at the same moments: a timer for each would keep us busy."""

    def __init__(self) -> None:
        self._looks: list[Callable[[], None]] = []
        self._wait_s = FIRST_S
        self._at = float("inf")

    @property
    def at(self) -> float:
        """When it is looked next; never where nobody wants it."""
        return self._at

    def add(self, look: Callable[[], None], now: float) -> None:
        """Call `look` soon, and then ever more seldom, until `remove`: a further program has begun."""
        self._looks.append(look)
        self._wait_s = FIRST_S
        self._at = min(self._at, now + FIRST_S)

    def remove(self, look: Callable[[], None]) -> None:
        """Call it no more, if it was called."""
        if look in self._looks:
            self._looks.remove(look)
        if not self._looks:
            self._at = float("inf")

    def ring(self, now: float) -> None:
        """Look, for all."""
        for look in tuple(self._looks):
            look()
        if self._looks:
            self._wait_s = min(LAST_S, self._wait_s * _SLOWER)
            self._at = now + self._wait_s
