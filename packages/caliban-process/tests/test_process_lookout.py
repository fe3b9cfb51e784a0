"""One task that looks for all programs, and who takes over from it."""

from __future__ import annotations

import anyio
import pytest

from caliban_process.lookout import Lookout

pytestmark = pytest.mark.anyio


class Looker:
    """Counts how often it was told to look."""

    def __init__(self) -> None:
        self.count = 0
        self.seen = anyio.Event()

    def look(self) -> None:
        self.count += 1
        self.seen.set()

    async def again(self) -> None:
        """Wait for the next look."""
        self.seen = anyio.Event()
        await self.seen.wait()


async def test_all_look_at_the_same_moments() -> None:
    lookout, one, other = Lookout(), Looker(), Looker()
    async with anyio.create_task_group() as group:
        group.start_soon(lookout.watch, one.look)
        await anyio.lowlevel.checkpoint()
        group.start_soon(lookout.watch, other.look)
        await other.again()
        before = one.count - other.count
        await other.again()
        await one.again()
        assert one.count - other.count == before
        group.cancel_scope.cancel()


async def test_another_takes_over_from_the_one_that_looked() -> None:
    lookout, first, last = Lookout(), Looker(), Looker()
    async with anyio.create_task_group() as group:
        async with anyio.create_task_group() as leading:
            leading.start_soon(lookout.watch, first.look)
            await first.again()
            group.start_soon(lookout.watch, last.look)
            await last.again()
            leading.cancel_scope.cancel()
        count = first.count
        await last.again()
        assert first.count == count
        group.cancel_scope.cancel()


async def test_one_that_waits_for_its_turn_can_leave() -> None:
    lookout, first, last = Lookout(), Looker(), Looker()
    async with anyio.create_task_group() as group:
        group.start_soon(lookout.watch, first.look)
        await first.again()
        async with anyio.create_task_group() as waiting:
            waiting.start_soon(lookout.watch, last.look)
            await last.again()
            waiting.cancel_scope.cancel()
        count = last.count
        await first.again()
        assert last.count == count
        group.cancel_scope.cancel()
