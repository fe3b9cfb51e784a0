"""Servers and pages that want what is not theirs: each ends in a refusal that sends nothing further."""

from __future__ import annotations

import json
from collections.abc import Callable

import anyio
import pytest
from oauth_kit import Login, Person, free_port, public_number, served

from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth import LoginOptions
from caliban_mcp_client.oauth.fetch import MetadataFetcher
from caliban_mcp_client.testing.oauth import AUTH, ISSUER_PATH, OAuthRules, OAuthWorld, Reply
from caliban_provider.http import HttpClient
from caliban_provider.testing.loopback import Exchange, Hang, LoopbackServer

pytestmark = pytest.mark.anyio

SERVER = f"{AUTH}{ISSUER_PATH}"


def body(data: object) -> Reply:
    return 200, {"content-type": "application/json"}, json.dumps(data).encode()


def text(data: bytes) -> Reply:
    return 200, {"content-type": "application/json"}, data


def fixed(**members: object) -> Callable[[OAuthWorld], OAuthRules]:
    return lambda world: OAuthRules(**members)  # type: ignore[arg-type]


BEFORE_THE_BROWSER = [
    pytest.param(
        fixed(resource="https://bank.example/mcp"), "metadata", "another server", id="resource-of-another"
    ),
    pytest.param(
        lambda world: OAuthRules(resource=f"{world.base}/mcp/below"),
        "metadata",
        "another server",
        id="resource-below",
    ),
    pytest.param(
        lambda world: OAuthRules(resource=f"{world.base}/mc"),
        "metadata",
        "another server",
        id="resource-half-a-word",
    ),
    pytest.param(
        lambda world: OAuthRules(metadata={"issuer": f"{world.base}/other"}),
        "issuer",
        "another issuer",
        id="issuer",
    ),
    pytest.param(
        lambda world: OAuthRules(metadata={"issuer": f"{world.issuer}/"}),
        "issuer",
        "another issuer",
        id="issuer-slash",
    ),
    pytest.param(fixed(pkce=None), "pkce", "does not say that it knows PKCE", id="no-pkce"),
    pytest.param(fixed(pkce=("plain",)), "pkce", "does not know PKCE with S256", id="plain-pkce"),
    pytest.param(
        fixed(metadata={"code_challenge_methods_supported": "S256"}),
        "pkce",
        "does not say",
        id="pkce-no-list",
    ),
    *(
        pytest.param(fixed(metadata={name: url}), "address", words, id=f"s517-{name}-{url[:24]}")
        for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint")
        for url, words in (
            ("http://auth.example/x", "is not https"),
            ("http://x/$(calc)", "is not https"),
            ("file:///etc/passwd", "no address"),
            ("javascript:alert(1)", "no address"),
            ("-oProxyCommand=calc", "no address"),
            ("https://user:pass@auth.example/", "no address"),
            ("https://auth.example\\@evil.example/", "no address"),
            ("https://auth.example/a b", "no address"),
            ("https://auth.example/#f", "no address"),
            ("https://b\u00fccher.example/", "no address"),
        )
    ),
    *(
        pytest.param(fixed(metadata={"token_endpoint": url}), "address", words, id=f"s518-{url}")
        for url, words in (
            ("http://169.254.169.254/", "is not https"),
            ("https://169.254.169.254/latest", "of this link"),
            ("https://[fe80::1]/x", "of this link"),
            ("https://0.0.0.0/x", "of this link"),
            ("https://2852039166/x", "in disguise"),
            ("https://0xa9fea9fe/x", "in disguise"),
        )
    ),
    pytest.param(
        fixed(metadata={"token_endpoint": None}), "metadata", "names no token_endpoint", id="no-endpoint"
    ),
    pytest.param(fixed(registers=False), "client", "registers no clients", id="no-client"),
    pytest.param(
        fixed(raw={SERVER: text(b"x" * 300_000)}), "metadata", "more than 262,144 bytes", id="giant-metadata"
    ),
    pytest.param(
        fixed(raw={SERVER: (302, {"location": "https://evil.example/m"}, b"")}),
        "address",
        "leads away",
        id="redirect-elsewhere",
    ),
    pytest.param(
        lambda world: OAuthRules(raw={SERVER: (302, {"location": SERVER}, b"")}),
        "address",
        "without end",
        id="redirect-for-ever",
    ),
    pytest.param(fixed(raw={SERVER: (503, {}, b"")}), "unreachable", "status 503", id="downgrade-by-outage"),
    pytest.param(
        fixed(raw={"/described": (500, {}, b"")}), "unreachable", "status 500", id="downgrade-at-resource"
    ),
    pytest.param(
        fixed(raw={f"{ISSUER_PATH}/register": (302, {"location": "/x"}, b"")}),
        "address",
        "not followed",
        id="registration-redirected",
    ),
    pytest.param(
        fixed(raw={f"{ISSUER_PATH}/register": body({"client_id": 7})}),
        "client",
        "no client",
        id="client-number",
    ),
    pytest.param(
        fixed(
            raw={
                f"{ISSUER_PATH}/register": body(
                    {"client_id": "c", "token_endpoint_auth_method": "private_key_jwt"}
                )
            }
        ),
        "client",
        "private_key_jwt",
        id="client-unknown-method",
    ),
]


