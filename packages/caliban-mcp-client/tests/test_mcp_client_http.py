"""Servers at an address: both eras, both ways, and what happens when the way breaks."""

from __future__ import annotations

import json

import anyio
import pytest
from hang_guard import HANG_S

from caliban_mcp_client import ConnectError, ProtocolError, Verdict
from caliban_mcp_client.authorization import bearer
from caliban_mcp_client.errors import CallLost, CallRefused, HttpRefused
from caliban_mcp_client.handler import DecliningHandler, ElicitResult
from caliban_mcp_client.testing.web import serving
from caliban_mcp_client.values import ServerRestarted, ToolsChanged

pytestmark = pytest.mark.anyio

SUM = {"a": 5, "b": 3}


class Adult(DecliningHandler):
    async def elicit(self, request):
        return ElicitResult(action="accept", content={"name": "Ada"})


def told(result):
    (block,) = result.content
    return json.loads(block.text)


@pytest.mark.parametrize("traits", [("modern",), ("modern", "sse")])
async def test_a_modern_server_gets_its_headers_and_no_session(address, traits):
    with serving(*traits) as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client:
            assert client.verdict == Verdict(era="modern", protocol_version="2026-07-28")
            assert [tool.name for tool in await client.list_tools()] == ["echo", "add", "slow", "ask"]
            assert told(await client.call_tool("add", SUM))["params"]["arguments"] == SUM
            await client.read_resource("demo://ü")
        assert not web.of("initialize")
        for seen in web.seen:
            assert seen.verb == "POST"
            assert seen.headers["mcp-protocol-version"] == "2026-07-28"
            assert seen.headers["mcp-method"] == seen.method
            assert "mcp-session-id" not in seen.headers
            meta = seen.frame["params"]["_meta"]
            assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
            assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "caliban"
        assert web.of("tools/call")[0].headers["mcp-name"] == "add"
        assert web.of("resources/read")[0].headers["mcp-name"] == "=?base64?ZGVtbzovL8O8?="


@pytest.mark.parametrize(
    "traits", [("session",), ("session", "sse"), ("session", "probe_404"), ("session", "news")]
)
async def test_a_legacy_server_keeps_a_session_that_is_ended(address, traits):
    with serving(*traits) as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client:
            assert client.verdict == Verdict(era="legacy", protocol_version="2025-11-25")
            assert len(await client.list_tools()) == 4
            if "news" in traits:
                web.news.put('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n')
                assert await anext(aiter(client.changes)) == ToolsChanged()
        assert web.methods()[:3] == ["server/discover", "initialize", "notifications/initialized"] or (
            web.methods()[2] == "GET"
        )
        later = [seen for seen in web.seen if seen.method not in ("server/discover", "initialize")]
        assert {seen.headers["mcp-session-id"] for seen in later} == {"s1"}
        assert {seen.headers["mcp-protocol-version"] for seen in later} == {"2025-11-25"}
        assert web.methods()[-1] == "DELETE"
        assert "_meta" not in web.of("tools/list")[0].frame.get("params", {})


@pytest.mark.parametrize("fault", ["session", "expires_400"])
async def test_a_session_that_is_gone_is_begun_anew_for_a_list_and_not_for_a_call(address, fault):
    with serving("session", fault, left=1) as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client:
            assert len(await client.list_tools()) == 4
            assert [seen.headers["mcp-session-id"] for seen in web.of("tools/list")] == ["s1", "s2"]
            assert await anext(aiter(client.changes)) == ServerRestarted()
            web.left = 1
            with pytest.raises(CallLost, match="session"):
                await client.call_tool("add", SUM)
            assert len(web.of("tools/call")) == 1
            assert told(await client.call_tool("add", SUM))


@pytest.mark.parametrize("kind", ["auto", "sse"])
async def test_the_older_way_is_found_and_spoken(address, kind):
    with serving("old") as web, anyio.fail_after(HANG_S):
        async with address(web.url, target={"kind": kind}) as client:
            assert client.info.era == "legacy"
            assert len(await client.list_tools()) == 4
            assert told(await client.call_tool("add", SUM))["params"]["name"] == "add"
            assert client.verdict == Verdict(era="legacy", protocol_version="2025-11-25", kind="sse")
        assert {seen.path for seen in web.seen if seen.verb == "POST" and seen.path != "/mcp"} == {
            "/post?at=1"
        }
        assert not [seen for seen in web.seen if "mcp-method" in seen.headers and seen.path != "/mcp"]


