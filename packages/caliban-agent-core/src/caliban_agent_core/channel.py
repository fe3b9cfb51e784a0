"""The bounded channel between a run and the one who reads its events.

A plain queue would cost a task switch per event, and a reply can have fifty thousand of them. Here the two
sides switch only when the reader has nothing left or the writer has no room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio

T = TypeVar("T")


class Channel(Generic[T]):
    """Writers on one side, one reader on the other, about `capacity` items in between.

    A reader that never waits still gets every item in order; iteration ends after `close` when the channel
    is empty. After `abandon` nobody reads any more and `send` never waits. While `unread` says why nothing
    will come, a reader who would wait for ever is told so by a `RuntimeError`. `on_put`, where there is one,
    sees each item as it comes in, long before a reader may; it must not raise.
    """

    def __init__(self, capacity: int) -> None:
        self.unread: str | None = None
        self.on_put: Callable[[T], None] | None = None
        self._capacity = capacity
        self._items: deque[T] = deque()
        self._closed = False
        self._abandoned = False
        self._ready: anyio.Event | None = None
        self._room: anyio.Event | None = None

    async def send(self, item: T) -> None:
        """Add `item`, then wait while there are more than `capacity`. Cancelled or not, the item is in."""
        self.put(item)
        while len(self._items) > self._capacity and not self._abandoned:
            self._room = anyio.Event()
            await self._room.wait()

    def put(self, item: T) -> bool:
        """Add `item` at once, above the capacity if need be; false where nobody will read it any more."""
        if self._closed or self._abandoned:
            return False
        if self.on_put is not None:
            self.on_put(item)
        self._items.append(item)
        self._wake_reader()
        return True

    def close(self) -> None:
        """No more items will come."""
        self._closed = True
        self._wake_reader()

    def abandon(self) -> None:
        """Nobody will read any more: let go of the items and of a waiting writer."""
        self._abandoned = True
        self._items.clear()
        if self._room is not None:
            self._room.set()
            self._room = None

    def __len__(self) -> int:
        """How many items can be read without waiting."""
        return len(self._items)

    def __aiter__(self) -> Channel[T]:
        return self

    async def __anext__(self) -> T:
        while not self._items:
            if self._closed or self._abandoned:
                raise StopAsyncIteration
            if self.unread is not None:
                raise RuntimeError(self.unread)
            self._ready = anyio.Event()
            await self._ready.wait()
        item = self._items.popleft()
        if self._room is not None and len(self._items) * 2 <= self._capacity:
            self._room.set()
            self._room = None
        return item

    def _wake_reader(self) -> None:
        if self._ready is not None:
            self._ready.set()
            self._ready = None
