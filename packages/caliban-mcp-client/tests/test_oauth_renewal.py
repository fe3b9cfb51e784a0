"""Tokens that end: renewed once, by whoever is first, and a person is asked only where nothing else helps."""

from __future__ import annotations

import anyio
import pytest
from msgspec.structs import replace
from oauth_kit import NAME, Login, Person, served

from caliban_mcp_client import ClientParts, HttpTarget, McpClient, ServerOptions
from caliban_mcp_client.errors import ConnectError, LoginFailed, LoginNeeded
from caliban_mcp_client.oauth import LoginOptions, MemoryTokens, ServerLogin, login_key
from caliban_mcp_client.testing.oauth import ISSUER_PATH, OAuthRules, OAuthWorld
from caliban_provider.http import HttpClient

pytestmark = pytest.mark.anyio


def token_of(headers: object) -> str:
    assert isinstance(headers, dict)
    return str(headers.get("authorization", "")).removeprefix("Bearer ")


async def logged_in(world: OAuthWorld, store: MemoryTokens | None = None) -> Login:
    """A login that a person made, in a client where nobody is asked again."""
    login = Login(world, Person(world), store=store)
    await login.authorization.log_in()
    return Login(world, store=login.store)


def kept(login: Login, world: OAuthWorld) -> ServerLogin:
    assert isinstance(login.store, MemoryTokens)
    return login.store.kept[login_key(NAME, world.url)]


async def test_a_token_is_renewed_before_its_end_and_what_comes_is_kept() -> None:
    with served() as world:
        login = await logged_in(world)
        first = token_of(await login.authorization.headers())
        login.now += 3600 - 61
        assert token_of(await login.authorization.headers()) == first
        login.now += 1
        second = token_of(await login.authorization.headers())
    tokens = kept(login, world).tokens
    assert tokens is not None and second != first and tokens.access == second
    assert (world.refreshes, world.double_spends) == (1, 0)
    assert world.forms[-1]["resource"] == world.url
    assert {tokens.access, tokens.refresh} <= login.learned


async def test_a_refresh_token_that_is_not_replaced_stays() -> None:
    with served(OAuthRules(rotates=False)) as world:
        login = await logged_in(world)
        before = kept(login, world).tokens
        login.now += 4000
        await login.authorization.headers()
        after = kept(login, world).tokens
    assert before is not None and after is not None
    assert (after.refresh, after.access == before.access) == (before.refresh, False)


async def test_many_requests_at_once_renew_once() -> None:
    with served() as world:
        one = await logged_in(world)
        other = Login(world, store=one.store)
        await one.authorization.headers()
        await other.authorization.headers()
        one.now = other.now = one.now + 4000
        tokens: list[str] = []

        async def ask(login: Login) -> None:
            tokens.append(token_of(await login.authorization.headers()))

        async with anyio.create_task_group() as group:
            for login in (one, other) * 5:
                group.start_soon(ask, login)
    assert (len(set(tokens)), world.refreshes, world.double_spends) == (1, 1, 0)


async def test_a_token_that_is_refused_is_renewed_and_the_call_goes_through() -> None:
    with served() as world:
        login = await logged_in(world)
        parts = ClientParts(http=HttpClient, authorization=login.authorization)
        async with McpClient(HttpTarget(url=world.url), ServerOptions(), parts) as client:
            world.revoke()
            result = await client.call_tool("echo", {"text": "again"})
    assert result.content[0].text == "echo: again" and world.refreshes == 1


async def test_a_renewal_that_does_not_help_ends_at_a_person() -> None:
    with served() as world:
        login = await logged_in(world)
        await login.authorization.headers()
        world.revoke()
        assert await login.authorization.challenged(401, "Bearer")
        world.revoke()
        # The first refusal may have been that of the token before, and the login is not thrown away for it.
        assert await login.authorization.challenged(401, "Bearer")
        with pytest.raises(LoginNeeded, match="does not take the one"):
            await login.authorization.challenged(401, "Bearer")
        assert world.refreshes == 1


