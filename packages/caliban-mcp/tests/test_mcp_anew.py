"""Servers that begin anew, are paused, come and go in the midst of a run."""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_fakes import FakeClient, tool

from caliban_mcp import Connector, ListCache, PinStore, ServerConfig, ServerFleet, ServerParts
from caliban_mcp.status import ServerNews
from caliban_mcp_client.errors import ConnectError
from caliban_mcp_client.handler import DecliningHandler
from caliban_mcp_client.news import Changes
from caliban_mcp_client.values import ServerLost
from caliban_process import Runner

pytestmark = pytest.mark.anyio


class Place:
    """Conversations by server: each attempt takes the next of its list, and the last one again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.news: list[ServerNews] = []
        self.logins = 0
        self.opened: list[str] = []
        self.open_now = 0
        self.answers: dict[str, list[Any]] = {}

    def parts(self, config: ServerConfig) -> ServerParts:
        @asynccontextmanager
        async def connect(verdict: Any) -> Any:
            self.opened.append(config.name)
            waiting = self.answers[config.name]
            answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
            if isinstance(answer, Exception):
                raise answer
            if answer is None:
                await anyio.sleep_forever()
            self.open_now += 1
            answer.changes = Changes()  # those of the conversation before are closed
            try:
                yield answer
            finally:
                self.open_now -= 1

        return ServerParts(
            connect=connect,
            cache=ListCache(self.folder / "cache"),
            key=config.name,
            pins=PinStore(self.folder / "pins"),
            report=self.news.append,
            logins=lambda: self.logins,
        )

    def fleet(self, **answers: list[Any]) -> ServerFleet:
        self.answers = answers
        return ServerFleet([config(name) for name in answers], self.parts)


def config(name: str, **more: Any) -> ServerConfig:
    return ServerConfig(name=name, scope="user", command=name, **more)


def names(fleet: ServerFleet) -> list[str]:
    return [one.spec.name for one in fleet.tools()]


async def settled(fleet: ServerFleet) -> None:
    with anyio.fail_after(20):
        await fleet.settle(fleet.servers, None)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


async def test_a_server_that_went_without_a_login_begins_anew_once_there_is_another(place: Place) -> None:
    wanted = ConnectError("unauthorized", "the server wants a login")
    fleet = place.fleet(desk=[wanted, wanted, FakeClient(tool("a"))])
    async with fleet.opened():
        await settled(fleet)
        (server,) = fleet.servers
        assert (server.state, fleet.revive(), len(place.opened)) == ("needs-auth", (), 1)
        place.logins += 1  # somebody else's: it is tried, and told once more
        assert fleet.revive() == (server,)
        await settled(fleet)
        assert (server.state, fleet.revive()) == ("needs-auth", ())
        place.logins += 1
        assert (await server.connected()).info.era == "legacy"
        assert (server.state, names(fleet)) == ("connected", ["mcp__desk__a"])
    assert [one.kind for one in place.news] == ["failed", "failed"]
    assert place.open_now == 0


async def test_one_that_has_ended_is_there_again_after_a_restart_and_its_tool_is_the_same(
    place: Place,
) -> None:
    first, second = FakeClient(tool("a")), FakeClient(tool("a"), tool("b"))
    fleet = place.fleet(desk=[first, second])
    async with fleet.opened():
        await settled(fleet)
        (server,) = fleet.servers
        before = fleet.tools()[0]
        first.changes.put(ServerLost(reason="it died"))
        with anyio.fail_after(20):
            while server.state != "failed":
                await anyio.sleep(0)
        server.restart()
        server.restart()  # twice is once
        await settled(fleet)
        assert (server.state, server.client, len(place.opened)) == ("connected", second, 2)
        assert names(fleet) == ["mcp__desk__a", "mcp__desk__b"]
        assert fleet.tools()[0] is before
    assert place.open_now == 0


async def test_a_paused_server_offers_nothing_until_it_may_again(place: Place) -> None:
    fleet = place.fleet(desk=[FakeClient(tool("a"))], other=[FakeClient(tool("b"))])
    async with fleet.opened():
        await settled(fleet)
        server = fleet.find("desk")
        assert server is not None
        server.pause("a person has switched it off")
        assert (server.state, server.is_settled, names(fleet)) == ("disabled", True, ["mcp__other__b"])
        assert server.status.words == "a person has switched it off"
        with anyio.fail_after(20):
            while place.open_now > 1:
                await anyio.sleep(0)
        server.restart()
        await settled(fleet)
        assert (server.state, place.open_now) == ("connected", 2)
        assert names(fleet) == ["mcp__other__b", "mcp__desk__a"], "what comes again stands behind the others"
    assert place.open_now == 0


async def test_one_that_is_disabled_is_not_connected_before_somebody_lets_it(place: Place) -> None:
    place.answers = {"desk": [FakeClient(tool("a"))]}
    fleet = ServerFleet([config("desk", disabled=True)], place.parts)
    async with fleet.opened():
        await settled(fleet)
        (server,) = fleet.servers
        assert (server.status.state, server.status.words) == ("disabled", "it is disabled")
        assert (place.opened, fleet.tools(), fleet.pending()) == ([], (), ())
        server.restart()
        await settled(fleet)
        assert (server.state, server.status.words, names(fleet)) == ("connected", "", ["mcp__desk__a"])


async def test_servers_come_and_go_and_one_that_goes_in_the_midst_of_connecting_leaves_nothing(
    place: Place,
) -> None:
    fleet = place.fleet(desk=[FakeClient(tool("z"))])
    async with fleet.opened():
        await settled(fleet)
        place.answers |= {"added": [FakeClient(tool("a"))], "silent": [None]}
        added = fleet.add(config("added"))
        silent = fleet.add(config("silent"))
        with anyio.fail_after(20):
            await added.settled()
            while "silent" not in place.opened:
                await anyio.sleep(0)
        assert names(fleet) == ["mcp__desk__z", "mcp__added__a"]
        with anyio.fail_after(20):
            await fleet.remove(silent)
            await fleet.remove(added)
        assert (names(fleet), place.open_now) == (["mcp__desk__z"], 1)
        assert [one.name for one in fleet.statuses] == ["desk"]
    assert place.open_now == 0


async def test_to_leave_while_one_begins_anew_ends_it(place: Place) -> None:
    fleet = place.fleet(desk=[FakeClient(tool("a")), None])
    with anyio.fail_after(20):
        async with fleet.opened():
            await settled(fleet)
            fleet.servers[0].restart()
            while place.opened != ["desk", "desk"]:
                await anyio.sleep(0)
    assert place.open_now == 0


def test_a_server_may_take_a_minute_to_start_and_a_call_five_without_a_word(tmp_path: Path) -> None:
    """openai/codex#11851: 10 s are not enough for npx; modelcontextprotocol/typescript-sdk#2250: nor 60 s."""
    connector = Connector(
        workspace=tmp_path,
        environ={},
        added_env={},
        runner=Runner(),
        client=lambda: pytest.fail("nothing is asked"),
        value_of=lambda name: None,
        learn=lambda secret: None,
        handler=lambda name: DecliningHandler(),
        version="1",
    )
    usual = connector.options(config("desk"))
    assert (usual.start_timeout_s, usual.call_timeout_s, usual.call_limit_s) == (60, 300, 3600)
    own = connector.options(config("desk", start_timeout_s=5.0, tool_timeout_s=900.0))
    assert (own.start_timeout_s, own.call_timeout_s) == (5, 900)