async def test_an_address_of_somebody_else_to_send_to_is_not_asked(address):
    with serving("old", "endpoint_away") as web, anyio.fail_after(HANG_S):
        with pytest.raises(ConnectError, match="somebody else") as caught:
            async with address(web.url, target={"kind": "sse"}):
                pass
        assert caught.value.kind == "refused"
        assert web.methods() == ["GET"]


async def test_a_stream_that_breaks_is_taken_up_where_it_was_in_legacy(address):
    with serving("resume", left=1) as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client:
            assert told(await client.call_tool("add", SUM))["params"]["name"] == "add"
            assert len(web.of("tools/call")) == 1
        resumed = [seen.headers["last-event-id"] for seen in web.seen if "last-event-id" in seen.headers]
        assert resumed == ["7"]


@pytest.mark.parametrize("trusts", [False, True])
async def test_a_call_that_is_lost_in_modern_is_repeated_only_where_that_is_vouched_for(address, trusts):
    with serving("modern", "cut", left=1) as web, anyio.fail_after(HANG_S):
        async with address(web.url, trusts_hints=trusts) as client:
            await client.list_tools()
            if trusts:
                assert told(await client.call_tool("add", SUM))
                first, second = web.of("tools/call")
                assert first.frame["id"] != second.frame["id"]
                web.left = 1
            with pytest.raises(CallLost):
                await client.call_tool("echo", {})


async def test_arguments_go_into_headers_and_a_wrong_mark_costs_its_tool(address):
    with serving("modern", "headers", "header_mismatch", left=1) as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client:
            assert told(await client.call_tool("go", {"where": "Zürich"}))
            assert [tool.name for tool in await client.list_tools()] == ["go"]
            assert any("bad" in line for line in client.problems)
        first, second = web.of("tools/call")
        assert second.headers["mcp-param-where"] == "=?base64?WsO8cmljaA==?="
        assert web.methods().count("tools/list") >= 2, "listed again where the server knew another schema"
        assert first.frame["id"] != second.frame["id"]


async def test_a_person_is_asked_in_both_eras(address):
    with serving("modern") as web, anyio.fail_after(HANG_S):
        async with address(web.url, parts={"handler": Adult()}) as client:
            params = told(await client.call_tool("ask", {}))["params"]
            accepted = {"action": "accept", "content": {"name": "Ada", "age": 7}}
            assert (params["inputResponses"], params["requestState"]) == ({"who": accepted}, "é+/=")
        first, second = web.of("tools/call")
        assert first.frame["id"] != second.frame["id"]
        assert "requestState" not in first.frame["params"]
    with serving("asks") as web, anyio.fail_after(HANG_S):
        async with address(web.url, parts={"handler": Adult()}) as client:
            assert told(await client.call_tool("add", SUM)) == accepted


async def test_changes_are_followed_by_a_stream_in_modern(address):
    with serving("modern") as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client:
            assert await anext(aiter(client.changes)) == ToolsChanged()
        (listen,) = web.of("subscriptions/listen")
        assert listen.frame["params"]["notifications"] == {"toolsListChanged": True}


@pytest.mark.parametrize(
    ("trait", "error", "match"),
    [
        ("accepted", ProtocolError, "202"),
        ("html", ProtocolError, "text/html"),
        ("other_id", ProtocolError, "no answer"),
    ],
)
async def test_what_is_no_answer_ends_the_call(address, trait, error, match):
    with serving("modern", trait) as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client:
            with pytest.raises(error, match=match):
                await client.call_tool("add", SUM)
            assert len(await client.list_tools()) == 4


async def test_an_outage_is_no_era(address):
    with serving("modern", "outage", left=1) as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client:
            assert client.info.era == "modern"
            web.left = 1
            assert len(await client.list_tools()) == 4, "a list is asked for again"
            web.left = 1
            with pytest.raises(HttpRefused, match="503"):
                await client.call_tool("echo", {})
        assert not web.of("initialize")


