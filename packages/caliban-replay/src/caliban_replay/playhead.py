"""Where a replay is: it goes from line to line as the run comes to them, so that all is in its old order.

Whoever waits for something of the recording waits for its turn; what waits for nobody happens in between.
Where the run does not come to a line any more (it goes another way than it did), order is given up after a
while, and said to be: everybody gets at once what is theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import anyio
import anyio.lowlevel

from caliban_replay.lines import HAPPENING, RecordedLine

SETTLE_STEPS: Final = 10
"""How often the event loop goes round between two lines: what the last one set going gets that far."""
PATIENCE_S: Final = 5.0
"""How long nothing may come of a line that others wait behind."""


class Playhead:
    """`run` moves along `lines`; `happens` is called for those that nobody waits for.

    `on_stuck` is told, once, the place from which on the order is not kept.
    """

    def __init__(
        self,
        lines: Sequence[RecordedLine],
        *,
        happens: Callable[[RecordedLine], None],
        on_stuck: Callable[[int], None],
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.now_s: float = 0.0
        self._lines = lines
        self._happens = happens
        self._on_stuck = on_stuck
        self._patience_s = patience_s
        self._head = 0
        self._held = False
        self._is_free = False
        self._over: set[int] = set()
        self._waiting = 0
        self._moved = anyio.Event()
        self._news = anyio.Event()

    async def turn(self, place: int) -> None:
        """Wait until everything before `place` has happened; `leave` it soon."""
        self._waiting += 1
        try:
            while not self._is_free and self._head < place:
                await self._moved.wait()
        finally:
            self._waiting -= 1
        self._held = True
        self.now_s = max(self.now_s, self._lines[place].at_s)

    def leave(self, place: int) -> None:
        """What was at `place` is taken, or nobody wants it any more."""
        self._over.add(place)
        self._held = self._held and self._head != place
        self._news.set()

    def upcoming(self) -> Iterator[RecordedLine]:
        """What happens before anything is waited for again."""
        is_taken = self._held or self._head in self._over
        for line in self._lines[self._head + is_taken :]:
            if not isinstance(line, HAPPENING):
                return
            yield line

    async def end(self) -> None:
        """Wait until there is no further line."""
        self._waiting += 1
        try:
            while not self._is_free and self._head < len(self._lines):
                await self._moved.wait()
        finally:
            self._waiting -= 1

    def let_go(self) -> None:
        """From here on nobody waits for anybody."""
        self._is_free = True
        self._tell()

    async def run(self) -> None:
        """Move along, until it is cancelled."""
        while self._head < len(self._lines) and not self._is_free:
            line = self._lines[self._head]
            if isinstance(line, HAPPENING):
                self._happens(line)
            elif not await self._taken(self._head):
                return
            for _ in range(SETTLE_STEPS):
                await anyio.lowlevel.checkpoint()
            self._head += 1
            self._tell()

    async def _taken(self, place: int) -> bool:
        """Wait until `place` is over; false where nobody waits for anybody any more."""
        while place not in self._over and not self._is_free:
            self._news = anyio.Event()
            with anyio.move_on_after(self._patience_s) as scope:
                await self._news.wait()
            if scope.cancelled_caught and self._waiting and not self._held and place not in self._over:
                self._on_stuck(place)
                self.let_go()
        return not self._is_free

    def _tell(self) -> None:
        self._moved.set()
        self._moved = anyio.Event()
