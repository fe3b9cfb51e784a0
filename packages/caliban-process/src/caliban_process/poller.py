"""Many descriptors and moments, served by one of those who wait for something.

A task for each pipe of each program costs more than what it reads, and the event loop is asked anew before
each read. Here all descriptors are in one set of the operating system, which is a descriptor itself: whoever
waits first asks the event loop for that one, calls what is ready for all, and leaves that to the next one.
"""

from __future__ import annotations

import selectors
from collections.abc import Callable
from typing import Final, Protocol

import anyio
from anyio.lowlevel import RunVar

_NEVER: Final = float("inf")


class Timer(Protocol):
    """Something that is done at a moment of the event loop's clock; `at` is infinite while there is none."""

    @property
    def at(self) -> float:
        """When it is due."""
        ...

    def ring(self, now: float) -> None:
        """Do it; the next moment is another."""
        ...


class _Waiter:
    """Somebody who waits until `is_over`; `turn` is set to have that looked at, or the others served."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self.is_over = is_over
        self.turn: anyio.Event | None = None

    def wake(self) -> None:
        if self.turn is not None:
            self.turn.set()


class Poller:
    """Calls back what waits for descriptors and moments, while somebody is in `until`; one per event loop.

    What is called must neither raise nor wait.
    """

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._ready: dict[int, Callable[[], None]] = {}
        self._timers: list[Timer] = []
        self._waiters: list[_Waiter] = []
        self._nap: anyio.CancelScope | None = None

    def watch(self, number: int, ready: Callable[[], None], *, writes: bool = False) -> None:
        """Call `ready` whenever the descriptor can be read, or written; again and again until `forget`."""
        self._selector.register(number, selectors.EVENT_WRITE if writes else selectors.EVENT_READ)
        self._ready[number] = ready

    def forget(self, number: int) -> None:
        """Watch a descriptor no more: before it is closed."""
        if self._ready.pop(number, None) is not None:
            self._selector.unregister(number)

    def add_timer(self, timer: Timer) -> None:
        """Ring it when it is due; call this again where that is sooner than it was."""
        if timer not in self._timers:
            self._timers.append(timer)
        if self._nap is not None and timer.at < self._nap.deadline:
            self._nap.deadline = timer.at

    def drop_timer(self, timer: Timer) -> None:
        """Ring it no more."""
        if timer in self._timers:
            self._timers.remove(timer)

    async def until(self, is_over: Callable[[], bool]) -> None:
        """Wait until `is_over`, which is asked after everything that is called back, and by `look`."""
        waiter = _Waiter(is_over)
        self._waiters.append(waiter)
        try:
            while not is_over():
                if self._waiters[0] is waiter:
                    await self._serve(is_over)
                else:
                    waiter.turn = anyio.Event()
                    await waiter.turn.wait()
        finally:
            self._waiters.remove(waiter)
            if self._waiters:
                self._waiters[0].wake()

    def look(self) -> None:
        """Have all who wait see whether it is over: for those who change that in another way."""
        self._wake()
        if self._nap is not None and self._waiters[0].is_over():
            self._nap.cancel()

    def _wake(self) -> None:
        for waiter in self._waiters:
            if waiter.turn is not None and waiter.is_over():
                waiter.turn.set()

    async def _serve(self, is_over: Callable[[], bool]) -> None:
        """Wait for what happens, and call what it is for, until `is_over` or a timer was due."""
        due = min((timer.at for timer in self._timers), default=_NEVER)
        try:
            with anyio.CancelScope(deadline=due) as self._nap:
                while not is_over():
                    await anyio.wait_readable(self._selector.fileno())
                    self._call_back()
        finally:
            self._nap = None
        now = anyio.current_time()
        for timer in tuple(self._timers):
            if timer.at <= now:
                timer.ring(now)
        self._wake()

    def _call_back(self) -> None:
        for key, _ in self._selector.select(0):
            ready = self._ready.get(key.fd)
            if ready is not None:  # else what came before it has closed it
                ready()
        self._wake()


_CURRENT: Final = RunVar[Poller]("caliban_process.poller")


def current_poller() -> Poller:
    """That of this event loop."""
    poller = _CURRENT.get(None)
    if poller is None:
        poller = Poller()
        _CURRENT.set(poller)
    return poller
