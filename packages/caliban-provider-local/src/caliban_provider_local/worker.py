"""One thread for blocking work, and streams out of it into the event loop.

The thread does one job after another. What a job pushes arrives in its async stream, on asyncio and trio
alike. A job that nobody wants any more is told at its next push, or never begins.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeAlias, TypeVar

import anyio
import anyio.lowlevel

T = TypeVar("T")
Post: TypeAlias = Callable[[Callable[[], object]], object]


class Job(Generic[T]):
    """One piece of work on the thread, made by `Worker.start`: iterate over it, then `end` it.

    Iterating gives what the work pushes and raises what it raised.
    """

    def __init__(self) -> None:
        self._post = _door_to_this_loop()
        self._send, self._receive = anyio.create_memory_object_stream[T](float("inf"))
        self._done = anyio.Event()
        self._stop = threading.Event()
        self._future: Future[None] = Future()

    def push(self, item: T) -> bool:
        """On the thread: hand `item` over; true when the work is to end now."""
        if not self._stop.is_set():
            self._on_loop(partial(self._deliver, item))
        return self._stop.is_set()

    def __aiter__(self) -> Job[T]:
        return self

    async def __anext__(self) -> T:
        try:
            return await self._receive.receive()
        except anyio.EndOfStream:
            if not self._future.cancelled():
                self._future.result()
            raise StopAsyncIteration from None

    @property
    def done(self) -> bool:
        """Whether the work has ended or never will begin."""
        return self._done.is_set()

    def stop(self) -> None:
        """Tell the work to end at its next push; work that has not begun never will."""
        self._stop.set()
        self._future.cancel()

    async def wait(self, *, within_s: float) -> bool:
        """Wait for the end, at most `within_s` seconds and whoever cancels; whether it came."""
        with anyio.move_on_after(within_s, shield=True):
            await self._done.wait()
        return self.done

    async def end(self, *, within_s: float) -> bool:
        """Stop the work, drop what it still pushes, and wait for its end."""
        self.stop()
        self._receive.close()
        return await self.wait(within_s=within_s)

    def submit(self, pool: ThreadPoolExecutor, work: Callable[[Job[T]], None]) -> None:
        """Queue `work`; called once, by the worker."""
        self._future = pool.submit(work, self)
        self._future.add_done_callback(self._settle)

    def _settle(self, future: Future[None]) -> None:
        """On the thread when the work is done, on the loop's when it was cancelled before it began."""
        if future.cancelled():
            self._finish()
        else:
            self._on_loop(self._finish)

    def _on_loop(self, call: Callable[[], object]) -> None:
        """On the thread: have `call` made by the loop, without waiting for it."""
        try:
            self._post(call)
        except RuntimeError:  # the loop is over, and with it whoever wanted to know
            self._stop.set()

    def _deliver(self, item: T) -> None:
        try:
            self._send.send_nowait(item)
        except anyio.BrokenResourceError:
            self._stop.set()

    def _finish(self) -> None:
        self._send.close()
        self._done.set()


def _door_to_this_loop() -> Post:
    """How a thread leaves a call to the running loop and goes on at once.

    Waiting for the call, as `anyio.from_thread` does, would hang the thread with a loop that ends first.
    """
    loop: Any = anyio.lowlevel.current_token().native_token
    post: Post = getattr(loop, "call_soon_threadsafe", None) or loop.run_sync_soon
    return post


class Worker:
    """Owns the thread, which starts with the first job and ends with `close`."""

    def __init__(self, name: str) -> None:
        self._pool: ThreadPoolExecutor | None = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._jobs: list[Job[Any]] = []

    def start(self, work: Callable[[Job[T]], None]) -> Job[T]:
        """Queue `work`, which gets its own job to push to. Raises `RuntimeError` after `close`."""
        if self._pool is None:
            raise RuntimeError("the worker is closed")
        job: Job[T] = Job()
        self._jobs = [*(other for other in self._jobs if not other.done), job]
        job.submit(self._pool, work)
        return job

    async def close(self, last: Callable[[], None], *, within_s: float) -> bool:
        """Stop every job, do `last` on the thread and end the thread; whether it ended within `within_s`.

        A second call does nothing. The wait is not interrupted by cancellation.
        """
        pool, self._pool = self._pool, None
        if pool is None:
            return True
        for job in self._jobs:
            job.stop()
        final: Job[None] = Job()
        final.submit(pool, lambda _: last())
        pool.shutdown(wait=False)
        ended = await final.wait(within_s=within_s)
        if ended:
            pool.shutdown(wait=True)
        return ended
