"""Credentials that pass, on a clock of the test's."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest
from hang_guard import HANG_S

from caliban_provider.credential import Credential, CredentialCache, duration_s
from caliban_provider.errors import AuthenticationError, InvalidRequest, ServerError

pytestmark = pytest.mark.anyio


class Source:
    """Gives out numbers, each good for `lasts_s`; `fails` makes it refuse."""

    def __init__(self, *, lasts_s: float | None = None, stays: bool = False) -> None:
        self.now_s = 1000.0
        self.asked: list[bool] = []
        self.fails = False
        self.called = anyio.Event()
        self._lasts_s = lasts_s
        self._stays = stays

    def clock(self) -> float:
        return self.now_s

    async def fetch(self, refused: bool) -> Credential[int]:
        self.asked.append(refused)
        self.called.set()
        await anyio.lowlevel.checkpoint()
        if self.fails:
            raise AuthenticationError("no more")
        expires_at_s = None if self._lasts_s is None else self.now_s + self._lasts_s
        return Credential(value=0 if self._stays else len(self.asked), expires_at_s=expires_at_s)


async def exchange(cache: CredentialCache[int], source: Source) -> int | None:
    """One exchange that goes on until a renewal beside it, if there is one, has had its turn."""
    source.called = anyio.Event()
    async with cache.hold():
        used = cache.value
        await anyio.wait_all_tasks_blocked()
        return used


async def test_many_tasks_share_one_fetch() -> None:
    source = Source()
    cache = CredentialCache(source.fetch, clock=source.clock)
    async with anyio.create_task_group() as group:
        for _ in range(5):
            group.start_soon(exchange, cache, source)
    assert source.asked == [False] and cache.value == 1


async def test_what_has_passed_is_waited_for() -> None:
    source = Source(lasts_s=3600)
    cache = CredentialCache(source.fetch, clock=source.clock)
    assert await exchange(cache, source) == 1
    source.now_s += 3580
    assert await exchange(cache, source) == 2


async def test_how_much_must_be_left_can_be_said() -> None:
    source = Source(lasts_s=20)
    cache = CredentialCache(source.fetch, every_s=0, least_s=0, clock=source.clock)
    used = []
    for later_s in (0, 19.9, 0.1):
        source.now_s += later_s
        used.append(await exchange(cache, source))
    assert used == [1, 1, 2]


async def test_what_is_old_or_passes_soon_is_renewed_beside_the_exchange() -> None:
    source = Source(lasts_s=3600)
    cache = CredentialCache(source.fetch, every_s=300, clock=source.clock)
    assert await exchange(cache, source) == 1
    source.now_s += 299
    assert await exchange(cache, source) == 1
    source.now_s += 2
    assert await exchange(cache, source) == 1
    assert await exchange(cache, source) == 2
    lazy = CredentialCache(source.fetch, every_s=9000, clock=source.clock)
    assert await exchange(lazy, source) == 3
    source.now_s += 3100
    assert await exchange(lazy, source) == 3
    assert await exchange(lazy, source) == 4


async def test_nothing_is_renewed_beside_an_exchange_when_the_interval_is_zero() -> None:
    source = Source(lasts_s=3600)
    cache = CredentialCache(source.fetch, every_s=0, clock=source.clock)
    await exchange(cache, source)
    source.now_s += 3500
    assert await exchange(cache, source) == 1
    assert source.asked == [False]


async def test_a_renewal_that_fails_is_tried_again_ever_more_seldom_while_the_old_one_lasts() -> None:
    source = Source(lasts_s=36_000)
    cache = CredentialCache(source.fetch, every_s=300, clock=source.clock)
    await exchange(cache, source)
    source.fails = True
    tries: list[float] = []
    source.now_s += 300
    start_s = source.now_s
    for _ in range(120):
        before = len(source.asked)
        assert await exchange(cache, source) == 1
        if len(source.asked) > before:
            tries.append(source.now_s - start_s)
        source.now_s += 10
    assert tries == [0, 60, 180, 420, 720, 1020]
    source.now_s += 36_000
    with pytest.raises(AuthenticationError, match="no more"):
        await exchange(cache, source)


async def test_a_refusal_asks_for_others_and_says_whether_there_are() -> None:
    source = Source()
    cache = CredentialCache(source.fetch, clock=source.clock)
    await exchange(cache, source)
    assert await cache.renew() is True
    assert (cache.value, source.asked) == (2, [False, True])
    same = Source(stays=True)
    cache = CredentialCache(same.fetch, clock=same.clock)
    await exchange(cache, same)
    assert await cache.renew() is False


async def test_two_refusals_at_once_fetch_once() -> None:
    source = Source()
    cache = CredentialCache(source.fetch, clock=source.clock)
    await exchange(cache, source)
    renewed: list[bool] = []

    async def renew() -> None:
        renewed.append(await cache.renew())

    async with anyio.create_task_group() as group:
        group.start_soon(renew)
        group.start_soon(renew)
    assert (renewed, source.asked) == ([True, True], [False, True])


async def test_the_exchanges_own_error_arrives_as_it_was_raised() -> None:
    source = Source(lasts_s=300)
    cache = CredentialCache(source.fetch, clock=source.clock)
    await exchange(cache, source)
    source.now_s += 60
    with pytest.raises(ServerError, match="mine"):
        async with cache.hold():
            raise ServerError("mine")


async def test_an_exchange_that_ends_early_ends_its_renewal() -> None:
    cache: CredentialCache[int]
    slow = anyio.Event()

    async def fetch(refused: bool) -> Credential[int]:
        if cache.value is not None:
            await slow.wait()
        return Credential(value=1, expires_at_s=1300.0)

    now = [1000.0]
    cache = CredentialCache(fetch, clock=lambda: now[0])
    async with cache.hold():
        pass
    now[0] += 60
    with anyio.fail_after(HANG_S):
        async with cache.hold():
            await anyio.wait_all_tasks_blocked()
        assert cache.value == 1


@pytest.mark.parametrize("text", ["", "5 minutes", "-1", "m", "1d", "1e3"])
async def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest, match="not a duration"):
        duration_s(text)


async def test_no_credentials_show() -> None:
    assert "hidden" not in repr(Credential(value="hidden"))


async def test_an_exchange_that_is_cancelled_ends_with_its_renewal() -> None:
    source = Source(lasts_s=300)
    cache = CredentialCache(source.fetch, clock=source.clock)
    await exchange(cache, source)
    source.now_s += 60
    with anyio.CancelScope() as scope:
        async with cache.hold():
            scope.cancel()
            await anyio.sleep_forever()
    assert scope.cancelled_caught
    assert await exchange(cache, source) == 1
