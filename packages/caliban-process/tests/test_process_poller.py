"""Descriptors and moments that are served by one of those who wait, on both event loops."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import anyio
import pytest

from caliban_process.poller import Poller, current_poller

pytestmark = pytest.mark.anyio


class Line:
    """A pipe whose bytes a poller reads."""

    def __init__(self, poller: Poller) -> None:
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)
        self.data = b""
        self.poller = poller
        poller.watch(self.reading, self.read)

    def read(self) -> None:
        self.data += os.read(self.reading, 1)

    def has(self, data: bytes) -> Callable[[], bool]:
        return lambda: self.data == data

    def close(self) -> None:
        self.poller.forget(self.reading)
        self.poller.forget(self.reading)
        os.close(self.reading)
        os.close(self.writing)


@pytest.fixture
def lines() -> Iterator[tuple[Poller, Line, Line]]:
    poller = Poller()
    pair = Line(poller), Line(poller)
    yield poller, *pair
    for line in pair:
        line.close()


class Bell:
    """A timer that counts."""

    def __init__(self, at: float, every_s: float = float("inf")) -> None:
        self.at = at
        self.every_s = every_s
        self.count = 0

    def ring(self, now: float) -> None:
        assert now >= self.at
        self.count += 1
        self.at = now + self.every_s


async def test_one_who_waits_reads_for_all(lines: tuple[Poller, Line, Line]) -> None:
    poller, one, other = lines
    async with anyio.create_task_group() as group:
        group.start_soon(poller.until, one.has(b"never"))
        await anyio.wait_all_tasks_blocked()
        os.write(one.writing, b"a")
        os.write(other.writing, b"b")
        await poller.until(lambda: one.data + other.data == b"ab")
        group.cancel_scope.cancel()


async def test_the_next_one_serves_when_the_first_leaves(lines: tuple[Poller, Line, Line]) -> None:
    poller, one, other = lines
    ended: list[str] = []
    second = anyio.Event()

    async def wait(name: str, is_over: Callable[[], bool]) -> None:
        await poller.until(is_over)
        ended.append(name)
        if name == "second":
            second.set()

    async with anyio.create_task_group() as group:
        group.start_soon(wait, "first", one.has(b"a"))
        await anyio.wait_all_tasks_blocked()
        group.start_soon(wait, "second", other.has(b"b"))
        group.start_soon(wait, "third", other.has(b"bc"))
        await anyio.wait_all_tasks_blocked()
        os.write(one.writing, b"a")
        await anyio.wait_all_tasks_blocked()
        os.write(other.writing, b"b")
        await second.wait()
        os.write(other.writing, b"c")
    assert ended == ["first", "second", "third"]


@pytest.mark.parametrize("cancelled", [0, 1, 2])
async def test_whoever_is_cancelled_holds_up_nobody(lines: tuple[Poller, Line, Line], cancelled: int) -> None:
    poller, one, _ = lines
    scopes = [anyio.CancelScope() for _ in range(3)]
    ended: list[int] = []

    async def wait(number: int) -> None:
        with scopes[number]:
            await poller.until(one.has(b"a"))
            ended.append(number)

    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(wait, number)
            await anyio.wait_all_tasks_blocked()
        scopes[cancelled].cancel()
        await anyio.wait_all_tasks_blocked()
        os.write(one.writing, b"a")
    assert sorted(ended) == sorted({0, 1, 2} - {cancelled})


async def test_what_others_change_is_seen_by_all_who_wait() -> None:
    poller = Poller()
    over: set[int] = set()
    async with anyio.create_task_group() as group:
        for number in range(3):
            group.start_soon(poller.until, lambda number=number: number in over)
            await anyio.wait_all_tasks_blocked()
        for number in (1, 0, 2):
            over.add(number)
            poller.look()
            await anyio.wait_all_tasks_blocked()
    poller.look()


async def test_timers_ring_when_they_are_due_and_until_they_are_dropped() -> None:
    poller = Poller()
    now = anyio.current_time()
    once, often, never = Bell(now + 0.02), Bell(now + 0.01, 0.001), Bell(now + 600)
    for bell in (once, often, never):
        poller.add_timer(bell)
        poller.add_timer(bell)
    await poller.until(lambda: once.count == 1 and often.count >= 3)
    poller.drop_timer(often)
    poller.drop_timer(often)
    count = often.count
    async with anyio.create_task_group() as group:
        group.start_soon(poller.until, lambda: never.count == 1)
        await anyio.wait_all_tasks_blocked()
        never.at = anyio.current_time()
        poller.add_timer(never)
    assert (once.count, often.count, never.count) == (1, count, 1)


async def test_one_that_is_closed_by_what_came_before_it_is_not_called(
    lines: tuple[Poller, Line, Line],
) -> None:
    poller, one, other = lines
    calls: list[str] = []
    for name, line, rest in (("one", one, other), ("other", other, one)):
        poller.forget(line.reading)

        def take(name: str = name, rest: Line = rest) -> None:
            calls.append(name)
            poller.forget(rest.reading)

        poller.watch(line.reading, take)
        os.write(line.writing, b"a")
    await poller.until(lambda: bool(calls))
    assert len(calls) == 1


async def test_there_is_one_for_each_event_loop() -> None:
    poller = current_poller()
    assert current_poller() is poller

    async def other() -> Poller:
        return current_poller()

    def elsewhere() -> Poller:
        return anyio.run(other)

    assert await anyio.to_thread.run_sync(elsewhere) is not poller
