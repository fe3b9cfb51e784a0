"""Tokens by the vendor's own library, from a token service on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from caliban_provider.errors import AuthenticationError
from caliban_provider.http import HttpClient
from caliban_provider.testing.exchange import answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_vertex.tokens import DefaultTokens, GoogleToken

pytestmark = pytest.mark.anyio

KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
    Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
)


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
    told = [json.dumps({"access_token": f"t{number}", "expires_in": 3600}) for number in (1, 2)]
    script = [answer(200, body, content_type="application/json") for body in told]
    with LoopbackServer(script) as server:
        use_account(home, monkeypatch, f"{server.url}/token")
        http = HttpClient()
        tokens = DefaultTokens(http)
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
            await DefaultTokens(http).fetch(False)
        await http.aclose()
    assert "gcloud auth application-default login" in (caught.value.hint or "")


async def test_no_credentials_at_all_say_what_to_do(home: Path) -> None:
    http = HttpClient()
    with pytest.raises(AuthenticationError, match="there is no token for Vertex"):
        await DefaultTokens(http).fetch(False)
    await http.aclose()


async def test_a_broken_key_file_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / "account.json"
    path.write_text("{")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
    http = HttpClient()
    with pytest.raises(AuthenticationError, match="there is no token for Vertex"):
        await DefaultTokens(http).fetch(False)
    await http.aclose()
