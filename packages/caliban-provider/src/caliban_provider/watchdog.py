"""Bounds on silence: a stream that says nothing for too long ends with `StreamIdle`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Generic, TypeVar

import anyio

from caliban_provider.errors import StreamIdle

T = TypeVar("T")


def watched(items: AsyncIterator[T], *, first_byte_s: float, idle_s: float) -> AsyncIterator[T]:
    """`items`, raising `StreamIdle` after `first_byte_s` without a first item or `idle_s` without a next."""
    return _Watched(items, first_byte_s=first_byte_s, idle_s=idle_s)


class _Watched(Generic[T]):
    """The time limit stands around the wait only, so that no scope is open while the consumer works."""

    def __init__(self, items: AsyncIterator[T], *, first_byte_s: float, idle_s: float) -> None:
        self._items = items
        self._limit_s = first_byte_s
        self._idle_s = idle_s
        self._begun = False

    def __aiter__(self) -> _Watched[T]:
        return self

    async def __anext__(self) -> T:
        with anyio.move_on_after(self._limit_s):
            item = await self._items.__anext__()
            if not self._begun:
                self._begun, self._limit_s = True, self._idle_s
            return item
        what = "the next piece of the reply" if self._begun else "the first piece of the reply"
        raise StreamIdle(
            f"{what} did not come within {self._limit_s:g} s",
            idle_s=self._limit_s,
            hint="the provider is silent: try again, or allow a longer wait",
        )
