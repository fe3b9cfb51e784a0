"""The provider over a real connection to a server on this machine."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import pytest

from caliban_common.message import Message, TextBlock, assistant, user
from caliban_provider.assemble import Assembler
from caliban_provider.call import Prepared
from caliban_provider.credential import Credential
from caliban_provider.errors import (
    AuthenticationError,
    InvalidRequest,
    ModelUnavailable,
    ProviderError,
    RateLimited,
)
from caliban_provider.google_auth import GoogleToken
from caliban_provider.http import HttpClient
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.exchange import Exchange, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.encode import Encoder
from caliban_provider_anthropic.models import facts, same_model
from caliban_provider_anthropic.provider import AnthropicProvider
from caliban_provider_anthropic.testing import wire
from caliban_provider_vertex.factory import VertexFactory
from caliban_provider_vertex.foundry import FoundryFactory
from caliban_provider_vertex.models import DEFAULT_MODEL, WIRE_IDS, wire_id
from caliban_provider_vertex.settings import VertexSettings, settings_of
from caliban_provider_vertex.testing.strict import StrictValidator, error_body
from caliban_provider_vertex.testing.tokens import FakeTokens
from caliban_provider_vertex.transport import VertexTransport

pytestmark = pytest.mark.anyio

ENVIRON = {"ANTHROPIC_VERTEX_PROJECT_ID": "p-1", "ANTHROPIC_VERTEX_TOKEN": "ya29-token"}
NOON_S = 1_795_780_800.0


def ask(**members: Any) -> CompletionRequest:
    members = {"model": DEFAULT_MODEL, "max_tokens": 100, "messages": (user("Hi"),), **members}
    return CompletionRequest(**members)


def make(server: LoopbackServer, environ: dict[str, str] | None = None, **extra: str) -> AnthropicProvider:
    factory = VertexFactory(environ=ENVIRON if environ is None else environ)
    return factory.create(ProviderOptions(base_url=server.url, extra=extra))


def with_tokens(
    server: LoopbackServer, tokens: FakeTokens, times: list[float] | None = None
) -> AnthropicProvider:
    now = times or [NOON_S]
    transport = VertexTransport(VertexSettings(root=server.url), tokens, clock=lambda: now[0])
    return AnthropicProvider(transport, HttpClient(), name="vertex")


async def reply(provider: Provider, request: CompletionRequest | None = None) -> Message:
    assembler = Assembler()
    async with provider.stream(request or ask()) as events:
        async for event in events:
            assembler.add(event)
    return assembler.message(provider.family, assembler.model)


async def sent(environ: dict[str, str], **options: Any) -> Prepared:
    settings = settings_of(ProviderOptions(**options), environ)
    transport = VertexTransport(settings, FakeTokens(["t"]))
    async with transport.credentials.hold():
        return transport.prepare(Encoder().body(ask()))


async def test_a_reply_comes_as_it_was_written() -> None:
    strict = StrictValidator(token="ya29-token", project="p-1", region="europe-west1")
    with LoopbackServer(
        [wire.exchange(wire.thinking("hm"), wire.text("Hel", "lo"))], validator=strict
    ) as server:
        provider = make(server, region="europe-west1", anthropic_beta="a,b")
        message = await reply(provider)
        await provider.aclose()
    assert message.content[1] == TextBlock(text="Hello")
    assert (provider.name, provider.family, message.model) == ("vertex", "anthropic", DEFAULT_MODEL)
    request = server.requests[0]
    assert request.path.endswith("/publishers/anthropic/models/claude-sonnet-4-6:streamRawPredict")
    assert request.headers["anthropic-beta"] == "a,b"
    assert list(request.json) == ["anthropic_version", "max_tokens", "stream", "messages"]


@pytest.mark.parametrize(
    ("environ", "extra", "start"),
    [
        ({}, {}, "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global/"),
        (
            {"CLOUD_ML_REGION": "us"},
            {},
            "https://aiplatform.us.rep.googleapis.com/v1/projects/p-1/locations/us/",
        ),
        (
            {"CLOUD_ML_REGION": "us-east5"},
            {"project": "other"},
            "https://us-east5-aiplatform.googleapis.com/v1/projects/other/locations/us-east5/",
        ),
        (
            {"GOOGLE_CLOUD_PROJECT": "g"},
            {"region": "eu"},
            "https://aiplatform.eu.rep.googleapis.com/v1/projects/g/locations/eu/",
        ),
        (
            {"GOOGLE_CLOUD_PROJECT": "g", "ANTHROPIC_VERTEX_PROJECT_ID": "a"},
            {},
            "https://aiplatform.googleapis.com/v1/projects/a/locations/global/",
        ),
    ],
)
async def test_region_and_project_make_the_address(
    environ: dict[str, str], extra: dict[str, str], start: str
) -> None:
    assert (await sent(environ, extra=extra)).url.startswith(start)


async def test_a_base_url_may_end_in_its_version() -> None:
    for url in ("http://localhost:1", "http://localhost:1/v1", "http://localhost:1/v1/"):
        assert (await sent({}, base_url=url)).url.startswith("http://localhost:1/v1/projects/")


@pytest.mark.parametrize(
    "environ",
    [
        {"CLOUD_ML_REGION": "evil.example/"},
        {"CLOUD_ML_REGION": "a@b"},
        {"GOOGLE_CLOUD_PROJECT": "../../x"},
        {"GOOGLE_CLOUD_PROJECT": "a/b"},
    ],
)
async def test_a_region_or_project_that_is_none_never_reaches_an_address(environ: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest, match="Google Cloud"):
        await sent(environ)


async def test_a_missing_project_says_what_to_set() -> None:
    with LoopbackServer() as server:
        provider = make(server, {"ANTHROPIC_VERTEX_TOKEN": "t"})
        with pytest.raises(InvalidRequest, match="no Google Cloud project") as caught:
            await reply(provider)
        await provider.aclose()
    assert "ANTHROPIC_VERTEX_PROJECT_ID" in (caught.value.hint or "") and not server.requests


async def test_the_project_of_the_credentials_serves_and_the_one_that_pays_is_named() -> None:
    token = Credential(value=GoogleToken(value="t", project="own", quota_project="payer"))
    with LoopbackServer([wire.exchange(wire.text("Hi"))], validator=StrictValidator(project="own")) as server:
        provider = with_tokens(server, FakeTokens([token]))
        await reply(provider)
        await provider.aclose()
    assert server.requests[0].headers["x-goog-user-project"] == "payer"


async def test_a_refused_token_is_fetched_again_once() -> None:
    tokens = FakeTokens(["old", "new"])
    script = [wire.exchange(wire.text("Hi")) for _ in range(2)]
    with LoopbackServer(script, validator=StrictValidator(token="new")) as server:
        provider = with_tokens(server, tokens)
        assert (await reply(provider)).content == (TextBlock(text="Hi"),)
        await reply(provider)
        await provider.aclose()
    assert (len(server.requests), len(server.refused), tokens.asked) == (3, 1, [False, True])


async def test_a_token_that_stays_the_same_is_not_tried_twice() -> None:
    with LoopbackServer(validator=StrictValidator(token="other")) as server:
        provider = make(server)
        with pytest.raises(AuthenticationError) as caught:
            await reply(provider)
        await provider.aclose()
    assert len(server.requests) == 1 and "ya29-token" not in str(caught.value)


async def test_a_token_is_renewed_while_a_reply_runs_and_used_by_the_next() -> None:
    grants = [
        Credential(value=GoogleToken(value="old", project="p"), expires_at_s=NOON_S + 300),
        Credential(value=GoogleToken(value="new", project="p"), expires_at_s=NOON_S + 9999),
    ]
    tokens, times = FakeTokens(grants), [NOON_S]
    with LoopbackServer([wire.exchange(wire.text("Hi")) for _ in range(3)]) as server:
        provider = with_tokens(server, tokens, times)
        await reply(provider)
        times[0] += 60
        async with provider.stream(ask()) as events:
            async for _ in events:
                pass
            await tokens.wait_for(2)
        await reply(provider)
        await provider.aclose()
    used = [request.headers["authorization"] for request in server.requests]
    assert used == ["Bearer old", "Bearer old", "Bearer new"]


async def test_an_authorization_of_the_operator_stands_in_for_a_token() -> None:
    with LoopbackServer([wire.exchange(wire.text("Hi"))]) as server:
        provider = VertexFactory(environ={"GOOGLE_CLOUD_PROJECT": "p"}).create(
            ProviderOptions(base_url=server.url, headers={"Authorization": "Gateway g"})
        )
        await reply(provider)
        await provider.aclose()
    assert server.requests[0].headers["authorization"] == "Gateway g"


@pytest.mark.parametrize(
    ("status", "message", "error", "hint"),
    [
        (403, "Vertex AI API has not been used in project p-1", AuthenticationError, "enable"),
        (401, "Request had invalid authentication credentials", AuthenticationError, "gcloud"),
        (404, "Publisher Model `x` was not found", ModelUnavailable, "global"),
        (429, "Quota exceeded for aiplatform", RateLimited, "try again"),
        (400, "max_tokens: too large", InvalidRequest, ""),
    ],
)
async def test_refusals_say_what_to_do(
    status: int, message: str, error: type[ProviderError], hint: str
) -> None:
    for body in (error_body(status, message), json.dumps([json.loads(error_body(status, message))]).encode()):
        with LoopbackServer([answer(status, body, content_type="application/json")]) as server:
            provider = make(server)
            with pytest.raises(error) as caught:
                await reply(provider)
            await provider.aclose()
        assert message[:20] in caught.value.message and hint in (caught.value.hint or "")


def page(*models: dict[str, str], **members: str) -> Exchange:
    return answer(200, json.dumps({"publisherModels": models, **members}), content_type="application/json")


async def test_the_publishers_models_are_listed_page_by_page() -> None:
    place = "publishers/anthropic/models"
    first = page({"name": f"{place}/claude-haiku-4-5", "versionId": "20251001"}, nextPageToken="n&1")
    second = page({"name": f"{place}/claude-opus-5-5", "versionId": "default"}, {"name": ""})
    with LoopbackServer([first, second]) as server:
        provider = make(server)
        listed = await provider.list_models()
        await provider.aclose()
    assert [(info.id, info.display_name) for info in listed] == [
        ("claude-haiku-4-5@20251001", "Claude Haiku 4.5"),
        ("claude-opus-5-5", "Claude Opus 5.5"),
    ]
    start = f"/v1beta1/{place}?pageSize=100"
    assert [request.path for request in server.requests] == [start, f"{start}&pageToken=n%261"]
    assert server.requests[0].headers["x-goog-user-project"] == "p-1"


async def test_where_there_is_no_list_the_known_models_are_told() -> None:
    with LoopbackServer([answer(404, error_body(404, "Not found"))]) as server:
        provider = make(server)
        listed = await provider.list_models()
        await provider.aclose()
    assert "claude-haiku-4-5@20251001" in [info.id for info in listed]
    assert all(info.display_name for info in listed)


@pytest.mark.parametrize(
    ("model", "id"),
    [
        ("claude-haiku-4-5", "claude-haiku-4-5@20251001"),
        ("claude-haiku-4-5-20251001", "claude-haiku-4-5@20251001"),
        ("claude-haiku-4-5@20251001", "claude-haiku-4-5@20251001"),
        ("claude-opus-9", "claude-opus-9"),
    ],
)
async def test_a_model_is_called_by_its_name(model: str, id: str) -> None:
    assert wire_id(model) == id


async def test_every_known_model_has_its_row_and_is_the_model_of_its_short_name() -> None:
    for name, id in WIRE_IDS.items():
        assert facts(id) == facts(name) and facts(id).display_name
        assert same_model(name, id)
    assert VertexFactory().default_model == DEFAULT_MODEL and DEFAULT_MODEL in WIRE_IDS


async def test_turns_share_their_beginning_byte_for_byte() -> None:
    history: tuple[Message, ...] = ()
    with LoopbackServer([wire.exchange(wire.text("Yes.")) for _ in range(30)]) as server:
        provider = make(server)
        for turn in range(30):
            history = (*history, user(f"Turn {turn}"))
            await reply(provider, ask(messages=history, cache=False))
            history = (*history, assistant("Yes."))
        await provider.aclose()
    bodies = [request.body for request in server.requests]
    assert all(after.startswith(before[:-2]) for before, after in pairwise(bodies))


async def test_foundry_is_the_api_at_a_resources_address() -> None:
    with LoopbackServer([wire.exchange(wire.text("Hi"))]) as server:
        provider = FoundryFactory(environ={}).create(ProviderOptions(api_key="k", base_url=server.url))
        await reply(provider)
        await provider.aclose()
    request = server.requests[0]
    keys = [request.headers.get(name) for name in ("x-api-key", "api-key", "authorization")]
    assert (request.path, keys) == ("/v1/messages", ["k", "k", None])


async def test_foundry_takes_a_token_of_entra() -> None:
    with LoopbackServer([wire.exchange(wire.text("Hi"))]) as server:
        options = ProviderOptions(api_key="t", base_url=server.url, extra={"auth": "bearer"})
        provider = FoundryFactory(environ={}).create(options)
        await reply(provider)
        await provider.aclose()
    headers = server.requests[0].headers
    assert headers["authorization"] == "Bearer t" and not headers.keys() & {"x-api-key", "api-key"}


@pytest.mark.parametrize("resource", ["", "evil.example/", "a b"])
async def test_foundry_refuses_a_resource_that_is_none(resource: str) -> None:
    with pytest.raises(InvalidRequest, match="Foundry resource"):
        FoundryFactory(environ={"ANTHROPIC_FOUNDRY_RESOURCE": resource}).create(ProviderOptions(api_key="k"))
