"""Keys that count when they are pressed twice: the first time, a hint says so."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

AGAIN_S: Final = 1.0
"""How soon the second time has to follow."""


class PressedAgain:
    """Remembers which key was pressed last, and when. `say` shows a hint; an empty one takes it away."""

    def __init__(self, say: Callable[[str], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._say = say
        self._clock = clock
        self._pressed: tuple[str, float] = ("", 0.0)
        self._held: tuple[str, float] = ("", 0.0)

    def is_twice(self, what: str, hint: str) -> bool:
        """Whether the key for `what` was pressed for the second time in time; else `hint` asks for it."""
        now = self._clock()
        held, since_s = self._held
        if held == what and now - since_s < AGAIN_S:
            self._held = (what, now)
            return False
        before, at_s = self._pressed
        self._pressed = (what, now)
        is_again = before == what and now - at_s < AGAIN_S
        self._say("" if is_again else hint)
        return is_again

    def hold(self, what: str) -> None:
        """The key for `what` has done something else just now: pressed on and on, it still means that."""
        self._held = (what, self._clock())

    def let_go(self) -> None:
        """Another key was pressed: what is held is held no more."""
        self._held = ("", 0.0)
