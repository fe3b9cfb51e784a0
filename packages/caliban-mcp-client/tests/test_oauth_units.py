"""The small parts of logins: challenges, addresses, what a token's end means."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st
from oauth_kit import public_number

from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth.assertion import Assertion
from caliban_mcp_client.oauth.callback import CallbackAnswer, read_redirect
from caliban_mcp_client.oauth.challenge import Challenge, read_challenge, split_scopes
from caliban_mcp_client.oauth.discovery import server_places
from caliban_mcp_client.oauth.endpoint import canonical, check_endpoint, covers, origin_of, split
from caliban_mcp_client.oauth.values import LoginClient, LoginOptions, ServerLogin, Tokens


@pytest.mark.parametrize(
    ("header", "challenge"),
    [
        ("", Challenge()),
        ("Bearer", Challenge(scheme="bearer")),
        (
            'Bearer resource_metadata="https://a.example/m", scope="x y", error="invalid_token"',
            Challenge(
                scheme="bearer",
                resource_metadata="https://a.example/m",
                scopes=("x", "y"),
                error="invalid_token",
            ),
        ),
        (
            "Bearer scope=x, error=insufficient_scope",
            Challenge(scheme="bearer", scopes=("x",), error="insufficient_scope"),
        ),
        ('Basic realm="a, Bearer b", Bearer scope="x"', Challenge(scheme="bearer", scopes=("x",))),
        (
            'Bearer realm="x", Bearer resource_metadata="https://a.example/m"',
            Challenge(scheme="bearer", resource_metadata="https://a.example/m"),
        ),
        (r'Bearer error="a\"b", scope="x"', Challenge(scheme="bearer", scopes=("x",), error='a"b')),
        ('bEaReR SCOPE = "x"', Challenge(scheme="bearer", scopes=("x",))),
        (
            'resource_metadata="https://a.example/m"',
            Challenge(scheme="bearer", resource_metadata="https://a.example/m"),
        ),
        ('Bearer scope="x", scope="y"', Challenge(scheme="bearer", scopes=("x",))),
        ('DPoP algs="ES256"', Challenge(scheme="dpop")),
    ],
)
def test_a_challenge_is_read_as_servers_write_it(header: str, challenge: Challenge) -> None:
    assert read_challenge(header) == challenge


@given(st.text(max_size=300))
def test_any_header_is_read_without_an_error(header: str) -> None:
    assert isinstance(read_challenge(f"Bearer {header}"), Challenge)


def test_a_header_of_quotes_is_read_in_no_time() -> None:
    for header in ('="' * 8000, "a=" * 8000, '\\"' * 8000, ", " * 8000, 'Bearer a="' + "\\" * 16000):
        assert read_challenge(header).resource_metadata == ""


def test_scopes_lose_what_no_scope_may_hold() -> None:
    assert split_scopes('a  b a "c" d\\ e\n f') == ("a", "b", "f")


@pytest.mark.parametrize(
    ("resource", "url", "yes"),
    [
        ("https://a.example/mcp", "https://a.example/mcp", True),
        ("https://a.example", "https://a.example/mcp", True),
        ("https://a.example/", "https://a.example/mcp", True),
        ("https://A.example:443/mcp/", "https://a.example/mcp", True),
        ("https://a.example/m", "https://a.example/mcp", False),
        ("https://a.example/mcp/x", "https://a.example/mcp", False),
        ("http://a.example/mcp", "https://a.example/mcp", False),
        ("https://a.example:444/mcp", "https://a.example/mcp", False),
        ("https://b.example/mcp", "https://a.example/mcp", False),
        ("https://a.example/../mcp", "https://a.example/mcp", False),
        ("https://a.example/mcp?x=1", "https://a.example/mcp", False),
        ("https://a.example/mcp#x", "https://a.example/mcp", False),
        ("https://a.example@evil.example/mcp", "https://a.example/mcp", False),
        ("", "https://a.example/mcp", False),
    ],
)
def test_a_resource_is_the_server_or_a_path_above_it(resource: str, url: str, yes: bool) -> None:
    assert covers(resource, url) is yes


def test_a_resource_is_written_in_one_way() -> None:
    assert canonical("HTTPS://A.Example:443/") == "https://a.example"
    assert canonical("https://a.example/mcp/?x=1") == "https://a.example/mcp/?x=1"
    assert origin_of("http://[::1]:8000/x") == "http://[::1]:8000"


@given(st.text(max_size=60))
def test_no_text_is_an_address_with_a_user_or_a_control_in_it(text: str) -> None:
    parts = split(f"https://{text}")
    assert parts is None or ("@" not in parts.netloc and parts.geturl().isprintable())


@pytest.mark.parametrize(
    ("url", "reach", "is_fine"),
    [
        ("https://auth.example/x", "public", True),
        (f"https://{public_number(True)}/x", "public", True),
        (f"https://{public_number(False)}/x", "public", False),
        (f"https://{public_number(False)}/x", "private", True),
        ("https://[::ffff:10.0.0.1]/x", "public", False),
        ("http://127.0.0.1:1/x", "loopback", True),
        ("http://127.0.0.1:1/x", "private", False),
        ("https://localhost/x", "private", False),
        ("https://127.0.0.1/x", "public", False),
        ("http://auth.example/x", "loopback", False),
        ("https://127.1/x", "loopback", False),
        ("https://224.0.0.1/x", "private", False),
        ("https:///x", "public", False),
        ("https://a.example:port/x", "public", False),
        ("ftp://auth.example/x", "public", False),
    ],
)
def test_a_login_goes_no_further_in_than_its_server(url: str, reach: str, is_fine: bool) -> None:
    if is_fine:
        assert check_endpoint(url, "it", reach) == url
        return
    with pytest.raises(LoginFailed) as caught:
        check_endpoint(url, "it", reach)
    assert caught.value.step == "address" and caught.value.message.startswith("it ")


def test_an_address_in_a_message_has_no_query() -> None:
    with pytest.raises(LoginFailed) as caught:
        check_endpoint("http://auth.example/x?secret=1#y", "it", "public")
    assert "secret" not in str(caught.value)


def test_an_issuer_is_described_at_two_or_three_places() -> None:
    one, two = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
    assert server_places("https://a.example") == [f"https://a.example{one}", f"https://a.example{two}"]
    assert server_places("https://a.example/t/") == [
        f"https://a.example{one}/t",
        f"https://a.example{two}/t",
        f"https://a.example/t{two}",
    ]


@pytest.mark.parametrize(
    ("obtained", "expires", "now", "is_over"),
    [
        (1000, 4600, 1000, False),
        (1000, 4600, 4539, False),
        (1000, 4600, 4540, True),
        (1000, 1060, 1029, False),
        (1000, 1060, 1030, True),
        (1000, 1000, 1000, True),
        (1000, None, 10**9, False),
        (5000, 8600, 1000, False),
    ],
)
def test_a_token_is_renewed_before_its_end_and_a_clock_put_back_proves_nothing(
    obtained: float, expires: float | None, now: float, is_over: bool
) -> None:
    assert Tokens(access="a", obtained_at=obtained, expires_at=expires).is_over(now) is is_over


def test_secrets_are_in_no_repr() -> None:
    tokens = Tokens(access="hidden-access", refresh="hidden-refresh")
    client = LoginClient(client_id="c", client_secret="hidden-secret")
    kept = ServerLogin(url="u", resource="r", issuer="i", token_endpoint="t", client=client, tokens=tokens)
    answer = CallbackAnswer(params={"code": "hidden-code", "state": "hidden-state"})
    assert "hidden" not in repr((kept, LoginOptions(client_secret="hidden-secret"), answer))


def test_only_the_address_that_was_waited_for_is_an_answer() -> None:
    uri = "http://127.0.0.1:1234/callback"
    answer = read_redirect(f"{uri}?code=a&state=b&state=c&x=#frag", uri)
    assert answer is not None and answer.params == {"code": "a", "x": ""}
    for text in (
        "",
        uri,
        f"{uri}x?code=a",
        "http://127.0.0.1:1235/callback?code=a",
        "code=a",
        f"{uri}?state=b",
    ):
        assert read_redirect(text, uri) is None
    assert read_redirect(f"{uri}?code={'a' * 40_000}", uri) is None


@given(st.text(max_size=80))
def test_what_is_pasted_is_an_answer_only_with_a_code_or_an_error(text: str) -> None:
    answer = read_redirect(f"http://127.0.0.1:1/callback?{text}", "http://127.0.0.1:1/callback")
    assert answer is None or "code" in text or "error" in text or "%" in text


def test_a_client_signs_a_word_about_itself_that_its_public_key_confirms() -> None:
    for key, algorithm, check in (
        (ec.generate_private_key(ec.SECP256R1()), "ES256", confirm_ec),
        (rsa.generate_private_key(65537, 2048), "RS256", confirm_rsa),
    ):
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        assertion = Assertion(key=pem, audience="https://a.example")
        first, second = assertion.signed("mine", 1000.0), assertion.signed("mine", 1000.0)
        head, claims, signature = (
            urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in first.split(".")
        )
        check(key, signature, first.rpartition(".")[0].encode())
        assert json.loads(head) == {"alg": algorithm, "typ": "JWT"}
        payload = json.loads(claims)
        assert payload.pop("jti") and first != second
        assert payload == {
            "iss": "mine",
            "sub": "mine",
            "aud": "https://a.example",
            "iat": 1000,
            "exp": 1300,
        }
        assert "PRIVATE" not in repr(assertion)


def confirm_ec(key: Any, signature: bytes, data: bytes) -> None:
    r, s = (int.from_bytes(half, "big") for half in (signature[:32], signature[32:]))
    key.public_key().verify(encode_dss_signature(r, s), data, ec.ECDSA(SHA256()))


def confirm_rsa(key: Any, signature: bytes, data: bytes) -> None:
    key.public_key().verify(signature, data, PKCS1v15(), SHA256())


def test_what_is_no_key_signs_nothing() -> None:
    other = ec.generate_private_key(ec.SECP384R1())
    pem = other.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    for key, words in (
        ("", "no private key"),
        ("nonsense-key-text", "no private key"),
        (pem, "neither RSA nor"),
    ):
        with pytest.raises(LoginFailed, match=words) as caught:
            Assertion(key=key, audience="https://a.example").signed("mine", 1000.0)
        assert "nonsense" not in str(caught.value)
