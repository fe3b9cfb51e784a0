"""Bounds on silence: a reply that says nothing for too long ends with `StreamIdle`."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import TypeVar

import anyio

from caliban_provider.errors import StreamIdle
from caliban_provider.stream import BlockStart, MessageDelta, MessageStart, StreamEvent

T = TypeVar("T")

THINKING_FACTOR = 2
"""How much longer a model that has begun to think is waited for than for the beginning of a reply."""


class Silence:
    """How long nothing was said while somebody waited; the time in which nobody does is not counted.

    Bytes must come within `first_byte_s`, and then each `idle_s`; and so must content, which `heard` tells.
    `is_broken` says that some did: the silence before the reply is over.
    """

    def __init__(self, *, first_byte_s: float, idle_s: float) -> None:
        self._first_s = first_byte_s
        self._idle_s = idle_s
        self._chunk_s = first_byte_s
        self._content_s = first_byte_s
        self._waited_s: float = 0.0
        self._begun = False
        self.is_broken: bool = False

    async def bounded(self, chunks: AsyncIterator[T]) -> T:
        """The next of `chunks`. Raises `StreamIdle` where it, or content, does not come in time.

        The time limit stands around the wait only, so that no scope is open while the consumer works.
        """
        left_s = self._content_s - self._waited_s
        limit_s, told_s = min((self._chunk_s, self._chunk_s), (left_s, self._content_s))
        started = time.monotonic()
        with anyio.move_on_after(limit_s):
            chunk = await anext(chunks)
            self._waited_s += time.monotonic() - started
            self._chunk_s, self._begun = self._idle_s, True
            return chunk
        what = "the next piece of the reply" if self._begun else "the first piece of the reply"
        raise StreamIdle(
            f"{what} did not come within {told_s:g} s",
            idle_s=told_s,
            hint="the provider is silent: try again, or allow a longer wait (first_byte_s, idle_s)",
        )

    def heard(self, events: Sequence[StreamEvent]) -> None:
        """Take notice of `events`, which are not empty: whether they say anything."""
        if not _say_something(reversed(events)):
            return
        last = events[-1]
        thinks = isinstance(last, BlockStart) and last.kind == "thinking"
        self._waited_s, self.is_broken = 0.0, True
        self._content_s = self._first_s * THINKING_FACTOR if thinks else self._idle_s


def _say_something(events: Iterable[StreamEvent]) -> bool:
    for event in events:
        if isinstance(event, MessageStart) or (isinstance(event, MessageDelta) and event.stop_reason is None):
            continue
        return True
    return False
