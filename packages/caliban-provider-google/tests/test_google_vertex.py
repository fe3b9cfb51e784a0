"""Vertex: addresses, tokens, and the library that gives them."""

from __future__ import annotations

import pytest

from caliban_common.message import user
from caliban_provider.credential import Credential
from caliban_provider.errors import InvalidRequest
from caliban_provider.google_auth import GivenToken, GoogleToken
from caliban_provider.http import HttpClient
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_google.encode import Encoder
from caliban_provider_google.factory import GoogleFactory
from caliban_provider_google.models import TABLE
from caliban_provider_google.provider import GoogleProvider
from caliban_provider_google.testing import wire
from caliban_provider_google.testing.strict import StrictValidator
from caliban_provider_google.vertex import GeminiVertexTransport

pytestmark = pytest.mark.anyio

REQUEST = CompletionRequest(model=wire.MODEL, messages=(user("Hi"),), max_tokens=9)


class Tokens:
    """A source of numbered tokens."""

    def __init__(self) -> None:
        self.number = 0

    async def fetch(self, refused: bool) -> Credential[GoogleToken]:
        self.number += 1
        return Credential(value=GoogleToken(value=f"token-{self.number}"))


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
    transport = GeminiVertexTransport(ProviderOptions(), GivenToken("t"), project="p", location=location)
    await transport.credentials.ready()
    prepared = transport.prepare(model, Encoder().body(REQUEST))
    assert prepared.url == f"{url}:streamGenerateContent?alt=sse"
    assert prepared.headers["authorization"] == "Bearer t"
    assert b'"store"' not in prepared.body and transport.secrets == ("t",)


async def test_a_refused_token_is_not_used_again_and_the_request_is_made_once_more() -> None:
    exchanges = [wire.failure(401, "UNAUTHENTICATED", "Expired."), wire.exchange(wire.text("ok"))]
    with LoopbackServer(exchanges) as server:
        options = ProviderOptions(base_url=server.url)
        provider = GoogleProvider(GeminiVertexTransport(options, Tokens(), project="p"), HttpClient())
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
        GeminiVertexTransport(ProviderOptions(), GivenToken("t"), project=" ")
