"""Looking again and again at what leaves programs while they run: one task looks for all of them."""

from __future__ import annotations

from collections.abc import Callable

import anyio
from msgspec import Struct

FIRST_S = 0.05
"""How soon after the start of a program it is looked first; then ever more seldom."""

LAST_S = 1.0
"""Between two looks while nothing new begins."""

_SLOWER = 1.5


class Watch(Struct, frozen=True, kw_only=True, eq=False):
    """Somebody who is to `look`; its task looks for all once it is its `turn`."""

    look: Callable[[], None]
    turn: anyio.Event


class Lookout:
    """Has every `look` called at the same moments: a timer for each would keep us busy."""

    def __init__(self) -> None:
        self._watches: list[Watch] = []
        self._pause: anyio.CancelScope | None = None
        self._wait_s = FIRST_S

    async def watch(self, look: Callable[[], None]) -> None:
        """Have `look` called soon, and then ever more seldom, until this is cancelled."""
        mine = Watch(look=look, turn=anyio.Event())
        self._watches.append(mine)
        try:
            if self._watches[0] is not mine:
                self._hasten()
                await mine.turn.wait()
            await self._go_on()
        finally:
            self._watches.remove(mine)
            if self._watches:
                self._watches[0].turn.set()

    async def _go_on(self) -> None:
        self._wait_s = FIRST_S
        while True:
            with anyio.CancelScope(deadline=anyio.current_time() + self._wait_s) as self._pause:
                await anyio.sleep_forever()
            self._pause = None
            for watch in tuple(self._watches):
                watch.look()
            self._wait_s = min(LAST_S, self._wait_s * _SLOWER)

    def _hasten(self) -> None:
        """A further program has begun: look soon again."""
        self._wait_s = FIRST_S
        if self._pause is not None:
            self._pause.deadline = min(self._pause.deadline, anyio.current_time() + FIRST_S)