async def test_both_tokens_dead_means_one_login_for_somebody_who_is_there() -> None:
    with served() as world:
        person = Person(world)
        login = Login(world, person)
        await login.authorization.log_in()
        world.revoke(refresh=True)
        login.now += 60
        parts = ClientParts(http=HttpClient, authorization=login.authorization)
        async with McpClient(HttpTarget(url=world.url), ServerOptions(), parts) as client:
            result = await client.call_tool("echo", {"text": "new"})
    assert result.content[0].text == "echo: new" and len(person.shown) == 2
    assert [form["grant_type"] for form in world.forms] == [
        "authorization_code",
        "refresh_token",
        "authorization_code",
    ]
    assert len(world.registrations) == 1


async def test_where_nobody_is_there_the_server_is_named_with_what_helps() -> None:
    with served(OAuthRules(challenge_scopes=("read",))) as world:
        login = Login(world)
        parts = ClientParts(http=HttpClient, authorization=login.authorization)
        with pytest.raises(ConnectError) as caught:
            async with McpClient(HttpTarget(url=world.url), ServerOptions(), parts):
                pass
    assert (caught.value.kind, caught.value.message) == ("unauthorized", "the server wants a login")
    assert caught.value.hint == "do it"
    assert {path for _, path in world.log} == {"/mcp"}, "nothing is discovered where nobody logs in"


async def test_a_login_that_was_made_elsewhere_is_taken_up() -> None:
    with served() as world:
        login = Login(world)
        assert await login.authorization.headers() == {}
        await logged_in(world, login.store)  # another process
        assert await login.authorization.challenged(401, "Bearer")
        assert await login.authorization.headers() != {}


async def test_what_a_refusal_asks_for_is_kept_for_the_next_login() -> None:
    rules = OAuthRules(challenge_scopes=("read",), call_scopes=("write",))
    refusal = 'Bearer error="insufficient_scope", scope="write"'
    with served(rules) as world:
        login = await logged_in(world)
        with pytest.raises(LoginNeeded, match="reaches further: write"):
            await login.authorization.challenged(403, refusal)
        assert kept(login, world).wanted == ("read", "write")
        await Login(world, Person(world), store=login.store).authorization.log_in()
        assert world.asked_scopes[-1] == "read write"
        assert not await login.authorization.challenged(403, "Bearer error=other")
        assert not await login.authorization.challenged(403, "")


async def test_the_same_scopes_are_asked_for_once() -> None:
    with served(OAuthRules(challenge_scopes=("read",), resource_at="path")) as world:
        login = Login(world, Person(world))
        await login.authorization.log_in()
        refusal = 'Bearer error="insufficient_scope", scope="write"'
        assert await login.authorization.challenged(403, refusal)
        assert not await login.authorization.challenged(403, refusal)
    assert world.asked_scopes == ["read", "read write"]


async def test_a_token_serves_on_while_nobody_can_renew_it_and_it_lasts() -> None:
    with served() as world:
        login = await logged_in(world)
        first = token_of(await login.authorization.headers())
        world.rules = OAuthRules(raw={f"{ISSUER_PATH}/token": (503, {}, b"")})
        login.now += 3580
        assert token_of(await login.authorization.headers()) == first
        login.now += 30
        with pytest.raises(LoginFailed, match="status 503"):
            await login.authorization.headers()
        world.rules = OAuthRules()
        assert token_of(await login.authorization.headers()) not in ("", first)