@pytest.mark.long(keep=3)
@pytest.mark.parametrize(("change", "step", "words"), BEFORE_THE_BROWSER)
async def test_nothing_is_shown_to_a_person_for(
    change: Callable[[OAuthWorld], OAuthRules], step: str, words: str
) -> None:
    with served(change=change) as world:
        person = Person(world)
        login = Login(world, person)
        with pytest.raises(LoginFailed) as caught:
            await login.authorization.log_in()
    assert (caught.value.step, person.shown, login.store.kept, world.forms) == (step, [], {}, [])
    assert words in caught.value.message, caught.value.message


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[1]",
        b'"text"',
        b"{" * 200_000,
        b"[" * 200_000,
        b'{"issuer": "a", "issuer": "b"}',
        b'{"issuer": 1, "token_endpoint": {}, "authorization_endpoint": []}',
        b'{"issuer": NaN}',
        b'{"issuer": "\\ud800"}',
        b"<html>not found</html>",
    ],
)
async def test_a_description_that_is_none_is_not_one(data: bytes) -> None:
    with served(OAuthRules(raw={SERVER: text(data)})) as world:
        person = Person(world)
        with pytest.raises(LoginFailed) as caught:
            await Login(world, person).authorization.log_in()
    assert caught.value.step in ("metadata", "issuer") and person.shown == []


async def test_a_description_with_a_member_twice_is_none() -> None:
    def twice(world: OAuthWorld) -> OAuthRules:
        document = json.dumps(world._metadata())[:-1] + f', "token_endpoint": "{world.base}/elsewhere"}}'
        return OAuthRules(raw={SERVER: text(document.encode())})

    with served(change=twice) as world:
        person = Person(world)
        with pytest.raises(LoginFailed, match="does not describe itself"):
            await Login(world, person).authorization.log_in()
    assert person.shown == []


async def test_a_description_that_never_comes_ends_in_words() -> None:
    with LoopbackServer([], default=Exchange(steps=(Hang(),))) as server:
        fetcher = MetadataFetcher(lambda reach: HttpClient(), "loopback", timeout_s=0.05)
        with pytest.raises(LoginFailed, match=r"did not answer within 0\.05 s"):
            await fetcher.get(f"{server.url}/x", "the description")
        await fetcher.aclose()


BEHIND_THE_BROWSER = [
    pytest.param(fixed(state="another"), "callback", "does not belong to this login", id="wrong-state"),
    pytest.param(
        fixed(state="another", denies="access_denied"), "callback", "does not belong", id="state-before-error"
    ),
    pytest.param(fixed(iss="https://evil.example"), "issuer", "is another one", id="iss-of-another"),
    pytest.param(fixed(announces_iss=True, iss=""), "issuer", "is missing", id="iss-announced-and-missing"),
    pytest.param(
        fixed(iss="https://evil.example", denies="say-this"),
        "issuer",
        "is another one",
        id="iss-before-error",
    ),
    pytest.param(
        lambda world: OAuthRules(iss=f"{world.issuer}/"), "issuer", "is another one", id="iss-with-a-slash"
    ),
    pytest.param(fixed(denies="access_denied"), "denied", "the login was refused", id="denied"),
]


@pytest.mark.parametrize(("change", "step", "words"), BEHIND_THE_BROWSER)
async def test_no_code_is_spent_for(
    change: Callable[[OAuthWorld], OAuthRules], step: str, words: str
) -> None:
    with served(change=change) as world:
        login = Login(world, Person(world))
        with pytest.raises(LoginFailed) as caught:
            await login.authorization.log_in()
    assert (caught.value.step, login.store.kept, world.forms) == (step, {}, [])
    assert words in caught.value.message
    if step in ("issuer", "callback"):
        assert "say-this" not in str(caught.value) and "evil" not in str(caught.value)


@pytest.mark.parametrize(
    ("token", "words"),
    [
        ({"token_type": "DPoP"}, "of the type 'DPoP'"),
        ({"token_type": "mac"}, "of the type 'mac'"),
        ({"token_type": 7}, "of the type '7'"),
        ({"access_token": None}, "no token that can be sent"),
        ({"access_token": ""}, "no token that can be sent"),
        ({"access_token": 5}, "no token that can be sent"),
        ({"access_token": "a\r\nx-evil: 1"}, "no token that can be sent"),
        ({"access_token": "two words"}, "no token that can be sent"),
        ({"access_token": "\u00e4" * 20}, "no token that can be sent"),
        ({"refresh_token": "two words"}, "no token that can be sent"),
        ({"access_token": "a" * 70_000}, "no token that can be sent"),
        ({"access_token": "a" * 300_000}, "more than 262,144 bytes"),
        ({"error": "invalid_request"}, "invalid_request"),
    ],
)
async def test_a_token_that_is_none_is_not_kept(token: dict[str, object], words: str) -> None:
    with served(OAuthRules(token=token)) as world:
        login = Login(world, Person(world))
        with pytest.raises(LoginFailed) as caught:
            await login.authorization.log_in()
    assert words in caught.value.message and login.store.kept == {}


