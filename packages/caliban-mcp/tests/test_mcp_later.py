"""Servers that nobody misses before a first request: they begin behind it, or when somebody wants them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_fakes import FakeClient, tool

from caliban_mcp import ListCache, PinStore, ServerConfig, ServerFleet, ServerParts, fleet

pytestmark = pytest.mark.anyio
NEVER_S = 3600.0


class Counted:
    """Opens a conversation, and counts how often it was asked for."""

    def __init__(self) -> None:
        self.client = FakeClient(tool("one"))
        self.count = 0

    @asynccontextmanager
    async def opened(self, verdict: Any) -> Any:
        self.count += 1
        yield self.client


@pytest.fixture(autouse=True)
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """No time is short enough here that it could pass by itself."""
    monkeypatch.setattr(fleet, "OPEN_S", NEVER_S)


@pytest.fixture
def known(tmp_path: Path) -> Callable[[Counted], ServerFleet]:
    """Makes a fleet of one server whose list is remembered."""
    cache, pins = ListCache(tmp_path / "cache"), PinStore(tmp_path / "pins")
    info = FakeClient().info
    cache.save("a", cache.fresh(info=info, tools=(tool("one"),)))

    def made(server: Counted, *, required: bool = False) -> ServerFleet:
        parts = ServerParts(connect=server.opened, cache=cache, key="a", pins=pins, report=lambda event: None)
        config = ServerConfig(name="a", scope="user", command="a", required=required)
        return ServerFleet([config], lambda _: parts)

    return made


async def steps() -> None:
    for _ in range(20):
        await anyio.lowlevel.checkpoint()


async def test_one_that_is_remembered_does_not_begin_by_itself_and_ends_without_having_begun(
    known: Callable[..., ServerFleet],
) -> None:
    server = Counted()
    made = known(server)
    async with made.opened():
        await steps()
        assert [one.spec.name for one in made.tools()] == ["mcp__a__one"] and server.count == 0
    assert server.count == 0


async def test_one_that_has_to_be_there_begins_at_once(known: Callable[..., ServerFleet]) -> None:
    server = Counted()
    async with known(server, required=True).opened():
        await steps()
        assert server.count == 1


async def test_a_request_that_is_about_to_leave_lets_it_begin(
    known: Callable[..., ServerFleet], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet, "REQUEST_S", 0.0)
    server = Counted()
    made, settled = known(server), anyio.Event()
    made.watch(lambda: settled.set() if made.servers[0].is_settled else None)
    async with made.opened():
        await steps()
        made.begin()
        with anyio.fail_after(20):
            await settled.wait()
        assert server.count == 1 and made.servers[0].state == "connected"


@pytest.mark.parametrize("use", ["settle", "connected", "restart"])
async def test_whoever_wants_it_lets_it_begin(known: Callable[..., ServerFleet], use: str) -> None:
    server = Counted()
    made = known(server)
    async with made.opened():
        await steps()
        with anyio.fail_after(20):
            if use == "settle":
                assert await made.settle(made.servers, NEVER_S) == ()
            elif use == "connected":
                assert await made.servers[0].connected() is server.client
            else:
                made.servers[0].restart()
                await made.servers[0].settled()
        assert server.count == 1 and made.servers[0].state == "connected"


async def test_one_that_is_let_go_before_it_began_is_gone(known: Callable[..., ServerFleet]) -> None:
    server = Counted()
    made = known(server)
    async with made.opened():
        with anyio.fail_after(20):
            await made.remove(made.servers[0])
        assert made.tools() == () and server.count == 0
