"""The channel between a run and its reader."""

from __future__ import annotations

import anyio
import pytest
from hang_guard import HANG_S

from caliban_agent_core.channel import Channel

pytestmark = pytest.mark.anyio


async def test_items_come_in_order_and_end_with_the_channel():
    channel: Channel[int] = Channel(4)

    async def write() -> None:
        for number in range(100):
            await channel.send(number)
        channel.close()

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        assert [item async for item in channel] == list(range(100))


async def test_a_writer_waits_for_a_slow_reader():
    channel: Channel[int] = Channel(2)
    sent: list[int] = []

    async def write() -> None:
        for number in range(6):
            await channel.send(number)
            sent.append(number)
        channel.close()

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        await anyio.wait_all_tasks_blocked()
        assert sent == [0, 1]
        assert [item async for item in channel] == list(range(6))


async def test_an_item_is_in_even_when_its_send_is_cancelled():
    channel: Channel[int] = Channel(1)
    await channel.send(1)
    async with anyio.create_task_group() as group:
        group.start_soon(channel.send, 2)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    channel.close()
    assert [item async for item in channel] == [1, 2]


async def test_who_sees_items_come_in_sees_them_before_the_reader_and_none_that_nobody_will_read():
    channel: Channel[int] = Channel(2)
    seen: list[int] = []
    channel.on_put = seen.append
    await channel.send(1)
    assert channel.put(2)
    assert seen == [1, 2]
    assert await anext(channel) == 1
    channel.abandon()
    assert not channel.put(3)
    assert seen == [1, 2]


async def test_an_abandoned_channel_holds_nobody_up():
    channel: Channel[int] = Channel(1)

    async def write() -> None:
        for number in range(10):
            await channel.send(number)

    with anyio.fail_after(HANG_S):
        async with anyio.create_task_group() as group:
            group.start_soon(write)
            await anyio.wait_all_tasks_blocked()
            channel.abandon()
    assert [item async for item in channel] == []
