"""Logins that the identity provider of a company manages: an ID token there, a word to the server's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace
from oauth_kit import Login, served

from caliban_mcp_client import ClientParts, HttpTarget, McpClient, ServerOptions
from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth import IdentityProvider, LoginOptions, Reach, authorization
from caliban_mcp_client.oauth.tokens import EXCHANGE, ID_JAG, ID_TOKEN, JWT_BEARER
from caliban_mcp_client.testing.identity import IDP_CLIENT, IDP_SECRET, IdentityRules, IdentityWorld
from caliban_mcp_client.testing.oauth import ISSUER_PATH, OAuthRules
from caliban_provider.http import HttpClient

pytestmark = pytest.mark.anyio

RULES = OAuthRules(clients={"mine": "hush-hush-hush-1"}, registers=False, pkce=None)
SECRETS = {IDP_SECRET, "hush-hush-hush-1"}
Change = Callable[[LoginOptions], LoginOptions]


def world_of(rules: OAuthRules = RULES, identity: IdentityRules | None = None) -> Any:
    return served(rules, make=partial(IdentityWorld, identity=identity))


def options_of(world: IdentityWorld, **identity: Any) -> LoginOptions:
    provider = {"issuer": world.idp, "client_id": IDP_CLIENT, "client_secret": IDP_SECRET} | identity
    return LoginOptions(
        grant="enterprise_managed",
        client_id="mine",
        client_secret="hush-hush-hush-1",
        identity=IdentityProvider(**provider),
    )


def login_of(world: IdentityWorld, token: str | None = None, options: LoginOptions | None = None) -> Login:
    return Login(world, options=options or options_of(world), id_token=token or world.signed_in())


async def test_an_id_token_becomes_a_token_of_the_server_and_again_once_that_is_over() -> None:
    rules = replace(RULES, challenge_scopes=("read", "write"), server_scopes=("read", "offline_access"))
    with world_of(rules) as world:
        world.identity = IdentityRules(scope="read")
        login = login_of(world)
        options = ServerOptions(extensions=("io.modelcontextprotocol/enterprise-managed-authorization",))
        parts = ClientParts(http=HttpClient, authorization=login.authorization)
        async with McpClient(HttpTarget(url=world.url), options, parts) as client:
            login.now += 4000
            result = await client.call_tool("echo", {"text": "as ada"})
        assert result.content[0].text == "echo: as ada"
        exchange, form = world.exchanges[0], world.forms[0]
        assert (len(world.exchanges), len(world.forms), world.made) == (2, 2, {})
        assert exchange == {
            "grant_type": EXCHANGE,
            "requested_token_type": ID_JAG,
            "subject_token_type": ID_TOKEN,
            "subject_token": login.id_token,
            "audience": world.issuer,
            "resource": world.url,
            "scope": "read write",
            "client_id": IDP_CLIENT,
            "authenticated_by": "client_secret_basic",
        }
        assert (form["grant_type"], form["scope"], form["client_id"]) == (JWT_BEARER, "read", "mine")
        assert login.id_token in login.learned and form["assertion"] in login.learned
        assert login.learned >= SECRETS
        (kept,) = login.store.kept.values()  # type: ignore[attr-defined]
        assert kept.tokens.refresh == "" and kept.client.client_secret == ""
        assert not {path for _, path in world.log} & {f"{ISSUER_PATH}/authorize", "/idp/authorize"}


async def test_the_provider_may_be_given_by_its_endpoint_alone_and_by_other_ways_of_its_clients() -> None:
    with world_of() as world:
        for identity in (
            {"issuer": "", "token_url": f"{world.idp}/token"},
            {"token_auth": "client_secret_post"},
        ):
            await login_of(world, options=options_of(world, **identity)).authorization.log_in()
        world.identity = IdentityRules(
            secret="", metadata={"token_endpoint_auth_methods_supported": ["client_secret_post", "none"]}
        )
        await login_of(world, options=options_of(world, client_secret="")).authorization.log_in()
        world.identity = replace(world.identity, secret=IDP_SECRET)
        await login_of(world).authorization.log_in()
    assert [form["authenticated_by"] for form in world.exchanges] == [
        "client_secret_basic",
        "client_secret_post",
        "none",
        "client_secret_post",
    ]


async def test_what_does_not_reach_far_enough_is_asked_for_anew_without_a_person() -> None:
    with world_of(replace(RULES, challenge_scopes=("read",), call_scopes=("write",))) as world:
        login = login_of(world)
        parts = ClientParts(http=HttpClient, authorization=login.authorization)
        async with McpClient(HttpTarget(url=world.url), ServerOptions(), parts) as client:
            await client.call_tool("echo", {"text": "x"})
    assert [form["scope"] for form in world.exchanges] == ["read", "read write"]


def _with(**claims: Any) -> Callable[[IdentityWorld], str]:
    return lambda world: world.signed_in(**claims)


GARBAGE = [
    pytest.param(_with(iss="https://evil.example"), "from another issuer: https://evil.example", id="iss"),
    pytest.param(_with(iss=7), "from another issuer: nothing", id="iss-number"),
    pytest.param(_with(aud="other"), "made for another client", id="aud"),
    pytest.param(_with(aud=[{}, "other"]), "made for another client", id="aud-list"),
    pytest.param(_with(aud=None), "made for another client", id="no-aud"),
    pytest.param(_with(exp=1_700_000_000), "is over since", id="over"),
    pytest.param(_with(exp="soon"), "does not say until when", id="exp-text"),
    pytest.param(_with(exp=True), "does not say until when", id="exp-flag"),
    pytest.param(_with(exp=10**300), "does not say until when", id="exp-huge"),
    pytest.param(lambda _: "nonsense", "is no signed JWT", id="word"),
    pytest.param(lambda _: "a.b.c", "is no signed JWT", id="three-letters"),
    pytest.param(lambda _: "e30.W10.eA", "is no signed JWT", id="claims-list"),
    pytest.param(lambda _: "e30.eyJhIjoxLCJhIjoyfQ.eA", "is no signed JWT", id="member-twice"),
    pytest.param(lambda world: world.signed_in() + "\n.x", "is no signed JWT", id="line-break"),
    pytest.param(lambda world: world.signed_in() + "ä", "is no signed JWT", id="letters"),
    pytest.param(lambda world: world.signed_in() * 2000, "is no signed JWT", id="long"),
    pytest.param(lambda _: "..", "is no signed JWT", id="dots"),
    pytest.param(lambda _: "e30." + "A" * 5 + ".eA", "is no signed JWT", id="base64"),
]


@pytest.mark.parametrize(("token", "words"), GARBAGE)
async def test_what_is_no_id_token_of_the_provider_is_sent_nowhere(
    token: Callable[[IdentityWorld], str], words: str
) -> None:
    with world_of() as world:
        login = login_of(world, token(world))
        with pytest.raises(LoginFailed, match="the ID token") as caught:
            await login.authorization.log_in()
    assert caught.value.step == "identity" and words in caught.value.message
    assert world.exchanges == world.forms == [] and login.store.kept == {}  # type: ignore[attr-defined]
    assert login.id_token not in caught.value.message + (caught.value.hint or "")


def _answer(data: object, status: int = 200) -> tuple[int, dict[str, str], bytes]:
    body = data if isinstance(data, bytes) else json.dumps(data).encode()
    return status, {"content-type": "application/json"}, body


JAG = {"issued_token_type": ID_JAG, "access_token": "jag", "token_type": "N_A"}
ANSWERS = [
    pytest.param(
        IdentityRules(denies="invalid_target"), "identity provider refused: invalid_target", id="no"
    ),
    pytest.param(IdentityRules(secret="x"), "identity provider refused: invalid_client", id="client"),
    pytest.param(IdentityRules(given={"issued_token_type": ID_TOKEN}), "of the type", id="kind"),
    pytest.param(IdentityRules(given={"issued_token_type": None}), "of the type 'None'", id="no-kind"),
    pytest.param(IdentityRules(given={"issued_token_type": ["x"]}), "of the type", id="kind-list"),
    pytest.param(IdentityRules(given={"access_token": None}), "no token that can be sent", id="no-token"),
    pytest.param(IdentityRules(given={"access_token": 7}), "no token that can be sent", id="number"),
    pytest.param(IdentityRules(given={"access_token": "a b"}), "no token that can be sent", id="blank"),
    pytest.param(IdentityRules(given={"access_token": "a\nb"}), "no token that can be sent", id="break"),
    pytest.param(IdentityRules(given={"access_token": "a" * 70_000}), "no token that can be", id="long"),
    pytest.param(IdentityRules(raw=_answer([1])), "gave no token: status 200", id="list"),
    pytest.param(IdentityRules(raw=_answer(b"\xff{")), "gave no token: status 200", id="bytes"),
    pytest.param(IdentityRules(raw=_answer(b"[" * 100_000)), "gave no token: status 200", id="brackets"),
    pytest.param(IdentityRules(raw=_answer({**JAG, "error": "x"})), "refused: x", id="both"),
    pytest.param(IdentityRules(raw=_answer(JAG, 201)), "gave no token: status 201", id="status"),
    pytest.param(IdentityRules(raw=_answer({}, 503)), "gave no token: status 503", id="outage"),
    pytest.param(
        IdentityRules(raw=(307, {"location": "https://evil.example/"}, b"")), "sends us elsewhere", id="moved"
    ),
    pytest.param(IdentityRules(raw=_answer(b" " * 300_000)), "more than 262,144 bytes", id="flood"),
    pytest.param(IdentityRules(metadata={"issuer": "https://x.example"}), "of another issuer", id="issuer"),
    pytest.param(IdentityRules(metadata={"token_endpoint": None}), "names no token_endpoint", id="no-end"),
    pytest.param(
        IdentityRules(metadata={"token_endpoint": "http://10.0.0.1/t"}), "is not https", id="end-plain"
    ),
    pytest.param(
        IdentityRules(metadata={"token_endpoint": "file:///etc/passwd"}), "no address that can be", id="file"
    ),
]


@pytest.mark.long(keep=3)
@pytest.mark.parametrize(("identity", "words"), ANSWERS)
async def test_whatever_the_provider_answers_ends_with_its_name_and_nothing_is_kept(
    identity: IdentityRules, words: str
) -> None:
    with world_of(identity=identity) as world:
        login = login_of(world)
        with pytest.raises(LoginFailed) as caught:
            await login.authorization.log_in()
    message = caught.value.message
    assert words in message and ("identity provider" in message or world.idp in message)
    assert world.forms == [] and login.store.kept == {}  # type: ignore[attr-defined]
    assert login.id_token not in caught.value.message


async def test_a_word_for_another_server_or_used_before_gives_no_token_and_is_not_tried_again() -> None:
    with world_of(identity=IdentityRules(given={"access_token": "used-before"})) as world:
        login = login_of(world)
        with pytest.raises(LoginFailed, match="the token endpoint refused: invalid_grant"):
            await login.authorization.log_in()
    assert len(world.exchanges) == len(world.forms) == 1


INCOMPLETE: list[Any] = [
    pytest.param(
        lambda o: replace(o, identity=IdentityProvider(issuer="x")), "needs the client_id", id="client"
    ),
    pytest.param(
        lambda o: replace(o, identity=IdentityProvider(client_id="x")),
        "its issuer or token endpoint",
        id="issuer",
    ),
    pytest.param(lambda o: replace(o, client_id=""), "needs the client_id that the authorisation", id="mine"),
]


@pytest.mark.parametrize(("change", "words"), INCOMPLETE)
async def test_what_is_incomplete_is_refused_before_anything_is_sent(change: Change, words: str) -> None:
    with world_of() as world:
        with pytest.raises(LoginFailed) as caught:
            await login_of(world, options=change(options_of(world))).authorization.log_in()
        assert words in caught.value.message and world.exchanges == world.forms == []


async def test_a_server_that_names_no_authorisation_server_has_none_that_could_be_asked_for() -> None:
    with world_of(replace(RULES, resource_at="nowhere", server_at="nowhere")) as world:
        with pytest.raises(LoginFailed, match="names no authorisation server"):
            await login_of(world).authorization.log_in()
        assert world.exchanges == []


async def test_a_client_by_its_document_is_taken_where_the_server_takes_it() -> None:
    document = "https://harness.example/client.json"
    with world_of(OAuthRules(clients={document: ""}, takes_documents=True)) as world:
        options = replace(options_of(world), client_id="", client_secret="", client_metadata_url=document)
        await login_of(world, options=options).authorization.log_in()
        assert world.forms[0]["client_id"] == document


async def test_the_provider_is_dialled_as_far_as_its_own_address_reaches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    async def reach(url: str) -> Reach:
        asked.append(url)
        return "loopback" if url == world.url else "private"

    monkeypatch.setattr(authorization, "reach_of", reach)
    with world_of() as world:
        with pytest.raises(LoginFailed, match="issuer of the identity provider is not https"):
            await login_of(world).authorization.log_in()
        assert asked == [world.url, world.idp] and world.exchanges == []
        shown = repr(options_of(world))
    assert not any(secret in shown for secret in SECRETS)
