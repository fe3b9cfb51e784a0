"""Tokens of Google Cloud by its own library, from a token service on this machine."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from caliban_provider.errors import AuthenticationError, NetworkError
from caliban_provider.google_auth import DefaultTokens, GoogleToken
from caliban_provider.http import HttpClient
from caliban_provider.testing.exchange import Request, answer
from caliban_provider.testing.loopback import LoopbackServer

pytestmark = pytest.mark.anyio

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
)


def default_tokens(http: HttpClient, credentials: Any = None) -> DefaultTokens:
    return DefaultTokens(http, package="mine[vertex]", variable="MY_TOKEN", credentials=credentials)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith(("GOOGLE_", "CLOUDSDK_", "GCLOUD_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def use_account(home: Path, monkeypatch: pytest.MonkeyPatch, token_uri: str) -> None:
    info = {
        "type": "service_account",
        "project_id": "from-the-file",
        "private_key_id": "k1",
        "private_key": KEY.decode(),
        "client_email": "caliban@from-the-file.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }
    path = home / "account.json"
    path.write_text(json.dumps(info))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))


async def test_a_key_file_is_turned_into_tokens(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = [json.dumps({"access_token": f"t{number}", "expires_in": 3600}) for number in (1, 2)]
    script = [answer(200, body, content_type="application/json") for body in bodies]
    with LoopbackServer(script) as server:
        use_account(home, monkeypatch, f"{server.url}/token")
        http = HttpClient()
        tokens = default_tokens(http)
        first = await tokens.fetch(False)
        second = await tokens.fetch(True)
        await http.aclose()
    assert first.value == GoogleToken(value="t1", project="from-the-file")
    assert second.value.value == "t2"
    assert first.expires_at_s is not None and second.expires_at_s is not None
    form = parse_qs(server.requests[0].body.decode())
    assert form["grant_type"] == ["urn:ietf:params:oauth:grant-type:jwt-bearer"]


async def test_a_token_service_that_refuses_says_why(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = json.dumps({"error": "invalid_grant", "error_description": "Account not found"})
    with LoopbackServer([answer(400, refusal, content_type="application/json")]) as server:
        use_account(home, monkeypatch, f"{server.url}/token")
        http = HttpClient()
        with pytest.raises(AuthenticationError, match="Account not found") as caught:
            await default_tokens(http).fetch(False)
        await http.aclose()
    assert "gcloud auth application-default login" in (caught.value.hint or "")


async def test_no_credentials_at_all_say_what_to_do(home: Path) -> None:
    http = HttpClient()
    with pytest.raises(AuthenticationError, match="there is no token for Vertex"):
        await default_tokens(http).fetch(False)
    await http.aclose()


async def test_a_broken_key_file_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / "account.json"
    path.write_text("{")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    http = HttpClient()
    with pytest.raises(AuthenticationError, match="there is no token for Vertex"):
        await default_tokens(http).fetch(False)
    await http.aclose()


def credentials(token_uri: str) -> Any:
    """A person's credentials, whose tokens come from `token_uri`."""
    library = pytest.importorskip("google.oauth2.credentials")
    return library.Credentials(
        token=None, refresh_token="r", token_uri=token_uri, client_id="c", client_secret="s"
    )


async def test_googles_library_gives_tokens_through_our_connections() -> None:
    given: list[Any] = []

    def tokens(request: Request) -> Any:
        given.append(parse_qs(request.body.decode()))
        body = {"access_token": f"ya29.{len(given)}", "expires_in": 3600, "token_type": "Bearer"}
        return answer(200, json.dumps(body), content_type="application/json")

    with LoopbackServer(tokens) as server:
        http = HttpClient()
        source = default_tokens(http, credentials(f"{server.url}/token"))
        got = [(await source.fetch(refused)).value.value for refused in (False, True)]
        await http.aclose()
    assert got == ["ya29.1", "ya29.2"]
    assert given[0]["refresh_token"] == ["r"]


async def test_a_token_service_that_is_not_there_is_a_network_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    http = HttpClient()
    with pytest.raises(NetworkError, match=f"127.0.0.1:{port}"):
        await default_tokens(http, credentials(f"http://127.0.0.1:{port}/token")).fetch(False)
    await http.aclose()
