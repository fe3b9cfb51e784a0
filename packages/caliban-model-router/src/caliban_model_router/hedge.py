"""A race: a second route is asked while the first one is silent, and the first with content answers.

Each call runs in a task of its own and waits, with its first content in hand, for the verdict. The task group
stays open for as long as the reply is read, inside a context manager: leaving it ends every call.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from anyio.abc import TaskGroup

from caliban_model_router.attempt import Attempt
from caliban_model_router.dispatch import Reading, RouteAttempts
from caliban_model_router.route import Hedge
from caliban_provider.errors import ProviderError
from caliban_provider.stream import StreamEvent


@asynccontextmanager
async def raced(dispatch: RouteAttempts, hedge: Hedge) -> AsyncIterator[AsyncIterator[StreamEvent]]:
    """The reply of the first route with content; the next one is asked after `hedge.after_ms` of silence."""
    race = _Race(dispatch, hedge)
    try:
        async with anyio.create_task_group() as group:
            try:
                lane = await race.winner(group)
                yield Reading(lane, lane.attempt, dispatch)
            finally:
                group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        # One error, a reader's own or a provider's, arrives wrapped by the task group.
        if len(errors.exceptions) == 1:
            raise errors.exceptions[0] from errors.exceptions[0].__cause__
        raise
    finally:
        race.close()


class _Lane:
    """One call in a task of its own, and the stream of its events."""

    def __init__(self, attempt: Attempt, *, is_hedge: bool) -> None:
        self.attempt = attempt
        self.is_hedge = is_hedge
        self.is_ready = False
        self.error: ProviderError | None = None
        self.scope = anyio.CancelScope()
        self.won = anyio.Event()
        self._send, self._receive = anyio.create_memory_object_stream[StreamEvent](0)

    def __aiter__(self) -> _Lane:
        return self

    async def __anext__(self) -> StreamEvent:
        try:
            return await self._receive.receive()
        except anyio.EndOfStream:
            if self.error is not None:
                raise self.error from self.error.__cause__
            raise StopAsyncIteration from None

    async def run(self, race: _Race) -> None:
        """Ask, tell the race, and pass the reply on if it wins."""
        with self._send, self.scope:
            try:
                async with self.attempt.open() as events:
                    self.is_ready = True
                    race.notices.send_nowait(self)
                    await self.won.wait()
                    async for event in events:
                        await self._send.send(event)
            except ProviderError as error:
                self.error = error
                if not self.is_ready:
                    race.notices.send_nowait(self)

    def close(self) -> None:
        """Give the channel back."""
        self._send.close()
        self._receive.close()


class _Race:
    """The calls of one request that run at the same time."""

    def __init__(self, dispatch: RouteAttempts, hedge: Hedge) -> None:
        self.dispatch = dispatch
        self._hedge = hedge
        self._hedges_left = hedge.max_hedges
        self._running: list[_Lane] = []
        self._lanes: list[_Lane] = []
        self.notices, self._noticed = anyio.create_memory_object_stream[_Lane](math.inf)

    async def winner(self, group: TaskGroup) -> _Lane:
        """The first lane with content, the others being told to end. Raises what ends the request."""
        self._start(group, self.dispatch.first(), is_hedge=False)
        while True:
            lane = await self._notice()
            if lane is None:
                self._hedges_left -= 1
                attempt = self.dispatch.next()
                if attempt is None:
                    self._hedges_left = 0
                else:
                    self._start(group, attempt, is_hedge=True)
            elif lane.is_ready:
                self._settle(lane)
                return lane
            else:
                self._replace(group, lane)

    def close(self) -> None:
        """Give the channels back, and close the books on every call."""
        for lane in self._lanes:
            lane.close()
            self.dispatch.close(lane.attempt)
        self.notices.close()
        self._noticed.close()

    async def _notice(self) -> _Lane | None:
        """The next lane with news; `None` when it is time for a hedge."""
        if self._hedges_left <= 0:
            return await self._noticed.receive()
        with anyio.move_on_after(self._hedge.after_ms / 1000):
            return await self._noticed.receive()
        return None

    def _start(self, group: TaskGroup, attempt: Attempt, *, is_hedge: bool) -> None:
        lane = _Lane(attempt, is_hedge=is_hedge)
        self._running.append(lane)
        self._lanes.append(lane)
        group.start_soon(lane.run, self)

    def _settle(self, winner: _Lane) -> None:
        for lane in self._running:
            if lane is not winner:
                lane.scope.cancel()
        if winner.is_hedge:
            self.dispatch.began(winner.attempt, "it answered first", "hedge")
        else:
            self.dispatch.began(winner.attempt)
        winner.won.set()

    def _replace(self, group: TaskGroup, lane: _Lane) -> None:
        """A call failed: another one that runs takes its place, or else the next route does."""
        self._running.remove(lane)
        assert lane.error is not None
        if not self._running:
            self._start(group, self.dispatch.following(lane.attempt, lane.error), is_hedge=False)
            return
        self.dispatch.failed(lane.attempt, lane.error)
        if not lane.is_hedge and not self.dispatch.may_fall_back(lane.error):
            raise lane.error
        if not lane.is_hedge:
            heir = self._running[0]
            heir.is_hedge = False
            self.dispatch.turned(heir.attempt, lane.error)
