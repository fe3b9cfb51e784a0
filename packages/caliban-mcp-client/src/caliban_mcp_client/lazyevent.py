"""An event that costs nothing before somebody waits for it."""

from __future__ import annotations

import anyio
import anyio.lowlevel


class LazyEvent:
    """An `anyio.Event` that is made once it is waited for: of the dozens of a conversation, few ever are."""

    __slots__ = ("_event", "_is_set")

    def __init__(self) -> None:
        self._event: anyio.Event | None = None
        self._is_set = False

    def set(self) -> None:
        """Wake all who wait, and let nobody wait any more."""
        self._is_set = True
        if self._event is not None:
            self._event.set()

    def is_set(self) -> bool:
        """Whether it was set."""
        return self._is_set

    async def wait(self) -> None:
        """Wait until it is set."""
        if self._is_set:
            await anyio.lowlevel.checkpoint()
            return
        if self._event is None:
            self._event = anyio.Event()
        await self._event.wait()