async def test_a_login_that_is_wanted_is_asked_for_and_is_no_era(address):
    class Logins:
        def __init__(self):
            self.token, self.asked = "old", []

        async def headers(self):
            return {"Authorization": f"Bearer {self.token}"}

        async def challenged(self, status, www_authenticate):
            self.asked.append((status, www_authenticate))
            self.token = "new"
            return True

    logins = Logins()
    with serving("modern", "login") as web, anyio.fail_after(HANG_S):
        async with address(web.url, parts={"authorization": logins}) as client:
            assert client.info.era == "modern"
        assert logins.asked == [(401, 'Bearer resource_metadata="x"')]
        for parts, target in (
            ({"authorization": bearer("wrong")}, {}),
            ({"authorization": logins}, {"headers": {"Authorization": "Bearer mine"}}),
        ):
            with pytest.raises(ConnectError) as caught:
                async with address(web.url, parts=parts, target=target):
                    pass
            assert caught.value.kind == "unauthorized"
        assert len(logins.asked) == 1, "what the settings say wins"
        assert not web.of("initialize")


async def test_redirects_are_followed_within_an_origin_only(address):
    with serving("modern", "moved") as web, anyio.fail_after(HANG_S):
        async with address(web.url, target={"headers": {"Authorization": "Bearer new"}}) as client:
            assert len(await client.list_tools()) == 4
        assert {seen.path for seen in web.seen} == {"/mcp", "/mcp/"}
    with serving("modern") as other, serving("modern", "moved_away") as web, anyio.fail_after(HANG_S):
        web.away = other.url
        with pytest.raises(ConnectError, match=other.url) as caught:
            async with address(web.url):
                pass
        assert (caught.value.kind, len(web.seen), other.seen) == ("refused", 1, [])


async def test_nobody_at_the_address_is_said(address, monkeypatch):
    monkeypatch.setattr("caliban_mcp_client.handshake._PAUSES_S", (0.01,))
    with serving() as web:
        url = web.url
    with anyio.fail_after(HANG_S), pytest.raises(ConnectError) as caught:
        async with address(url):
            pass
    assert caught.value.kind == "unreachable"


async def test_an_error_of_the_server_s_own_comes_with_any_status(address):
    with serving("modern") as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client:
            with pytest.raises(CallRefused) as caught:
                await client.get_prompt("greet")
            assert caught.value.code == -32601


async def test_a_cancelled_call_closes_its_stream_and_in_legacy_says_so(address):
    for traits, expected in ((("modern", "asks"), 0), (("session", "asks"), 1)):
        with serving(*traits) as web, anyio.fail_after(HANG_S):
            async with address(web.url, parts={"handler": Never()}) as client:
                with anyio.move_on_after(0.2) as scope:
                    await client.call_tool("add", SUM)
                assert scope.cancelled_caught
                while len(web.of("notifications/cancelled")) < expected:
                    await anyio.sleep(0.01)
            assert len(web.of("notifications/cancelled")) == expected


class Never(DecliningHandler):
    async def elicit(self, request):
        await anyio.sleep_forever()


async def test_a_verdict_that_is_out_of_date_is_dropped_and_the_server_asked_anew(address):
    remembered = Verdict(era="legacy", protocol_version="2025-11-25", kind="sse")
    for verdict in (remembered, Verdict(era="legacy", protocol_version="2025-11-25")):
        with serving("modern", "no_initialize") as web, anyio.fail_after(HANG_S):
            async with address(web.url, parts={"verdict": verdict}) as client:
                assert client.verdict == Verdict(era="modern", protocol_version="2026-07-28")
                assert len(await client.list_tools()) == 4


async def test_a_server_without_a_stream_of_news_may_say_so_by_any_status(address):
    for status in (400, 404, 501):
        with serving("session", f"get_{status}") as web, anyio.fail_after(HANG_S):
            async with address(web.url) as client:
                for _ in range(3):
                    assert len(await client.list_tools()) == 4
                assert client.problems == ()
            assert web.sessions == 1


async def test_an_error_without_a_number_is_that_of_its_request(address):
    with serving("modern", "bare_error") as web, anyio.fail_after(HANG_S):
        async with address(web.url) as client, anyio.create_task_group() as group:
            group.start_soon(client.list_tools)
            with pytest.raises(CallRefused, match="bare"):
                await client.call_tool("add", SUM)
