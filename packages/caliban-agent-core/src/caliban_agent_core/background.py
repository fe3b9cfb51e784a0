"""A task that belongs to no frame: whoever started it may be left, closed or forgotten in any task.

A task group has to be left where it was entered. The reader of a run can be an async generator, and what
closes one that was broken off is another task, or the garbage collector: a task group there would end in the
wrong task and cancel its host.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import copy_context

import anyio


class Background:
    """`work`, in a task of its own. It must end soon after its own scope is cancelled."""

    def __init__(self, work: Callable[[], Awaitable[None]]) -> None:
        self._work = work
        self._done = anyio.Event()
        self._error: BaseException | None = None
        self._task: object = None  # the event loop itself holds on to a task only weakly

    def start(self) -> None:
        """Begin; once, and in a running event loop."""
        if anyio.get_cancelled_exc_class().__module__.partition(".")[0] == "trio":
            import trio

            trio.lowlevel.spawn_system_task(self._run, context=copy_context())
        else:
            import asyncio

            self._task = asyncio.get_running_loop().create_task(self._run())

    async def wait(self) -> None:
        """Wait for its end, whatever is cancelled meanwhile. Raises what the work raised."""
        with anyio.CancelScope(shield=True):
            await self._done.wait()
        if self._error is not None:
            raise self._error

    async def _run(self) -> None:
        try:
            await self._work()
        except anyio.get_cancelled_exc_class():
            raise  # the event loop itself comes to its end
        except BaseException as error:
            self._error = error
        finally:
            self._done.set()
