"""Vertex: addresses, tokens, and the library that gives them."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

from caliban_common.message import user
from caliban_provider.errors import AuthenticationError, InvalidRequest, NetworkError
from caliban_provider.http import HttpClient
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.exchange import Request, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_google.encode import Encoder
from caliban_provider_google.factory import GoogleFactory
from caliban_provider_google.models import TABLE
from caliban_provider_google.provider import GoogleProvider
from caliban_provider_google.testing import wire
from caliban_provider_google.testing.strict import StrictValidator
from caliban_provider_google.tokens import GoogleAuthTokens, StaticToken
from caliban_provider_google.vertex import VertexTransport

pytestmark = pytest.mark.anyio

REQUEST = CompletionRequest(model=wire.MODEL, messages=(user("Hi"),), max_tokens=9)


class Tokens:
    """A source of numbered tokens."""

    def __init__(self) -> None:
        self.number = 1

    async def token(self) -> str:
        return f"token-{self.number}"

    def forget(self) -> None:
        self.number += 1


async def drain(provider: GoogleProvider, request: CompletionRequest = REQUEST) -> int:
    async with provider.stream(request) as events:
        return len([event async for event in events])


@pytest.mark.parametrize(
    ("location", "model", "url"),
    [
        (
            "global",
            wire.MODEL,
            f"https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google/models/{wire.MODEL}",
        ),
        (
            "europe-west4",
            f"google/{wire.MODEL}",
            "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/"
            f"google/models/{wire.MODEL}",
        ),
        (
            "us-central1",
            "projects/q/locations/us-central1/endpoints/7",
            "https://us-central1-aiplatform.googleapis.com/v1/projects/q/locations/us-central1/endpoints/7",
        ),
    ],
)
async def test_the_address_names_project_and_location(location: str, model: str, url: str) -> None:
    transport = VertexTransport(ProviderOptions(), StaticToken("t"), project="p", location=location)
    prepared = await transport.prepare(model, Encoder().body(REQUEST))
    assert prepared.url == f"{url}:streamGenerateContent?alt=sse"
    assert prepared.headers["authorization"] == "Bearer t"
    assert b'"store"' not in prepared.body and transport.secrets == ("t",)


async def test_a_refused_token_is_not_used_again() -> None:
    exchanges = [wire.failure(401, "UNAUTHENTICATED", "Expired."), wire.exchange(wire.text("ok"))]
    with LoopbackServer(exchanges) as server:
        options = ProviderOptions(base_url=server.url)
        provider = GoogleProvider(VertexTransport(options, Tokens(), project="p"), HttpClient())
        with pytest.raises(AuthenticationError):
            await drain(provider)
        await drain(provider)
        await provider.aclose()
        sent = [request.headers["authorization"] for request in server.requests]
    assert sent == ["Bearer token-1", "Bearer token-2"]


@pytest.mark.parametrize(
    ("extra", "environ"),
    [
        ({"project": "p", "location": "global"}, {}),
        ({}, {"GOOGLE_GENAI_USE_VERTEXAI": "true", "GOOGLE_CLOUD_PROJECT": "p"}),
    ],
)
async def test_a_key_is_an_access_token_on_vertex(extra: dict[str, str], environ: dict[str, str]) -> None:
    with LoopbackServer([wire.exchange(wire.text("ok"))], validator=StrictValidator(key="tok")) as server:
        options = ProviderOptions(api_key="tok", base_url=server.url, extra=extra)
        provider = GoogleFactory(environ=environ).create(options)
        await drain(provider)
        assert [info.id for info in await provider.list_models()] == [row.prefix for row in TABLE]
        await provider.aclose()
        (request,) = server.requests
    assert request.path.startswith("/v1/projects/p/locations/global/publishers/google/models/")


def test_vertex_needs_no_key_and_does_not_take_that_of_ai_studio() -> None:
    there = GoogleFactory(environ={"GOOGLE_GENAI_USE_VERTEXAI": "1", "GOOGLE_CLOUD_PROJECT": "p"})
    assert (there.needs_key, there.key_env) == (False, ("GOOGLE_CLOUD_ACCESS_TOKEN",))
    assert GoogleFactory(environ={"GOOGLE_CLOUD_PROJECT": "p"}).needs_key


def test_a_project_is_needed() -> None:
    with pytest.raises(InvalidRequest):
        VertexTransport(ProviderOptions(), StaticToken("t"), project=" ")


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
        source = GoogleAuthTokens(http, credentials(f"{server.url}/token"))
        assert [await source.token(), await source.token()] == ["ya29.1", "ya29.1"]
        source.forget()
        assert await source.token() == "ya29.2"
        await http.aclose()
    assert given[0]["refresh_token"] == ["r"]


async def test_what_google_refuses_is_told_with_the_way_on() -> None:
    refusal = answer(400, json.dumps({"error": "invalid_grant"}), content_type="application/json")
    with LoopbackServer([refusal] * 9) as server:
        http = HttpClient()
        with pytest.raises(AuthenticationError, match="gcloud auth"):
            await GoogleAuthTokens(http, credentials(f"{server.url}/token")).token()
        await http.aclose()


async def test_a_token_service_that_is_not_there_is_a_network_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    http = HttpClient()
    with pytest.raises(NetworkError, match=f"127.0.0.1:{port}"):
        await GoogleAuthTokens(http, credentials(f"http://127.0.0.1:{port}/token")).token()
    await http.aclose()


async def test_without_credentials_the_way_to_them_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("google.auth")
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "missing.json"))
    with pytest.raises(AuthenticationError, match="application-default"):
        await GoogleAuthTokens(HttpClient()).token()
