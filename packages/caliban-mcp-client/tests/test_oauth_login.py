"""Logging in: the orders of discovery, the choice of a client and of scopes, and the way back."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
from oauth_kit import NAME, Login, PastingPerson, Person, free_port, served, visit

from caliban_mcp_client import ClientParts, HttpTarget, McpClient, ServerOptions
from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth import LoginOptions, MemoryTokens, login_key
from caliban_mcp_client.testing.oauth import (
    AUTH,
    ISSUER_PATH,
    MCP_PATH,
    OPENID,
    PROTECTED,
    OAuthRules,
    json_reply,
)
from caliban_provider.http import HttpClient

pytestmark = pytest.mark.anyio


async def test_a_client_logs_in_when_the_server_asks_for_it_and_calls_a_tool() -> None:
    with served() as world:
        person = Person(world)
        login = Login(world, person)
        parts = ClientParts(http=HttpClient, authorization=login.authorization)
        async with McpClient(HttpTarget(url=world.url), ServerOptions(), parts) as client:
            result = await client.call_tool("echo", {"text": "hi"})
    assert result.content[0].text == "echo: hi"
    assert len(person.shown) == 1
    assert b"200 OK" in person.pages[0] and b"code-" not in person.pages[0]
    kept = login.store.kept[login_key(NAME, world.url)]
    assert (kept.issuer, kept.resource, kept.client.is_registered) == (world.issuer, world.url, True)
    assert kept.tokens is not None and kept.tokens.expires_at == login.now + 3600
    shown = {name: value[0] for name, value in parse_qs(urlsplit(person.shown[0]).query).items()}
    assert shown["resource"] == world.url and "scope" not in shown
    assert {shown["state"], kept.tokens.access, kept.tokens.refresh} <= login.learned
    assert world.registrations[0]["application_type"] == "native"
    assert world.registrations[0]["redirect_uris"] == [shown["redirect_uri"]]


@pytest.mark.parametrize("where", ["header", "path", "root", "nowhere"])
async def test_the_server_is_described_at_the_first_place_that_has_it(where: str) -> None:
    rules = OAuthRules(resource_at=where, server_at="nowhere" if where == "nowhere" else "oauth")
    with served(rules) as world:
        login = Login(world, Person(world))
        status, challenge = await login.authorization.probe({})
        await login.authorization.log_in(challenge)
    assert status == 401
    asked = [path for method, path in world.log if method == "GET"]
    order = [f"{PROTECTED}{MCP_PATH}", PROTECTED]
    described = {
        "header": ["/described", f"{AUTH}{ISSUER_PATH}"],
        "path": [order[0], f"{AUTH}{ISSUER_PATH}"],
        "root": [*order, f"{AUTH}{ISSUER_PATH}"],
        "nowhere": [*order, AUTH, OPENID],
    }
    assert asked == described[where]


@pytest.mark.parametrize(
    ("where", "places"),
    [
        ("oauth", [f"{AUTH}{ISSUER_PATH}"]),
        ("openid", [f"{AUTH}{ISSUER_PATH}", f"{OPENID}{ISSUER_PATH}"]),
        ("appended", [f"{AUTH}{ISSUER_PATH}", f"{OPENID}{ISSUER_PATH}", f"{ISSUER_PATH}{OPENID}"]),
    ],
)
async def test_the_authorisation_server_is_described_at_one_of_three_places(
    where: str, places: list[str]
) -> None:
    with served(OAuthRules(server_at=where)) as world:
        await Login(world, Person(world)).authorization.log_in()
    assert [path for method, path in world.log if method == "GET"][-len(places) :] == places


async def test_a_server_without_descriptions_is_asked_at_the_places_of_the_oldest_version() -> None:
    with served(OAuthRules(resource_at="nowhere", server_at="nowhere")) as world:
        person = Person(world)
        kept = await Login(world, person).authorization.log_in()
    assert urlsplit(person.shown[0]).path == "/authorize"
    assert (kept.issuer, kept.token_endpoint) == (world.base, f"{world.base}/token")


async def test_a_client_of_settings_wins_over_a_document_and_that_over_registration() -> None:
    document = "https://client.example/caliban.json"
    rules = OAuthRules(takes_documents=True, clients={"mine": "hush-hush-hush-1"})
    settled = LoginOptions(client_id="mine", client_secret="hush-hush-hush-1", client_metadata_url=document)
    with served(rules) as world:
        first = await Login(world, Person(world), settled).authorization.log_in()
        second = await Login(
            world, Person(world), LoginOptions(client_metadata_url=document)
        ).authorization.log_in()
        third = await Login(world, Person(world)).authorization.log_in()
    assert (first.client.client_id, second.client.client_id) == ("mine", document)
    assert third.client.is_registered and len(world.registrations) == 1
    assert [form["authenticated_by"] for form in world.forms] == ["client_secret_basic", "none", "none"]


async def test_the_secret_of_settings_is_not_written_a_second_time() -> None:
    rules = OAuthRules(clients={"mine": "hush-hush-hush-1"}, expires_in=100)
    options = LoginOptions(client_id="mine", client_secret="hush-hush-hush-1")
    with served(rules) as world:
        login = Login(world, Person(world), options)
        await login.authorization.log_in()
        assert login.store.kept[login_key(NAME, world.url)].client.client_secret == ""
        assert "hush-hush-hush-1" in login.learned
        login.now += 90
        await login.authorization.headers()
    assert [form["authenticated_by"] for form in world.forms] == ["client_secret_basic"] * 2


@pytest.mark.parametrize("method", ["none", "client_secret_basic", "client_secret_post"])
async def test_a_client_is_registered_for_a_way_that_the_server_knows(method: str) -> None:
    with served(OAuthRules(token_auth_methods=(method,))) as world:
        kept = await Login(world, Person(world)).authorization.log_in()
    assert kept.client.token_auth == method
    assert [form["authenticated_by"] for form in world.forms] == [method]


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic", "none", None])
async def test_who_was_given_no_secret_is_a_public_client_whatever_the_answer_repeats(
    method: str | None,
) -> None:
    reply = {"client_id": "public", "client_secret": None, "token_endpoint_auth_method": method}
    raw = {f"{ISSUER_PATH}/register": json_reply(200, reply)}
    with served(OAuthRules(clients={"public": ""}, raw=raw)) as world:
        kept = await Login(world, Person(world)).authorization.log_in()
    assert (kept.client.client_id, kept.client.token_auth) == ("public", "none")
    assert [form["authenticated_by"] for form in world.forms] == ["none"]


async def test_why_a_server_registers_nobody_is_said_in_its_words() -> None:
    reply = {"error": "invalid_redirect_uri", "error_description": "loopback is not allowed here"}
    raw = {f"{ISSUER_PATH}/register": json_reply(400, reply)}
    with served(OAuthRules(raw=raw)) as world, pytest.raises(LoginFailed) as caught:
        await Login(world, Person(world)).authorization.log_in()
    words = "status 400 (invalid_redirect_uri, loopback is not allowed here)"
    assert words in caught.value.message and "client_id" in (caught.value.hint or "")


async def test_a_registered_client_serves_again_at_its_port_and_another_one_where_that_is_taken() -> None:
    with served() as world:
        login = Login(world, Person(world))
        first = await login.authorization.log_in()
        again = await login.authorization.log_in()
        assert again.client == first.client and len(world.registrations) == 1
        port = urlsplit(first.client.redirect_uri).port
        async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port):
            other = await login.authorization.log_in()
    assert other.client.client_id != first.client.client_id
    assert len(world.registrations) == 2


@pytest.mark.parametrize(
    ("rules", "scope"),
    [
        (OAuthRules(challenge_scopes=("a", "b"), resource_scopes=("c",)), "a b"),
        (OAuthRules(resource_scopes=("c", "d"), server_scopes=("e",)), "c d"),
        (OAuthRules(), ""),
        (OAuthRules(server_scopes=("offline_access",)), ""),
        (OAuthRules(challenge_scopes=("a",), server_scopes=("offline_access",)), "a offline_access"),
    ],
)
async def test_scopes_are_those_of_the_challenge_or_of_the_server_or_none(
    rules: OAuthRules, scope: str
) -> None:
    with served(rules) as world:
        login = Login(world, Person(world))
        _, challenge = await login.authorization.probe({})
        await login.authorization.log_in(challenge)
    assert world.asked_scopes == [scope]


async def test_a_call_that_needs_more_asks_for_that_and_for_what_there_was() -> None:
    rules = OAuthRules(challenge_scopes=("read",), call_scopes=("write",))
    with served(rules) as world:
        login = Login(world, Person(world))
        parts = ClientParts(http=HttpClient, authorization=login.authorization)
        async with McpClient(HttpTarget(url=world.url), ServerOptions(), parts) as client:
            result = await client.call_tool("echo", {"text": "more"})
    assert result.content[0].text == "echo: more"
    assert world.asked_scopes == ["read", "read write"]


async def test_an_address_is_pasted_where_the_browser_is_elsewhere() -> None:
    with served() as world:
        person = PastingPerson(world, scraps=("", "nonsense", "http://127.0.0.1:1/callback?code=x&state=y"))
        kept = await Login(world, person).authorization.log_in()
    assert kept.tokens is not None
    assert len(person.refusals) == 3 and "127.0.0.1" in person.refusals[0]


async def test_a_port_and_a_redirect_address_of_settings_are_used_as_they_are() -> None:
    port = await free_port()
    uri = f"http://localhost:{port}/oauth/done"
    with served() as world:
        first = await Login(world, Person(world), LoginOptions(callback_port=port)).authorization.log_in()
        second = await Login(world, Person(world), LoginOptions(redirect_uri=uri)).authorization.log_in()
    assert first.client.redirect_uri == f"http://127.0.0.1:{port}/callback"
    assert second.client.redirect_uri == uri


async def test_pages_of_others_do_not_reach_a_login_that_is_going_on() -> None:
    class Besieged(Person):
        async def pasted(self) -> str | None:
            evil = self.back.replace("state=", "state=x")
            for kinds in (
                {"host": "evil.example"},
                {"headers": ("Origin: https://evil.example",)},
                {"headers": ("Sec-Fetch-Mode: no-cors",)},
                {"method": "POST"},
            ):
                self.pages.append(await visit(evil, **kinds))
            self.pages.append(await visit(evil.replace("/callback", "/favicon.ico")))
            self.pages.append(await visit(evil.partition("?")[0] + "?nothing=1"))
            with anyio.CancelScope(shield=True):
                self.pages.append(await visit(self.back))
            return None

    with served() as world:
        person = Besieged(world)
        await Login(world, person).authorization.log_in()
    statuses = [page.split(b" ")[1] for page in person.pages]
    assert statuses == [b"403", b"403", b"403", b"405", b"404", b"400", b"200"]


async def test_another_address_or_another_entry_is_another_login() -> None:
    store = MemoryTokens()
    with served() as world:
        await Login(world, Person(world), store=store).authorization.log_in()
        moved = Login(world, store=store, url=f"{world.base}/other")
        assert await moved.authorization.headers() == {}
        assert await Login(world, store=store, url=f"{world.url}").authorization.headers() != {}
        (key, kept), *_ = store.kept.items()
        store.kept[login_key(NAME, f"{world.base}/other")] = kept
        assert await Login(world, store=store, url=f"{world.base}/other").authorization.headers() == {}
    assert login_key("a", world.url) != login_key("b", world.url) and key == login_key(NAME, world.url)


async def test_a_client_of_other_settings_does_not_use_the_login_of_the_one_before() -> None:
    store = MemoryTokens()
    with served(OAuthRules(clients={"mine": ""})) as world:
        await Login(world, Person(world), store=store).authorization.log_in()
        changed = Login(world, store=store, options=LoginOptions(client_id="mine"))
        assert await changed.authorization.headers() == {}
