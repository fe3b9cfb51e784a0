"""Servers side by side: what is offered when, in which order, and what a failure costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_fakes import FakeClient, tool

from caliban_common.event import ToolProgress
from caliban_common.tool import ToolContext
from caliban_mcp import ListCache, PinStore, ServerConfig, ServerFleet, ServerParts
from caliban_mcp.status import ServerNews
from caliban_mcp_client.content import CallResult
from caliban_mcp_client.entries import tool_reader
from caliban_mcp_client.errors import CallTimedOut, ConnectError
from caliban_mcp_client.values import CallUpdate, McpTool, ServerLost

pytestmark = pytest.mark.anyio
CONTEXT = ToolContext(session_id="s", turn=0, tool_use_id="c")
NEVER_S = 3600.0


class Desk:
    """Makes fleets over one directory; `news` is what they told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.news: list[ServerNews] = []

    def fleet(self, **opened: Any) -> ServerFleet:
        """A fleet of servers by name: each a client, or what opens one."""

        def parts(config: ServerConfig) -> ServerParts:
            given = opened[config.name]
            return ServerParts(
                connect=given.opened if isinstance(given, FakeClient) else given,
                cache=ListCache(self.folder / "cache"),
                key=config.name,
                pins=PinStore(self.folder / "pins"),
                report=self.news.append,
            )

        return ServerFleet([self.config(name) for name in opened], parts)

    def config(self, name: str) -> ServerConfig:
        return ServerConfig(name=name, scope="user", command=name)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def names(fleet: ServerFleet) -> list[str]:
    return [one.spec.name for one in fleet.tools()]


def failing(error: Exception) -> Callable[[Any], Any]:
    @asynccontextmanager
    async def opened(verdict: Any) -> Any:
        raise error
        yield

    return opened


@asynccontextmanager
async def silent(verdict: Any) -> Any:
    await anyio.sleep_forever()
    yield


async def settled(fleet: ServerFleet) -> None:
    with anyio.fail_after(20):
        await fleet.settle(fleet.servers, NEVER_S)


async def test_tools_stand_in_the_order_of_server_and_name_and_late_ones_behind_them(desk: Desk) -> None:
    late = anyio.Event()
    client = FakeClient(tool("z"), tool("a"))

    @asynccontextmanager
    async def opened(verdict: Any) -> Any:
        await late.wait()
        yield client

    fleet = desk.fleet(b=FakeClient(tool("y"), tool("x")), a=opened)
    async with fleet.opened():
        await fleet.settle([fleet.servers[1]], NEVER_S)
        first = fleet.tools()
        assert [one.spec.name for one in first] == ["mcp__b__x", "mcp__b__y"]
        assert fleet.tools() is first, "the same object while nothing has changed"
        late.set()
        await settled(fleet)
        assert names(fleet) == ["mcp__b__x", "mcp__b__y", "mcp__a__a", "mcp__a__z"]
        assert fleet.tools()[:2] == first


async def test_what_was_known_is_offered_at_once_and_the_live_list_wins(desk: Desk) -> None:
    first = desk.fleet(a=FakeClient(tool("one"), tool("two")))
    async with first.opened():
        await settled(first)
    second = desk.fleet(a=FakeClient(tool("two"), tool("three")))
    assert names(second) == ["mcp__a__one", "mcp__a__two"]
    assert (second.servers[0].status.is_cached, second.servers[0].status.state) == (True, "pending")
    before = second.tools()[1]
    async with second.opened():
        await settled(second)
        assert names(second) == ["mcp__a__two", "mcp__a__three"]
        assert second.tools()[0] is before, "a tool that is as it was stays the same one"
        assert second.is_new("mcp__a__three") and not second.is_new("mcp__a__two")
    assert [(one.kind, one.names) for one in desk.news] == [("tools_new", ("three",))]


async def test_a_change_is_held_back_and_told_once(desk: Desk) -> None:
    client = FakeClient(tool("a"), tool("b"))
    fleet = desk.fleet(desk=client)
    async with fleet.opened():
        await settled(fleet)
        for _ in range(3):
            client.now_has(tool("a", description="other"), tool("b"))
            await anyio.wait_all_tasks_blocked()
        with anyio.fail_after(20):
            while names(fleet) != ["mcp__desk__b"]:
                await anyio.sleep(0.01)
    assert [(one.kind, one.names) for one in desk.news] == [("tools_held", ("a",))]


@pytest.mark.parametrize("now", [True, 1.0, "1"])
async def test_what_python_takes_for_the_same_is_held_back_too(desk: Desk, now: object) -> None:
    def listed(value: object) -> McpTool:
        schema = {"type": "object", "properties": {"depth": {"default": value}}}
        return tool("a", inputSchema=schema)

    class Reading(FakeClient):
        async def list_tools(self, known: Sequence[McpTool] = ()) -> tuple[McpTool, ...]:
            read = tool_reader(known)
            return tuple(read(one.raw, str) for one in self.tools)  # type: ignore[misc, arg-type]

    for value, is_offered in ((1, True), (1, True), (now, False), (1, True)):
        fleet = desk.fleet(desk=Reading(listed(value)))
        async with fleet.opened():
            await settled(fleet)
            assert bool(names(fleet)) is is_offered
    assert [(one.kind, one.names) for one in desk.news] == [("tools_held", ("a",))]


async def test_what_a_call_has_changed_is_known_when_it_returns(desk: Desk) -> None:
    client = FakeClient(tool("grow"))
    client.on_call = lambda name, args, update: client.now_has(tool("grow"), tool("extra"))
    fleet = desk.fleet(desk=client)
    async with fleet.opened():
        await settled(fleet)
        output = await fleet.tools()[0].invoke({}, CONTEXT)
        assert output.text == "grow ran" and names(fleet) == ["mcp__desk__grow", "mcp__desk__extra"]


