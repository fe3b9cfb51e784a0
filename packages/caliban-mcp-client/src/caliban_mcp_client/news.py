"""What has changed at a server, for whoever follows it: the same change is told once until it was taken."""

from __future__ import annotations

from caliban_mcp_client.lazyevent import LazyEvent
from caliban_mcp_client.values import Change, ResourcesChanged, ResourceUpdated

_MOST = 1000


class Changes:
    """A stream of changes for one task: `async for change in changes`. It ends with the server.

    What a server says five times before anybody looks is told once; a change never waits for its reader.
    """

    def __init__(self) -> None:
        self._pending: dict[Change, None] = {}
        self._news = LazyEvent()
        self._is_closed = False

    def put(self, change: Change) -> None:
        """Something has changed."""
        if self._is_closed:
            return
        if len(self._pending) >= _MOST and isinstance(change, ResourceUpdated):
            change = ResourcesChanged()
        self._pending.setdefault(change)
        self._news.set()

    def close(self) -> None:
        """Nothing will change any more; what waits is still told."""
        self._is_closed = True
        self._news.set()

    def __aiter__(self) -> Changes:
        return self

    async def __anext__(self) -> Change:
        while not self._pending:
            if self._is_closed:
                raise StopAsyncIteration
            self._news = LazyEvent()
            await self._news.wait()
        change = next(iter(self._pending))
        del self._pending[change]
        return change
