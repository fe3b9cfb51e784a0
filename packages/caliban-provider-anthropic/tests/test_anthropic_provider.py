"""The provider over a real connection to a server on this machine."""

from __future__ import annotations

import json
import threading
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest
from hang_guard import HANG_S

from caliban_common.message import Message, TextBlock, ToolUseBlock, user
from caliban_common.tool import ToolSpec
from caliban_provider.assemble import Assembler
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    InvalidRequest,
    ModelUnavailable,
    Overloaded,
    ProviderError,
    RateLimited,
    RequestTooLarge,
    StreamIdle,
    StreamInterrupted,
)
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import MessageStop, StreamEvent, TextDelta
from caliban_provider.testing.exchange import Close, Exchange, Hang, Pause, Reset, Send, answer, sse
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_anthropic.factory import FACTORY
from caliban_provider_anthropic.names import wire_name
from caliban_provider_anthropic.provider import MAX_MODELS, AnthropicProvider
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

pytestmark = pytest.mark.anyio

KEY = "sk-test-0123456789abcdef"


def ask(text: str = "Hi", **members: Any) -> CompletionRequest:
    members = {"model": wire.MODEL, "max_tokens": 100, "messages": (user(text),), **members}
    return CompletionRequest(**members)


def make(server: LoopbackServer, **options: Any) -> AnthropicProvider:
    return FACTORY.create(ProviderOptions(**{"api_key": KEY, "base_url": server.url, **options}))


async def collect(provider: AnthropicProvider, request: CompletionRequest | None = None) -> list[StreamEvent]:
    async with provider.stream(request or ask()) as events:
        return [event async for event in events]


async def reply(provider: AnthropicProvider, request: CompletionRequest | None = None) -> Message:
    assembler = Assembler()
    for event in await collect(provider, request):
        assembler.add(event)
    assert assembler.complete
    return assembler.message("anthropic", wire.MODEL, id="m1")


async def failure(server: LoopbackServer, **options: Any) -> tuple[ProviderError, list[StreamEvent]]:
    provider = make(server, **options)
    seen: list[StreamEvent] = []
    try:
        with pytest.raises(ProviderError) as raised:
            async with provider.stream(ask()) as events:
                async for event in events:
                    seen.append(event)
    finally:
        await provider.aclose()
    assert KEY not in str(raised.value)
    return raised.value, seen