async def test_a_refused_renewal_looks_once_more_before_the_login_is_thrown_away() -> None:
    class Racy(MemoryTokens):
        """A store that a program without our lock writes to, in the middle of a renewal."""

        meanwhile: ServerLogin | None = None
        loads = 0

        async def load(self, key: str) -> ServerLogin | None:
            self.loads += 1
            if self.meanwhile is not None and self.loads > self.after:
                return self.meanwhile
            return await super().load(key)

        after = 0

    with served() as world:
        store = Racy()
        login = await logged_in(world, store)
        await login.authorization.headers()
        before = kept(login, world)
        world.revoke(refresh=True)
        grant = world.grant()
        assert before.tokens is not None
        theirs = replace(before.tokens, access=grant["access_token"], refresh=grant["refresh_token"])
        store.loads, store.after, store.meanwhile = 0, 2, replace(before, tokens=theirs)
        assert await login.authorization.challenged(401, "Bearer")
        assert token_of(await login.authorization.headers()) == grant["access_token"]


async def test_a_client_that_the_server_has_forgotten_is_registered_anew() -> None:
    with served() as world:
        login = await logged_in(world)
        world._secrets.clear()
        world.rules = OAuthRules(clients={}, raw={f"{ISSUER_PATH}/token": _refusal("invalid_client")})
        login.now += 4000
        assert await login.authorization.headers() == {}
        world.rules = OAuthRules()
        await Login(world, Person(world), store=login.store).authorization.log_in()
    assert len(world.registrations) == 2


async def test_a_client_logs_in_for_itself_and_again_once_its_token_is_over() -> None:
    rules = OAuthRules(clients={"mine": "hush-hush-hush-1"}, pkce=None, challenge_scopes=("read",))
    options = LoginOptions(grant="client_credentials", client_id="mine", client_secret="hush-hush-hush-1")
    with served(rules) as world:
        login = Login(world, options=options)
        parts = ClientParts(http=HttpClient, authorization=login.authorization)
        async with McpClient(HttpTarget(url=world.url), ServerOptions(), parts) as client:
            login.now += 4000
            result = await client.call_tool("echo", {"text": "alone"})
    assert result.content[0].text == "echo: alone"
    assert [form["grant_type"] for form in world.forms] == ["client_credentials"] * 2
    assert {form["scope"] for form in world.forms} == {"read"}
    assert {form["resource"] for form in world.forms} == {world.url}
    saved = kept(login, world)
    assert saved.client.client_secret == "" and saved.tokens is not None and saved.tokens.refresh == ""


async def test_a_token_that_is_over_and_cannot_be_renewed_is_sent_to_nobody() -> None:
    with served(OAuthRules(token={"refresh_token": None})) as world:
        login = await logged_in(world)
        assert await login.authorization.headers() != {}
        login.now += 4000
        assert await login.authorization.headers() == {}
        with pytest.raises(LoginNeeded, match="wants a new login"):
            await login.authorization.challenged(401, "Bearer")


async def test_a_client_without_anything_to_show_does_not_log_in_for_itself() -> None:
    with served(OAuthRules(clients={"mine": ""})) as world:
        for options in (
            LoginOptions(grant="client_credentials"),
            LoginOptions(grant="client_credentials", client_id="mine"),
        ):
            with pytest.raises(LoginFailed, match="needs client_id, and client_secret or private_key"):
                await Login(world, options=options).authorization.log_in()
    assert world.forms == []


async def test_nobody_stops_a_renewal_between_the_spending_and_the_writing() -> None:
    with served() as world:
        login = await logged_in(world)
        login.now += 4000
        with anyio.CancelScope() as scope:
            saved = login.store.save

            async def save(key: str, credential: ServerLogin) -> None:
                scope.cancel()
                await anyio.lowlevel.checkpoint()
                await saved(key, credential)

            login.store.save = save  # type: ignore[method-assign]
            await login.authorization.headers()
        tokens = kept(login, world).tokens
    assert scope.cancel_called and tokens is not None
    assert tokens.refresh in world._refresh, "what is kept is what counts there"


def _refusal(code: str) -> tuple[int, dict[str, str], bytes]:
    return 401, {"content-type": "application/json"}, f'{{"error": "{code}"}}'.encode()
