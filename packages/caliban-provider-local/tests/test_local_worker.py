"""One thread for blocking work, seen from two kinds of event loop."""

from __future__ import annotations

import threading
import time

import anyio
import pytest
from hang_guard import HANG_S

from caliban_provider_local.worker import Job, Worker

pytestmark = pytest.mark.anyio
PREFIX = "caliban-test-worker"
PACE_S = 0.001
"""Between two pushes of endless work: without it the loop has more to take in than it can."""


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith(PREFIX)]


def wait_for(event: threading.Event) -> None:
    assert event.wait(HANG_S)


async def test_what_the_thread_pushes_arrives_in_order_and_the_thread_ends() -> None:
    worker = Worker(PREFIX)

    def work(job: Job[int]) -> None:
        assert not any(job.push(number) for number in range(500))

    job = worker.start(work)
    assert [number async for number in job] == list(range(500))
    assert await job.end(within_s=HANG_S) and threads()
    done = threading.Event()
    assert await worker.close(done.set, within_s=HANG_S)
    assert done.is_set() and threads() == []
    assert await worker.close(done.clear, within_s=HANG_S) and done.is_set()


async def test_what_the_work_raises_is_raised_after_what_it_pushed() -> None:
    worker = Worker(PREFIX)

    def work(job: Job[int]) -> None:
        job.push(1)
        raise LookupError("gone")

    job = worker.start(work)
    got = []
    with pytest.raises(LookupError, match="gone"):
        async for number in job:
            got.append(number)
    assert got == [1]
    await worker.close(lambda: None, within_s=HANG_S)


async def test_ending_early_stops_endless_work() -> None:
    worker = Worker(PREFIX)
    pushed = 0

    def work(job: Job[int]) -> None:
        nonlocal pushed
        while not job.push(pushed):
            pushed += 1
            time.sleep(PACE_S)

    job = worker.start(work)
    async for number in job:
        if number == 3:
            break
    assert await job.end(within_s=HANG_S)
    stopped_at = pushed
    assert await worker.close(lambda: None, within_s=HANG_S)
    assert pushed == stopped_at


async def test_work_that_waits_for_its_turn_never_begins_once_it_is_not_wanted() -> None:
    worker = Worker(PREFIX)
    go, began = threading.Event(), threading.Event()
    first = worker.start(lambda _: wait_for(go))
    second = worker.start(lambda _: began.set())
    assert await second.end(within_s=0)
    assert [item async for item in _left(second)] == []
    go.set()
    assert [item async for item in first] == []
    assert await worker.close(lambda: None, within_s=HANG_S)
    assert not began.is_set()


async def _left(job: Job[None]):  # type: ignore[no-untyped-def]
    with pytest.raises(anyio.ClosedResourceError):
        async for item in job:
            yield item


async def test_work_that_does_not_stop_is_not_waited_for_without_end() -> None:
    worker = Worker(PREFIX)
    go = threading.Event()
    job = worker.start(lambda _: wait_for(go))
    assert not await job.end(within_s=0.05)
    assert not await worker.close(lambda: None, within_s=0.05)
    (thread,) = threads()
    go.set()
    await anyio.to_thread.run_sync(thread.join, HANG_S)
    assert threads() == []


async def test_the_wait_for_the_end_survives_cancellation() -> None:
    worker = Worker(PREFIX)
    began = threading.Event()

    def work(job: Job[int]) -> None:
        began.set()
        while not job.push(0):
            time.sleep(PACE_S)

    job = worker.start(work)
    ended = False
    with anyio.CancelScope() as scope:
        try:
            await job.__anext__()
            scope.cancel()
            await anyio.sleep_forever()
        finally:
            ended = await job.end(within_s=HANG_S)
    assert ended
    with anyio.CancelScope() as scope:
        scope.cancel()
        ended = await worker.close(lambda: None, within_s=HANG_S)
    assert ended and threads() == []


async def test_closing_ends_the_streams_that_still_run_or_wait() -> None:
    worker = Worker(PREFIX)

    def endless(job: Job[int]) -> None:
        while not job.push(0):
            time.sleep(PACE_S)

    running, waiting = worker.start(endless), worker.start(endless)
    assert await running.__anext__() == 0
    assert await worker.close(lambda: None, within_s=HANG_S)
    assert [item async for item in waiting] == []
    assert {item async for item in running} <= {0}
    with pytest.raises(RuntimeError, match="closed"):
        worker.start(endless)