async def test_a_reply_arrives_and_the_request_is_as_the_vendor_wants_it() -> None:
    exchange = wire.exchange(wire.text("Let me look."), wire.tool_use("Read", {"path": "x"}, id="toolu_1"))
    with LoopbackServer([exchange], validator=StrictValidator(key=KEY)) as server:
        provider = make(server, base_url=f"{server.url}/v1/")
        assert await reply(provider) == Message(
            role="assistant",
            id="m1",
            content=(
                TextBlock(text="Let me look."),
                ToolUseBlock(id="toolu_1", name="Read", input={"path": "x"}),
            ),
            family="anthropic",
            model=wire.MODEL,
        )
        await provider.aclose()
        (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/messages")
    assert request.headers["anthropic-version"] == "2023-06-01"
    assert request.json["stream"] is True


async def test_many_replies_share_one_connection() -> None:
    with LoopbackServer([wire.exchange(wire.text(str(n))) for n in range(5)]) as server:
        provider = make(server)
        assert [(await reply(provider)).text for _ in range(5)] == ["0", "1", "2", "3", "4"]
        assert server.connections == 1
        await provider.aclose()


async def test_a_reader_that_stops_at_the_last_event_leaves_the_connection_usable() -> None:
    with LoopbackServer([wire.exchange(wire.text("a")), wire.exchange(wire.text("b"))]) as server:
        provider = make(server)
        async with provider.stream(ask()) as events:
            async for event in events:
                if isinstance(event, MessageStop):
                    break
        await reply(provider)
        assert server.connections == 1
        await provider.aclose()


async def test_a_server_that_never_ends_its_answer_does_not_hold_up_a_complete_reply() -> None:
    steps = tuple(Send(piece) for piece in wire.reply(wire.text("Done.")))
    endless = Exchange(headers={"content-type": "text/event-stream"}, steps=(*steps, Hang()))
    with LoopbackServer([endless]) as server:
        provider = make(server, idle_s=2 * HANG_S)
        with anyio.fail_after(HANG_S):
            assert (await reply(provider)).text == "Done."
        await provider.aclose()


async def test_decoded_events_are_given_out_without_waiting() -> None:
    """All events of a piece are there once the first is: asking for them gives control to nobody."""
    data = b"".join(wire.reply(wire.text("abc" * 30, piece_chars=3)))
    with LoopbackServer([sse(data)]) as server:
        provider = make(server)
        async with provider.stream(ask()) as events:
            await anext(events)
            others = 0

            async def other() -> None:
                nonlocal others
                while True:
                    await anyio.lowlevel.checkpoint()
                    others += 1

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(other)
                await anyio.lowlevel.checkpoint()
                before = others
                for _ in range(20):
                    await anext(events)
                assert others == before
                tasks.cancel_scope.cancel()
        await provider.aclose()


async def test_what_came_before_a_failure_is_given_out_before_it() -> None:
    blocks = (wire.text("Hel", "lo"),)
    pieces = wire.reply(*blocks)[:5]
    data = b"".join([*pieces, wire.error_event("overloaded_error")])
    with LoopbackServer([sse(data)]) as server:
        error, seen = await failure(server)
    assert isinstance(error, Overloaded)
    assert [event.text for event in seen if isinstance(event, TextDelta)] == ["Hel", "lo"]


@pytest.mark.parametrize(
    ("status", "kind", "message", "error"),
    [
        (400, "invalid_request_error", "No.", InvalidRequest),
        (401, "authentication_error", "invalid x-api-key", AuthenticationError),
        (403, "permission_error", "No.", AuthenticationError),
        (404, "not_found_error", "model: claude-9", ModelUnavailable),
        (413, "request_too_large", "Too large", RequestTooLarge),
        (429, "rate_limit_error", "Slow down", RateLimited),
        (529, "overloaded_error", "Overloaded", Overloaded),
    ],
)
async def test_a_status_becomes_its_error_with_the_vendors_words(
    status: int, kind: str, message: str, error: type[ProviderError]
) -> None:
    with LoopbackServer([wire.failure(status, kind, message, retry_after="7")]) as server:
        raised, seen = await failure(server)
    assert type(raised) is error and not seen
    assert message in raised.message
    assert (raised.status, raised.request_id, raised.retry_after_s) == (status, "req_loopback", 7.0)


async def test_a_refusal_whose_body_is_cut_or_endless_still_says_its_status() -> None:
    huge = answer(500, b"x" * 1_000_000)
    cut = Exchange(status=529, steps=(Send(b'{"type":'), Close()))
    with LoopbackServer([huge, cut]) as server:
        assert (await failure(server))[0].status == 500
        assert (await failure(server))[0].status == 529


async def test_a_redirect_is_not_followed_and_said() -> None:
    with LoopbackServer([answer(302, b"", location="http://127.0.0.1:1/")]) as server:
        error, _ = await failure(server)
        assert error.status == 302 and len(server.requests) == 1


@pytest.mark.parametrize("status", [200, 201])
async def test_an_error_in_json_with_a_good_status_is_an_error(status: int) -> None:
    body = wire.error_body("overloaded_error", "Overloaded")
    with LoopbackServer([answer(status, body, content_type="application/json")]) as server:
        assert isinstance((await failure(server))[0], Overloaded)


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", b'{"id":"msg_1","content":[]}'),
        ("application/json; charset=utf-8", b"not json"),
        ("text/html", b"<html>Sign in</html>"),
    ],
)
async def test_an_answer_that_is_no_stream_is_a_bad_response(kind: str, body: bytes) -> None:
    with LoopbackServer([answer(200, body, content_type=kind)]) as server:
        assert isinstance((await failure(server))[0], BadResponse)


async def test_an_answer_without_a_content_type_is_read_as_a_stream() -> None:
    with LoopbackServer([sse(*wire.reply(wire.text("x")), headers={})]) as server:
        provider = make(server)
        assert (await reply(provider)).text == "x"
        await provider.aclose()


@pytest.mark.parametrize("end", [Close(), Reset()])
@pytest.mark.parametrize("after", [0, 1, 4])
async def test_a_stream_that_breaks_was_interrupted(end: Close | Reset, after: int) -> None:
    with LoopbackServer([wire.broken(wire.text("Hel", "lo"), after=after, end=end)]) as server:
        error, _ = await failure(server)
    assert isinstance(error, StreamInterrupted) and error.retryable


async def test_a_stream_that_ends_too_soon_was_interrupted() -> None:
    pieces = wire.reply(wire.text("Hel", "lo"))
    with LoopbackServer([sse(*pieces[:5]), sse(*pieces[:4], pieces[4][:-20])]) as server:
        for _ in range(2):
            error, _ = await failure(server)
            assert isinstance(error, StreamInterrupted)
            assert error.request_id is None


async def test_a_last_event_without_its_blank_line_counts() -> None:
    pieces = wire.reply(wire.text("x"))
    with LoopbackServer([sse(*pieces[:-1], pieces[-1].rstrip(b"\n"))]) as server:
        provider = make(server)
        assert (await reply(provider)).text == "x"
        await provider.aclose()


async def test_silence_before_the_head_and_before_the_first_event_is_bounded() -> None:
    quiet = Exchange(steps=(Hang(),), raw=True)
    head_only = Exchange(headers={"content-type": "text/event-stream"}, steps=(Hang(),))
    with LoopbackServer([quiet, head_only]) as server:
        for _ in range(2):
            error, seen = await failure(server, first_byte_s=0.1, idle_s=50.0)
            assert isinstance(error, StreamIdle) and error.idle_s == 0.1 and not seen


async def test_silence_within_a_reply_is_bounded() -> None:
    with LoopbackServer([wire.broken(wire.text("x"), after=3, end=Hang())]) as server:
        error, seen = await failure(server, idle_s=0.1)
        assert isinstance(error, StreamIdle) and error.idle_s == 0.1 and seen


