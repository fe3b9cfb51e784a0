from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest
from hang_guard import HANG_S

from caliban_provider.errors import StreamIdle
from caliban_provider.watchdog import watched

pytestmark = pytest.mark.anyio


async def spoken(*items: int, then: anyio.Event | None = None) -> AsyncIterator[int]:
    for item in items:
        yield item
    if then is not None:
        await then.wait()


async def test_what_comes_in_time_passes_unchanged() -> None:
    assert [item async for item in watched(spoken(1, 2, 3), first_byte_s=HANG_S, idle_s=HANG_S)] == [1, 2, 3]


async def test_nothing_at_all_is_an_end_and_no_silence() -> None:
    assert [item async for item in watched(spoken(), first_byte_s=HANG_S, idle_s=HANG_S)] == []


async def test_a_late_first_item_has_its_own_limit() -> None:
    items = watched(spoken(then=anyio.Event()), first_byte_s=0.01, idle_s=HANG_S)
    with pytest.raises(StreamIdle, match=r"first piece of the reply did not come within 0\.01 s") as raised:
        await items.__anext__()
    assert raised.value.idle_s == 0.01


async def test_silence_after_an_item_ends_the_stream() -> None:
    received = []
    with pytest.raises(StreamIdle, match=r"next piece of the reply did not come within 0\.01 s") as raised:
        async for item in watched(spoken(1, 2, then=anyio.Event()), first_byte_s=HANG_S, idle_s=0.01):
            received.append(item)
    assert (received, raised.value.idle_s, raised.value.retryable) == ([1, 2], 0.01, False)


async def test_a_slow_consumer_is_not_taken_for_silence() -> None:
    received = []
    async for item in watched(spoken(1, 2), first_byte_s=0.05, idle_s=0.05):
        await anyio.sleep(0.1)
        received.append(item)
    assert received == [1, 2]


async def test_a_timeout_of_the_stream_itself_is_not_taken_for_silence() -> None:
    async def failing() -> AsyncIterator[int]:
        yield 1
        raise TimeoutError("mine")

    with pytest.raises(TimeoutError, match="mine"):
        _ = [item async for item in watched(failing(), first_byte_s=HANG_S, idle_s=HANG_S)]


async def test_a_cancelled_wait_is_cancelled_and_not_idle() -> None:
    items = watched(spoken(then=anyio.Event()), first_byte_s=HANG_S, idle_s=HANG_S)
    with anyio.move_on_after(0.01) as scope:
        await items.__anext__()
    assert scope.cancelled_caught
