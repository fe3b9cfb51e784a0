"""What a conversation does beside its prompts: it is seen, and an interrupt ends it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

import anyio
from anyio.abc import TaskGroup
from msgspec.structs import replace

from caliban_tui.stage import Stage
from caliban_tui.transcript.view import RunningCall

SEEN_S: Final = 0.3
"""What is done sooner is not shown as work: most commands are, and a line that comes and goes flickers."""

T = TypeVar("T")


class WorkAtHand:
    """At most one thing at a time, on `stage`. `tasks` outlives it."""

    def __init__(self, stage: Stage, tasks: TaskGroup) -> None:
        self._stage = stage
        self._tasks = tasks
        self._scope: anyio.CancelScope | None = None

    @property
    def is_under_way(self) -> bool:
        """Whether there is something that can be interrupted."""
        return self._scope is not None

    def interrupt(self) -> bool:
        """End it; false where there is nothing."""
        if self._scope is not None:
            self._scope.cancel()
        return self._scope is not None

    @contextmanager
    def seen(self, *calls: RunningCall) -> Iterator[None]:
        """What the block does is seen as work at once, `calls` among it, and an interrupt ends the block."""
        try:
            with self._stage.working(calls), anyio.CancelScope() as self._scope:
                yield
        finally:
            self._scope = None

    async def result_of(self, work: Callable[[], Awaitable[T]]) -> T | None:
        """What `work` gives; `None` where it was interrupted. It is seen once it takes its time."""
        if self.is_under_way:
            return await work()
        try:
            with anyio.CancelScope() as scope:
                self._scope = scope
                self._tasks.start_soon(self._show, scope, time.monotonic())
                return await work()
        finally:
            if self._scope is scope:
                self._scope = None
                self._stage.view = replace(self._stage.view, is_working=False)
                self._stage.changed()
        return None

    async def _show(self, scope: anyio.CancelScope, began_s: float) -> None:
        await anyio.sleep(SEEN_S)
        if self._scope is scope:
            self._stage.view = replace(self._stage.view, is_working=True, began_s=began_s, output_tokens=0)
            self._stage.changed()