async def test_a_slow_reply_that_is_never_silent_for_long_arrives() -> None:
    steps: list[Any] = []
    for piece in wire.reply(wire.text("a", "b", "c")):
        steps += [Send(piece), Pause(0.05)]
    slow = Exchange(headers={"content-type": "text/event-stream"}, steps=tuple(steps))
    with LoopbackServer([slow]) as server:
        provider = make(server, idle_s=HANG_S, first_byte_s=HANG_S)
        assert (await reply(provider)).text == "abc"
        await provider.aclose()


async def test_cancelling_ends_the_request_and_the_provider_goes_on() -> None:
    more = threading.Event()
    pieces = wire.reply(wire.text("a", "b"))
    held = Exchange(
        headers={"content-type": "text/event-stream"},
        steps=(*(Send(piece) for piece in pieces[:4]), Pause(more), Send(pieces[4])),
    )
    with LoopbackServer([held, wire.exchange(wire.text("next"))]) as server:
        provider = make(server)
        with anyio.CancelScope() as scope:
            async with provider.stream(ask()) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        scope.cancel()
        assert scope.cancelled_caught
        gone = await anyio.to_thread.run_sync(lambda: server.wait_for(lambda s: s.open_connections == 0))
        assert gone
        assert (await reply(provider)).text == "next"
        await provider.aclose()


async def test_an_error_of_the_reader_passes_through() -> None:
    with LoopbackServer([wire.exchange(wire.text("a"))]) as server:
        provider = make(server)
        with pytest.raises(ZeroDivisionError):
            async with provider.stream(ask()) as events:
                async for _ in events:
                    raise ZeroDivisionError
        await provider.aclose()


async def test_a_vendor_without_a_key_is_not_asked() -> None:
    provider = FACTORY.create(ProviderOptions())
    with pytest.raises(AuthenticationError, match="no key"):
        async with provider.stream(ask()):
            raise AssertionError
    await provider.aclose()


async def test_names_of_tools_come_back_as_ours() -> None:
    odd = ToolSpec(name="mcp__a.b", description="", input_schema={"type": "object"})
    exchange = wire.exchange(wire.tool_use(wire_name(odd.name), {}))
    with LoopbackServer([exchange], validator=StrictValidator()) as server:
        provider = make(server)
        (call,) = (await reply(provider, ask(tools=(odd,)))).tool_uses
        assert call.name == odd.name
        await provider.aclose()


async def test_models_are_listed_page_by_page() -> None:
    pages = [wire.models("claude-sonnet-4-6", "glm-5", has_more=True), wire.models("claude-opus-5")]
    with LoopbackServer(pages, validator=StrictValidator(key=KEY)) as server:
        provider = make(server)
        models = await provider.list_models()
        await provider.aclose()
        assert [request.path for request in server.requests] == [
            "/v1/models?limit=100",
            "/v1/models?limit=100&after_id=glm-5",
        ]
    assert [info.id for info in models] == ["claude-sonnet-4-6", "glm-5", "claude-opus-5"]
    assert models[1] == ModelInfo(
        id="glm-5",
        display_name="Glm-5",
        capabilities=Capabilities(
            max_output_tokens=64_000, vision=True, thinking=True, efforts=(), prompt_cache=True
        ),
    )


async def test_a_list_of_models_without_end_is_cut() -> None:
    def more(request: Any) -> Exchange:
        start = len(server.requests) * 100
        return wire.models(*(f"m-{number}" for number in range(start, start + 100)), has_more=True)

    with LoopbackServer(more) as server:
        provider = make(server)
        assert len(await provider.list_models()) == MAX_MODELS
        await provider.aclose()


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"data":7}', b'{"data":[7,{"id":5},{}],"has_more":true,"last_id":3}'],
)
async def test_a_list_of_models_that_is_none_is_refused_or_empty(body: bytes) -> None:
    with LoopbackServer([answer(200, body, content_type="application/json")]) as server:
        provider = make(server)
        try:
            assert await provider.list_models() == ()
        except ProviderError as error:
            assert isinstance(error, BadResponse)
        await provider.aclose()


async def test_a_refused_list_of_models_is_an_error() -> None:
    with LoopbackServer([wire.failure(401, "authentication_error")]) as server:
        provider = make(server)
        with pytest.raises(AuthenticationError):
            await provider.list_models()
        await provider.aclose()
        await provider.aclose()


async def test_the_second_body_of_a_session_begins_with_the_first() -> None:
    exchanges = [wire.exchange(wire.text("one")), wire.exchange(wire.text("two"))]
    with LoopbackServer(exchanges, validator=StrictValidator()) as server:
        provider = make(server)
        first = ask(cache=False)
        answered = await reply(provider, first)
        await reply(provider, ask(cache=False, messages=(*first.messages, answered, user("Go on"))))
        await provider.aclose()
        one, two = (request.body for request in server.requests)
    assert two.startswith(one.removesuffix(b"]}"))
    assert json.loads(two)["messages"][1] == {
        "role": "assistant",
        "content": [{"type": "text", "text": "one"}],
    }
