"""Any stream under the bounds on silence that a reply has."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TypeVar

from caliban_provider.stream import MessageStop
from caliban_provider.watchdog import Silence

T = TypeVar("T")


async def watched(items: AsyncIterator[T], *, first_byte_s: float, idle_s: float) -> AsyncIterator[T]:
    """`items`, each of which says something. Raises `StreamIdle` as the reader of replies does."""
    silence = Silence(first_byte_s=first_byte_s, idle_s=idle_s)
    while True:
        try:
            item = await silence.bounded(items)
        except StopAsyncIteration:
            return
        silence.heard([MessageStop()])
        yield item