async def test_a_server_that_fails_or_says_nothing_costs_no_other(desk: Desk) -> None:
    broken = failing(ConnectError("exited", "it ended at once"))
    fleet = desk.fleet(bad=broken, good=FakeClient(tool("a")), quiet=silent)
    async with fleet.opened():
        await fleet.settle(fleet.servers[:2], NEVER_S)
        assert names(fleet) == ["mcp__good__a"]
        assert {one.name: one.state for one in fleet.statuses} == {
            "bad": "failed",
            "good": "connected",
            "quiet": "pending",
        }
        assert [server.name for server in await fleet.settle(fleet.pending(), 0)] == ["quiet"]
        fleet.begin()
        assert names(fleet)[-1] == "WaitForMcpServers"
        output = await fleet.tools()[-1].invoke({"timeout_seconds": 0}, CONTEXT)
        assert (
            "quiet: still connecting" in output.text
            and "bad: cannot be used: it ended at once" in output.text
        )
    assert [(one.kind, one.words) for one in desk.news] == [("failed", "it ended at once")]
    again = desk.fleet(quiet=silent)
    assert again.servers[0].was_silent, "no later run waits for it"


async def test_a_login_that_is_wanted_is_said(desk: Desk) -> None:
    fleet = desk.fleet(a=failing(ConnectError("unauthorized", "it wants a login")))
    async with fleet.opened():
        await settled(fleet)
        assert fleet.statuses[0].state == "needs-auth"


async def test_tools_of_a_server_that_is_not_there_any_more_stay_and_say_so(desk: Desk) -> None:
    client = FakeClient(tool("a"))
    fleet = desk.fleet(desk=client)
    async with fleet.opened():
        await settled(fleet)
        client.changes.put(ServerLost(reason="killed"))
        with anyio.fail_after(20):
            while fleet.statuses[0].state != "failed":
                await anyio.sleep(0.01)
        output = await fleet.tools()[0].invoke({}, CONTEXT)
        assert output.is_error and "killed" in output.text


async def test_a_call_that_has_no_answer_is_an_error_for_the_model(desk: Desk) -> None:
    client = FakeClient(tool("a"))

    def late(name: str, args: Any, update: Any) -> CallResult:
        raise CallTimedOut("tools/call", 3)

    client.on_call = late
    fleet = desk.fleet(desk=client)
    async with fleet.opened():
        await settled(fleet)
        output = await fleet.tools()[0].invoke({}, CONTEXT)
        assert output.is_error and "no answer in 3 s" in output.text


async def test_progress_of_a_call_is_told_and_never_more_than_somebody_reads(desk: Desk) -> None:
    client = FakeClient(tool("a"))

    def walk(name: str, args: Any, update: Callable[[CallUpdate], None]) -> None:
        for step in range(100):
            update(CallUpdate(progress=step, total=100, message=f"step\u202e {step}"))

    client.on_call = walk
    steps: list[ToolProgress] = []

    async def emit(event: Any) -> None:
        steps.append(event)

    fleet = desk.fleet(desk=client)
    async with fleet.opened():
        await settled(fleet)
        context = ToolContext(session_id="s", turn=0, tool_use_id="c", emit=emit)
        assert (await fleet.tools()[0].invoke({}, context)).text == "a ran"
    assert steps[0].text == "0/100 step 0\n" and 0 < len(steps) < 100


async def test_calls_of_one_server_come_one_after_the_other_but_for_those_that_read(desk: Desk) -> None:
    fleet = desk.fleet(desk=FakeClient(tool("a"), tool("b", annotations={"readOnlyHint": True})))
    async with fleet.opened():
        await settled(fleet)
        a, b = fleet.tools()
        assert (a.conflict_key({}), b.conflict_key({})) == ("mcp server desk", None)


@pytest.mark.parametrize(
    "claims",
    [{"readOnlyHint": True}, {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": False}, {}],
)
async def test_what_a_server_says_of_its_tool_opens_nothing(desk: Desk, claims: dict[str, bool]) -> None:
    """s506"""
    fleet = desk.fleet(desk=FakeClient(tool("a", annotations=claims)))
    async with fleet.opened():
        await settled(fleet)
        spec = fleet.tools()[0].spec
        assert (spec.kind, spec.main_argument, dict(spec.roles)) == ("other", None, {})


async def test_only_enabled_tools_are_offered_by_the_names_of_the_server(desk: Desk) -> None:
    client = FakeClient(tool("a b"), tool("c"), tool("d"))
    fleet = desk.fleet(desk=client)
    fleet.servers[0].config = ServerConfig(
        name="desk", scope="user", enabled_tools=("a b", "c"), disabled_tools=("c",)
    )
    async with fleet.opened():
        await settled(fleet)
        assert names(fleet) == ["mcp__desk__a_b"]


async def test_instructions_are_told_once_and_anew_where_they_are_others(desk: Desk) -> None:
    fleet = desk.fleet(desk=FakeClient(tool("a"), instructions="Ask\u200b twice. " + "x" * 5000))
    async with fleet.opened():
        await settled(fleet)
        (line,) = fleet.news()
        assert "Ask twice." in line and len(line.encode()) < 2200 and fleet.news() == ()


async def test_damaged_pins_offer_nothing_and_say_so(desk: Desk, tmp_path: Path) -> None:
    fleet = desk.fleet(desk=FakeClient(tool("a")))
    (tmp_path / "pins").mkdir()
    (tmp_path / "pins" / f"{desk.config('desk').identity}.json").write_bytes(b"{")
    async with fleet.opened():
        await settled(fleet)
        assert names(fleet) == []
    assert [one.kind for one in desk.news] == ["pins_unusable"]
