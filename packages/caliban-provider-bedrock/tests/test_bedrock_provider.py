"""The provider over a real connection to a server on this machine."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest

from caliban_common.message import Message, TextBlock, assistant, user
from caliban_provider.assemble import Assembler
from caliban_provider.credential import Credential
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    InvalidRequest,
    ModelUnavailable,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from caliban_provider.http import HttpClient
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import TextDelta
from caliban_provider.testing.exchange import Exchange, Send, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.provider import AnthropicProvider
from caliban_provider_anthropic.testing import wire as inner
from caliban_provider_bedrock.credentials import Access
from caliban_provider_bedrock.factory import BedrockFactory
from caliban_provider_bedrock.models import DEFAULT_MODEL
from caliban_provider_bedrock.settings import BedrockSettings
from caliban_provider_bedrock.sigv4 import AwsKeys
from caliban_provider_bedrock.testing import wire
from caliban_provider_bedrock.testing.access import FakeAccess
from caliban_provider_bedrock.testing.strict import StrictValidator
from caliban_provider_bedrock.transport import BedrockTransport

pytestmark = pytest.mark.anyio

ENVIRON = {"AWS_REGION": "us-east-1", "AWS_BEARER_TOKEN_BEDROCK": "bedrock-token"}
OLD = AwsKeys(access_key_id="OLD", secret_access_key="old-secret")
NEW = AwsKeys(access_key_id="NEW", secret_access_key="new-secret", session_token="session")
NOON = datetime(2026, 11, 27, 12, tzinfo=UTC)


def ask(**members: Any) -> CompletionRequest:
    members = {"model": DEFAULT_MODEL, "max_tokens": 100, "messages": (user("Hi"),), **members}
    return CompletionRequest(**members)


def make(server: LoopbackServer, environ: dict[str, str] | None = None, **extra: str) -> AnthropicProvider:
    factory = BedrockFactory(environ=ENVIRON if environ is None else environ)
    return factory.create(ProviderOptions(base_url=server.url, extra=extra))


def with_access(server: LoopbackServer, access: FakeAccess, **settings: Any) -> AnthropicProvider:
    chosen = BedrockSettings(access=access, base_url=server.url, **settings)
    return AnthropicProvider(BedrockTransport(chosen, now=lambda: NOON), HttpClient(), name="bedrock")


async def reply(provider: Provider, request: CompletionRequest | None = None) -> Message:
    assembler = Assembler()
    async with provider.stream(request or ask()) as events:
        async for event in events:
            assembler.add(event)
    return assembler.message(provider.family, assembler.model)


async def failure(server: LoopbackServer, **extra: str) -> ProviderError:
    provider = make(server, **extra)
    with pytest.raises(ProviderError) as caught:
        await reply(provider)
    await provider.aclose()
    return caught.value


async def test_a_reply_comes_as_it_was_written() -> None:
    exchange = wire.exchange(inner.thinking("hm"), inner.text("Hel", "lo"), bytewise=True)
    with LoopbackServer([exchange], validator=StrictValidator(token="bedrock-token")) as server:
        provider = make(server)
        message = await reply(provider)
        await provider.aclose()
    assert [block.type for block in message.content] == ["thinking", "text"]
    assert message.content[1] == TextBlock(text="Hello")
    assert (provider.name, provider.family, message.model) == ("bedrock", "anthropic", inner.MODEL)
    sent = server.requests[0]
    assert sent.path == "/model/global.anthropic.claude-sonnet-5-5/invoke-with-response-stream"
    assert sent.headers["accept"].startswith(wire.CONTENT_TYPE)
    assert list(sent.json) == ["anthropic_version", "max_tokens", "messages"]


async def test_short_names_go_through_the_profile_and_betas_into_the_body() -> None:
    with LoopbackServer([wire.exchange(inner.text("Hi"))], validator=StrictValidator()) as server:
        provider = make(server, inference_profile="eu", anthropic_beta="a, b", anthropic_version="2026-10-21")
        message = await reply(provider, ask(model="claude-sonnet-4-6"))
        await provider.aclose()
    sent = server.requests[0]
    assert sent.path == "/model/eu.anthropic.claude-sonnet-4-6/invoke-with-response-stream"
    assert (sent.json["anthropic_version"], sent.json["anthropic_beta"]) == ("2026-10-21", ["a", "b"])
    assert message.model == "claude-sonnet-4-6"


async def test_keys_from_the_environment_sign_without_the_vendors_library() -> None:
    environ = {
        "AWS_ACCESS_KEY_ID": "NEW",
        "AWS_SECRET_ACCESS_KEY": "new-secret",
        "AWS_SESSION_TOKEN": "session",
        "AWS_DEFAULT_REGION": "us-west-2",
    }
    strict = StrictValidator(keys=NEW, region="us-west-2")
    with LoopbackServer([wire.exchange(inner.text("Hi"))], validator=strict) as server:
        provider = make(server, environ)
        assert (await reply(provider)).content == (TextBlock(text="Hi"),)
        await provider.aclose()
    assert not server.refused


async def test_an_arn_is_signed_as_it_arrives() -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-6"
    access = FakeAccess([Access(keys=NEW, region="us-east-1")])
    with LoopbackServer([wire.exchange(inner.text("Hi"))], validator=StrictValidator(keys=NEW)) as server:
        provider = with_access(server, access)
        await reply(provider, ask(model=arn))
        await provider.aclose()
    assert server.requests[0].path.startswith("/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3A")
    assert "inference-profile%2Fus.anthropic" in server.requests[0].path


async def test_a_profile_that_hides_its_model_keeps_its_name_and_its_thinking() -> None:
    arn = "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc123"
    script = [wire.exchange(inner.thinking("hm"), inner.text("Hi")), wire.exchange(inner.text("Ho"))]
    with LoopbackServer(script) as server:
        provider = make(server)
        first = await reply(provider, ask(model=arn))
        await reply(provider, ask(model=arn, messages=(user("Hi"), first, user("And?"))))
        await provider.aclose()
    assert first.model == arn
    sent = server.requests[1].json["messages"][1]["content"]
    assert [block["type"] for block in sent] == ["thinking", "text"]


async def test_refused_keys_are_looked_up_again_once() -> None:
    strict = StrictValidator(keys=NEW)
    access = FakeAccess([Access(keys=OLD, region="us-east-1"), Access(keys=NEW, region="us-east-1")])
    with LoopbackServer([wire.exchange(inner.text("Hi"))] * 2, validator=strict) as server:
        provider = with_access(server, access)
        assert (await reply(provider)).content == (TextBlock(text="Hi"),)
        assert (await reply(provider)).content == (TextBlock(text="Hi"),)
        await provider.aclose()
    assert (len(server.requests), len(server.refused), access.asked) == (3, 1, [False, True])


async def test_keys_that_stay_the_same_are_not_tried_twice() -> None:
    access = FakeAccess([Access(keys=OLD, region="us-east-1")])
    with LoopbackServer(validator=StrictValidator(keys=NEW)) as server:
        provider = with_access(server, access)
        with pytest.raises(AuthenticationError):
            await reply(provider)
        await provider.aclose()
    assert (len(server.requests), access.asked) == (1, [False, True])


async def test_keys_are_renewed_while_a_reply_runs_and_used_by_the_next() -> None:
    soon = NOON.timestamp() + 300
    grants = [
        Credential(value=Access(keys=OLD, region="us-east-1"), expires_at_s=soon),
        Credential(value=Access(keys=NEW, region="us-east-1"), expires_at_s=soon + 9999),
    ]
    access = FakeAccess(grants)
    times = [NOON]
    script = [wire.exchange(inner.text("Hi")) for _ in range(3)]
    with LoopbackServer(script) as server:
        settings = BedrockSettings(access=access, base_url=server.url)
        transport = BedrockTransport(settings, now=lambda: times[0])
        provider = AnthropicProvider(transport, HttpClient(), name="bedrock")
        await reply(provider)
        times[0] = datetime.fromtimestamp(NOON.timestamp() + 60, UTC)
        async with provider.stream(ask()) as events:
            async for _ in events:
                pass
            await access.wait_for(2)
        await reply(provider)
        await provider.aclose()
    used = [request.headers["authorization"].partition("=")[2][:3] for request in server.requests]
    assert used == ["OLD", "OLD", "NEW"]


async def test_an_error_inside_a_reply_arrives_as_it_is_while_keys_are_renewed() -> None:
    soon = NOON.timestamp() + 300
    access = FakeAccess([Credential(value=Access(keys=OLD, region="us-east-1"), expires_at_s=soon)])
    broken = wire.broken(inner.text("a", "b", "c"), after=5, end=wire.exception("throttlingException"))
    with LoopbackServer([wire.exchange(inner.text("Hi")), broken]) as server:
        times = [NOON]
        settings = BedrockSettings(access=access, base_url=server.url)
        transport = BedrockTransport(settings, now=lambda: times[0])
        provider = AnthropicProvider(transport, HttpClient(), name="bedrock")
        await reply(provider)
        times[0] = datetime.fromtimestamp(NOON.timestamp() + 60, UTC)
        with pytest.raises(RateLimited):
            await reply(provider)
        await provider.aclose()
    assert len(access.asked) == 2


@pytest.mark.parametrize(
    ("kind", "error", "retryable"),
    [
        ("throttlingException", RateLimited, True),
        ("serviceUnavailableException", Overloaded, True),
        ("internalServerException", ServerError, True),
        ("modelStreamErrorException", ServerError, True),
        ("modelTimeoutException", ServerError, True),
        ("validationException", InvalidRequest, False),
        ("somethingNewException", ServerError, True),
    ],
)
async def test_an_exception_in_the_stream_is_told_after_what_came_before(
    kind: str, error: type[ProviderError], retryable: bool
) -> None:
    pieces = [*wire.reply(inner.text("a", "b"))[:4], wire.exception(kind, "It is so.")]
    whole = Exchange(headers={"content-type": wire.CONTENT_TYPE}, steps=(Send(b"".join(pieces)),))
    texts: list[str] = []
    with LoopbackServer([whole]) as server:
        provider = make(server)
        with pytest.raises(error, match="It is so") as caught:
            async with provider.stream(ask()) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        texts.append(event.text)
        await provider.aclose()
    assert (texts, caught.value.retryable, caught.value.request_id) == (["a"], retryable, None)
    assert "bedrock" in caught.value.message


async def test_a_fault_and_garbage_in_the_stream_come_after_what_was_whole() -> None:
    start = b"".join(wire.reply(inner.text("a", "b"))[:4])
    fault = wire.fault("InternalError", "Oops")
    for end, kind in ((fault, ServerError), (b"\0" * 16, BadResponse), (fault[:20], StreamInterrupted)):
        exchange = Exchange(headers={"content-type": wire.CONTENT_TYPE}, steps=(Send(start + end),))
        seen = 0
        with LoopbackServer([exchange]) as server:
            provider = make(server)
            with pytest.raises(kind):
                async with provider.stream(ask()) as events:
                    async for _ in events:
                        seen += 1
            await provider.aclose()
        assert seen == 3


@pytest.mark.parametrize(
    ("status", "kind", "message", "error", "hint"),
    [
        (429, "ThrottlingException", "Too many tokens", RateLimited, "try again"),
        (429, "ModelNotReadyException", "Not ready", Overloaded, "try again"),
        (503, "ServiceUnavailableException", "Busy", Overloaded, "try again"),
        (424, "ModelErrorException", "It broke", ServerError, "try again"),
        (403, "AccessDeniedException", "You don't have access", AuthenticationError, "InvokeModel"),
        (403, "ExpiredTokenException", "The security token is expired", AuthenticationError, "sso login"),
        (403, "InvalidSignatureException", "Signature expired: 2026", AuthenticationError, "clock"),
        (404, "ResourceNotFoundException", "model not found", ModelUnavailable, "name"),
        (400, "ValidationException", "Invocation with on-demand throughput isn't", InvalidRequest, "global."),
    ],
)
async def test_refusals_say_what_to_do(
    status: int, kind: str, message: str, error: type[ProviderError], hint: str
) -> None:
    with LoopbackServer([wire.failure(status, kind, message, x_amzn_requestid="r-1")]) as server:
        caught = await failure(server)
    assert type(caught) is error
    assert (caught.status, caught.request_id) == (status, "r-1")
    assert hint in (caught.hint or "") and message[:20] in caught.message


async def test_a_secret_that_the_server_repeats_is_not_told() -> None:
    with LoopbackServer([answer(403, json.dumps({"message": "bad bedrock-token here"}))]) as server:
        caught = await failure(server)
    assert "bedrock-token" not in str(caught)


async def test_a_missing_region_is_told_before_anything_is_sent() -> None:
    access = FakeAccess([Access(keys=OLD)])
    with LoopbackServer() as server:
        provider = with_access(server, access)
        with pytest.raises(InvalidRequest, match="no AWS region is known") as caught:
            await reply(provider)
        await provider.aclose()
    assert "AWS_REGION" in (caught.value.hint or "") and not server.requests


async def test_the_known_models_are_listed_as_they_are_called() -> None:
    with LoopbackServer() as server:
        provider = make(server, inference_profile="us")
        listed = await provider.list_models()
        await provider.aclose()
    assert "us.anthropic.claude-sonnet-5-5" in [info.id for info in listed]
    assert all(info.display_name and info.capabilities.thinking for info in listed)
    assert not server.requests


def profiles(*ids: str, next_token: str | None = None) -> Exchange:
    summaries = [
        {"inferenceProfileId": id, "inferenceProfileName": id.upper(), "status": "ACTIVE"} for id in ids
    ]
    page = {"inferenceProfileSummaries": summaries, "nextToken": next_token}
    return answer(200, json.dumps(page), content_type="application/json")


async def test_the_accounts_profiles_are_listed_page_by_page_and_signed() -> None:
    first = profiles("us.anthropic.claude-opus-5-5", "us.amazon.nova-pro-v1:0", next_token="a/b=")
    with LoopbackServer([first, profiles("eu.anthropic.claude-opus-5-5")]) as server:
        environ = {
            "AWS_ACCESS_KEY_ID": "NEW",
            "AWS_SECRET_ACCESS_KEY": "new-secret",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL_BEDROCK": server.url,
        }
        provider = make(server, environ)
        listed = await provider.list_models()
        await provider.aclose()
    assert [info.id for info in listed] == ["us.anthropic.claude-opus-5-5", "eu.anthropic.claude-opus-5-5"]
    paths = [request.path for request in server.requests]
    start = "/inference-profiles?maxResults=100&typeEquals=SYSTEM_DEFINED"
    assert paths == [start, f"{start}&nextToken=a%2Fb%3D"]
    assert all("Credential=NEW/" in request.headers["authorization"] for request in server.requests)


async def test_who_may_not_list_is_told_the_known_models() -> None:
    with LoopbackServer([wire.failure(403, "AccessDeniedException"), wire.failure(500, "Oops")]) as server:
        provider = make(server, {**ENVIRON, "AWS_ENDPOINT_URL_BEDROCK": server.url})
        assert DEFAULT_MODEL in [info.id for info in await provider.list_models()]
        with pytest.raises(ServerError):
            await provider.list_models()
        await provider.aclose()


async def test_turns_share_their_beginning_byte_for_byte() -> None:
    history: tuple[Message, ...] = ()
    with LoopbackServer([wire.exchange(inner.text("Yes.")) for _ in range(30)]) as server:
        provider = make(server)
        for turn in range(30):
            history = (*history, user(f"Turn {turn}"))
            await reply(provider, ask(messages=history, cache=False))
            history = (*history, assistant("Yes."))
        await provider.aclose()
    bodies = [request.body for request in server.requests]
    assert all(after.startswith(before[:-2]) for before, after in pairwise(bodies))
