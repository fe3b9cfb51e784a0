"""The provider over a real connection to a server on this machine."""

from __future__ import annotations

import json
from typing import Any

import anyio
import pytest
from hang_guard import HANG_S

from caliban_common.message import Message, TextBlock, ToolUseBlock, user
from caliban_provider.assemble import Assembler
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    InvalidRequest,
    ModelUnavailable,
    Overloaded,
    ProviderError,
    RateLimited,
)
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.exchange import Exchange, Hang, Send, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_google.factory import FACTORY, GoogleFactory
from caliban_provider_google.names import is_made
from caliban_provider_google.provider import GoogleProvider
from caliban_provider_google.testing import wire
from caliban_provider_google.testing.strict import StrictValidator

pytestmark = pytest.mark.anyio

KEY = "AIzaTest0123456789"


def ask(text: str = "Hi", **members: Any) -> CompletionRequest:
    members = {"model": wire.MODEL, "max_tokens": 100, "messages": (user(text),), **members}
    return CompletionRequest(**members)


def make(server: LoopbackServer, environ: dict[str, str] | None = None, **options: Any) -> GoogleProvider:
    factory = GoogleFactory(environ=environ or {})
    return factory.create(ProviderOptions(**{"api_key": KEY, "base_url": server.url, **options}))


async def reply(provider: GoogleProvider, request: CompletionRequest | None = None) -> Message:
    assembler = Assembler()
    async with provider.stream(request or ask()) as events:
        async for event in events:
            assembler.add(event)
    assert assembler.complete
    return assembler.message("google", wire.MODEL, id="m1")


async def failure(server: LoopbackServer, **options: Any) -> ProviderError:
    provider = make(server, **options)
    with pytest.raises(ProviderError) as raised:
        await reply(provider)
    await provider.aclose()
    assert KEY not in str(raised.value)
    return raised.value


async def test_a_reply_arrives_and_the_request_is_as_the_vendor_wants_it() -> None:
    exchange = wire.exchange(wire.text("Let me look."), wire.call("Read", {"path": "x"}, id="id_1"))
    with LoopbackServer([exchange], validator=StrictValidator(key=KEY)) as server:
        provider = make(server)
        assert await reply(provider) == Message(
            role="assistant",
            id="m1",
            content=(
                TextBlock(text="Let me look."),
                ToolUseBlock(id="id_1", name="Read", input={"path": "x"}),
            ),
            family="google",
            model=wire.MODEL,
        )
        await provider.aclose()
        (request,) = server.requests
    assert request.path == f"/v1beta/models/{wire.MODEL}:streamGenerateContent?alt=sse"
    assert request.headers["x-goog-api-key"] == KEY
    assert request.json["store"] is False


async def test_calls_of_replies_without_a_name_have_ids_of_their_own() -> None:
    part = {"functionCall": {"name": "Read", "args": {}}}
    bare = wire.raw({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})
    with LoopbackServer([bare, bare]) as server:
        provider = make(server)
        ids = [call.id for _ in range(2) for call in (await reply(provider)).tool_uses]
        await provider.aclose()
    assert len(set(ids)) == 2 and all(map(is_made, ids))


@pytest.mark.parametrize(
    ("path", "environ", "extra", "version"),
    [
        ("", {}, {}, "/v1beta"),
        ("", {"GEMINI_API_VERSION": "v1"}, {}, "/v1"),
        ("", {"GEMINI_API_VERSION": "v1"}, {"api_version": "v1alpha"}, "/v1alpha"),
        ("/v1/", {"GEMINI_API_VERSION": "v1beta"}, {}, "/v1"),
        ("/gateway/v1beta/models", {}, {}, "/gateway/v1beta"),
    ],
)
async def test_the_version_comes_from_the_base_url_the_options_or_the_environment(
    path: str, environ: dict[str, str], extra: dict[str, str], version: str
) -> None:
    with LoopbackServer([wire.exchange(wire.text("ok"))]) as server:
        provider = make(server, environ, base_url=server.url + path, extra=extra)
        await reply(provider, ask(model="models/gemini-2.5-pro"))
        await provider.aclose()
        (request,) = server.requests
    assert request.path == f"{version}/models/gemini-2.5-pro:streamGenerateContent?alt=sse"


async def test_a_stream_that_stays_open_after_its_end_is_left() -> None:
    steps = tuple(Send(piece) for piece in wire.reply(wire.text("Done.")))
    endless = Exchange(headers={"content-type": "text/event-stream"}, steps=(*steps, Hang()))
    with LoopbackServer([endless]) as server:
        provider = make(server, idle_s=2 * HANG_S)
        with anyio.fail_after(HANG_S):
            assert (await reply(provider)).text == "Done."
        await provider.aclose()