@pytest.mark.parametrize(
    ("said", "life_s"),
    [
        (60, 60),
        ("120", 120),
        (30.5, 30.5),
        (0, 0),
        (-5, 0),
        (1e30, 315_360_000),
        (None, None),
        ("soon", None),
        (True, None),
        ([], None),
    ],
)
async def test_the_life_of_a_token_is_what_was_said_in_any_way_that_means_one_thing(
    said: object, life_s: float | None
) -> None:
    with served(OAuthRules(expires_in=said)) as world:
        login = Login(world, Person(world))
        kept = await login.authorization.log_in()
    assert kept.tokens is not None
    expected = None if life_s is None else login.now + life_s
    assert kept.tokens.expires_at == expected


async def test_a_code_that_was_spent_before_gives_nothing() -> None:
    class Thief(Person):
        async def show(self, url: str, redirect_uri: str) -> None:
            await super().show(url, redirect_uri)
            self.world._codes.clear()  # somebody else was quicker

    with served() as world:
        login = Login(world, Thief(world))
        with pytest.raises(LoginFailed, match="invalid_grant"):
            await login.authorization.log_in()
    assert login.store.kept == {}


async def test_a_token_endpoint_that_redirects_gets_no_second_request() -> None:
    with served() as other:
        rules = OAuthRules(raw={f"{ISSUER_PATH}/token": (307, {"location": f"{other.issuer}/token"}, b"")})
        with served(rules) as world, pytest.raises(LoginFailed, match="not followed"):
            await Login(world, Person(world)).authorization.log_in()
    assert other.log == []


async def test_another_issuer_gets_a_client_of_its_own_and_never_the_secret_of_settings() -> None:
    options = LoginOptions(client_id="mine", client_secret="hush-hush-hush-1")
    rules = OAuthRules(clients={"mine": "hush-hush-hush-1"})
    port = LoginOptions(callback_port=await free_port())  # no reason to register anew
    with served(rules) as other, served(rules) as world:
        registered, settled = Login(world, Person(world), port), Login(world, Person(world), options)
        first = await registered.authorization.log_in()
        await settled.authorization.log_in()
        world.rules = OAuthRules(issuers=(other.issuer,))
        registered_there = Login(world, Person(other), port, store=registered.store)
        second = await registered_there.authorization.log_in()
        with pytest.raises(LoginFailed, match="not shown to it"):
            await Login(world, Person(other), options, store=settled.store).authorization.log_in()
    assert (first.issuer, second.issuer) == (world.issuer, other.issuer)
    assert first.client.client_id != second.client.client_id
    assert all(form["client_id"] != "mine" for form in other.forms)


async def test_an_issuer_of_settings_is_the_only_one() -> None:
    with served() as world:
        person = Person(world)
        wrong = Login(world, person, LoginOptions(issuer="https://mine.example"))
        with pytest.raises(LoginFailed, match="another issuer than the settled one"):
            await wrong.authorization.log_in()
        assert person.shown == []
        right = await Login(world, person, LoginOptions(issuer=world.issuer)).authorization.log_in()
    assert right.issuer == world.issuer


async def test_missing_pkce_is_allowed_where_a_person_says_so_and_still_sent() -> None:
    with served(OAuthRules(pkce=None)) as world:
        person = Person(world)
        options = LoginOptions(allows_missing_pkce=True)
        kept = await Login(world, person, options).authorization.log_in()
    assert kept.tokens is not None and "code_challenge_method=S256" in person.shown[0]


async def test_a_redirect_address_beyond_this_machine_is_refused() -> None:
    with served() as world:
        for uri in ("https://evil.example/cb", "http://10.0.0.1:8000/cb", "http://127.0.0.1/cb", "nonsense"):
            person = Person(world)
            with pytest.raises(LoginFailed, match="redirect_uri"):
                await Login(world, person, LoginOptions(redirect_uri=uri)).authorization.log_in()
            assert person.shown == []


async def test_a_settled_port_that_is_taken_is_named() -> None:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        with served() as world, pytest.raises(LoginFailed, match=f"the port {port}"):
            await Login(world, Person(world), LoginOptions(callback_port=port)).authorization.log_in()


async def test_a_public_server_cannot_send_us_to_what_is_not() -> None:
    fetcher = MetadataFetcher(lambda reach: HttpClient(), "public")
    for url in ("https://127.0.0.1/x", "https://localhost/x", f"https://{public_number(False)}/x"):
        with pytest.raises(LoginFailed) as caught:
            await fetcher.get(url, "the description")
        assert caught.value.step == "address"