async def test_a_stream_cut_after_its_end_is_whole() -> None:
    pieces = wire.reply(wire.text("Done."))
    with LoopbackServer([wire.broken(wire.text("Done."), after=len(pieces))]) as server:
        provider = make(server)
        assert (await reply(provider)).text == "Done."
        await provider.aclose()


@pytest.mark.parametrize(
    ("exchange", "kind"),
    [
        (wire.failure(400, "INVALID_ARGUMENT", "No."), InvalidRequest),
        (wire.failure(400, "INVALID_ARGUMENT", "No.", reason="API_KEY_INVALID"), AuthenticationError),
        (wire.failure(403, "PERMISSION_DENIED", "No."), AuthenticationError),
        (wire.failure(404, "NOT_FOUND", "models/x is not found for API version v1beta"), ModelUnavailable),
        (wire.failure(429, "RESOURCE_EXHAUSTED", "Slow down.", retry_delay="7s"), RateLimited),
        (wire.failure(503, "UNAVAILABLE", "Overloaded."), Overloaded),
        (
            answer(200, json.dumps([wire.error(503, "UNAVAILABLE")]), content_type="application/json"),
            Overloaded,
        ),
        (answer(200, "{}", content_type="application/json"), BadResponse),
        (answer(200, "<p>", content_type="text/html"), BadResponse),
    ],
)
async def test_an_answer_that_is_no_stream_becomes_its_error(
    exchange: Exchange, kind: type[ProviderError]
) -> None:
    with LoopbackServer([exchange]) as server:
        error = await failure(server)
    assert type(error) is kind
    if kind is RateLimited:
        assert (error.retry_after_s, error.status) == (7.0, 429)


async def test_models_are_listed_page_by_page() -> None:
    pages = [wire.models("gemini-3.8-flash", token="next"), wire.models("gemini-9")]
    with LoopbackServer(pages, validator=StrictValidator(key=KEY)) as server:
        provider = make(server)
        models = await provider.list_models()
        await provider.aclose()
        assert [request.path for request in server.requests] == [
            "/v1beta/models?pageSize=200",
            "/v1beta/models?pageSize=200&pageToken=next",
        ]
    assert [(info.id, info.capabilities.context_tokens) for info in models] == [
        ("gemini-3.8-flash", 1_000_000),
        ("gemini-9", 1_000_000),
    ]


async def test_models_that_cannot_be_asked_are_left_out() -> None:
    listed = [
        {"name": "models/embedding-1", "supportedGenerationMethods": ["embedContent"]},
        {"name": "models/gemini-2.5-pro", "inputTokenLimit": 5, "thinking": False},
        {"name": 7},
        None,
    ]
    page = answer(200, json.dumps({"models": listed}), content_type="application/json")
    wrong = answer(200, json.dumps({"data": []}), content_type="application/json")
    with LoopbackServer([page, wrong]) as server:
        provider = make(server)
        (model,) = await provider.list_models()
        with pytest.raises(BadResponse):
            await provider.list_models()
        await provider.aclose()
    assert (model.id, model.display_name) == ("gemini-2.5-pro", "Gemini 2.5 Pro")
    assert (model.capabilities.context_tokens, model.capabilities.thinking) == (5, False)


async def test_without_a_key_nothing_is_sent_to_the_vendor() -> None:
    provider = GoogleFactory(environ={}).create(ProviderOptions())
    with pytest.raises(AuthenticationError, match="GEMINI_API_KEY"):
        await reply(provider)
    await provider.aclose()


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"base_url": "ftp://x"}, InvalidRequest),
        ({"base_url": "http://[x"}, InvalidRequest),
        ({"extra": {"api_version": "../x"}}, InvalidRequest),
        ({"api_key": "a b"}, AuthenticationError),
        ({"api_key": "a\u2028b"}, AuthenticationError),
    ],
)
def test_options_that_cannot_work_are_refused_at_once(
    options: dict[str, Any], kind: type[ProviderError]
) -> None:
    with pytest.raises(kind):
        GoogleFactory(environ={}).create(ProviderOptions(**options))


def test_the_entry_point_states_its_facts() -> None:
    factory = GoogleFactory(environ={})
    assert (factory.name, factory.default_model, factory.needs_key) == ("google", "gemini-3.8-flash", True)
    assert factory.key_env == ("GEMINI_API_KEY", "GOOGLE_GEMINI_API_KEY", "GOOGLE_API_KEY")
    assert factory.base_url_env == ("GEMINI_BASE_URL",)
    assert FACTORY.name == "google"
