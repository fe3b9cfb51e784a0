"""The provider over loopback servers that are as strict as the vendors."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from typing import Any

import pytest

from caliban_common.codec import message_from_json, message_to_json
from caliban_common.history import TargetModel, repair
from caliban_common.message import (
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    user,
)
from caliban_common.tool import ToolSpec
from caliban_provider.assemble import Assembler
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import (
    BadResponse,
    BillingError,
    ContextTooLong,
    InvalidRequest,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
    StreamInterrupted,
)
from caliban_provider.provider import Provider, ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.exchange import Exchange, Request, Reset, Send, answer
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider.testing.vendor import failure_of
from caliban_provider_openai.azure import AzureFactory
from caliban_provider_openai.factory import OpenAIFactory
from caliban_provider_openai.testing import chat, responses
from caliban_provider_openai.testing.refusal import failure, models
from caliban_provider_openai.testing.strict_chat import DEEPSEEK, MISTRAL, OPENAI, StrictChat
from caliban_provider_openai.testing.strict_responses import StrictResponses

pytestmark = pytest.mark.anyio

BASH = ToolSpec(
    name="Bash",
    description="Run.",
    input_schema={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
EVIL = "你好世界 🌍 ✅ \u2028x\u0085y"
RESPONSES = {"api": "responses"}


@asynccontextmanager
async def provided(server: LoopbackServer, **extra: str) -> AsyncIterator[Provider]:
    made = OpenAIFactory(environ={}).create(
        ProviderOptions(api_key="sk-loopback", base_url=server.url, extra=extra)
    )
    try:
        yield made
    finally:
        await made.aclose()


def ask(*messages: Message, model: str = responses.MODEL, **members: Any) -> CompletionRequest:
    repaired = repair(messages or (user("Hi"),), TargetModel(family="openai", model=model))
    return CompletionRequest(model=model, messages=repaired, max_tokens=4000, tools=(BASH,), **members)


async def folded(provider: Provider, request: CompletionRequest) -> Assembler:
    assembler = Assembler()
    async with provider.stream(request) as events:
        async for event in events:
            assembler.add(event)
    assert assembler.complete
    return assembler


async def replies(server: LoopbackServer, *requests: CompletionRequest, **extra: str) -> list[Assembler]:
    async with provided(server, **extra) as provider:
        return [await folded(provider, request) for request in requests]


def answered(reply: Message, text: str = "done") -> Message:
    return Message(
        role="user",
        content=tuple(
            ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text=text),)) for call in reply.tool_uses
        ),
    )


def reread(message: Message) -> Message:
    """As it comes back from a session's file."""
    return message_from_json(message_to_json(message))


async def test_reasoning_goes_back_byte_for_byte_over_30_turns_with_one_prefix() -> None:
    count = 30
    thoughts = [responses.reasoning(f"thought {turn}", encrypted=f"gAAAA+/{turn}=") for turn in range(count)]
    script = [
        responses.exchange(
            thought,
            responses.text(f"step {turn}", phase="commentary"),
            responses.call("Bash", {"command": f"echo {turn} {EVIL}"}),
        )
        for turn, thought in enumerate(thoughts)
    ]
    script.append(responses.exchange(responses.text("Done.", phase="final_answer")))
    validator = StrictResponses(key="sk-loopback", written=thoughts)
    with LoopbackServer(script, validator=validator) as server:
        history: list[Message] = [user("Begin.")]
        async with provided(server, **RESPONSES, prompt_cache_key="session") as provider:
            for _ in range(count):
                reply = (await folded(provider, ask(*history))).message("openai", responses.MODEL)
                history += [reread(reply), answered(reply)]
            await folded(provider, ask(*history))
        bodies = [request.body for request in server.requests]
        refused = server.refused
    assert not refused
    for before, after in pairwise(bodies):
        assert after.startswith(before.removesuffix(b"]}"))
    last = server.requests[-1].json
    assert last["prompt_cache_key"] == "session" and last["store"] is False
    sent = [item for item in last["input"] if item["type"] == "reasoning"]
    assert sent == [dict(thought.whole) for thought in thoughts]
    assert [item.get("phase") for item in last["input"] if item.get("role") == "assistant"] == [
        "commentary"
    ] * count


async def test_a_strict_server_notices_reasoning_that_is_lost_or_altered() -> None:
    thought = responses.reasoning("hm")
    call = ToolUseBlock(id="c", name="Bash", input={})
    for data in ({**thought.whole, "encrypted_content": "other"}, {"type": "unknown_call"}):
        turn = Message(
            role="assistant",
            content=(OpaqueBlock(family="openai", data=data), call),
            family="openai",
            model=responses.MODEL,
        )
        validator = StrictResponses(written=[thought], must_replay=True)
        with LoopbackServer([], validator=validator) as server, pytest.raises(InvalidRequest):
            await replies(server, ask(user("a"), turn, answered(turn)), **RESPONSES)


async def test_deepseek_gets_its_reasoning_back_over_20_turns_with_one_prefix() -> None:
    count = 20
    script = [
        chat.exchange(chat.thinking(f"thought {turn}"), chat.call("Bash", {"command": f"echo {turn}"}))
        for turn in range(count)
    ]
    script.append(chat.exchange(chat.text("Done.")))
    with LoopbackServer(script, validator=StrictChat(DEEPSEEK)) as server:
        history: list[Message] = [user("Begin.")]
        quirks = {"quirks": "reasoning_field=reasoning_content"}
        async with provided(server, **quirks) as provider:
            for _ in range(count):
                request = ask(*history, model=chat.MODEL)
                reply = (await folded(provider, request)).message("openai", chat.MODEL)
                assert isinstance(reply.content[0], ThinkingBlock)
                history += [reread(reply), answered(reply)]
            await folded(provider, ask(*history, model=chat.MODEL))
        bodies = [request.body for request in server.requests]
        assert not server.refused
    for before, after in pairwise(bodies):
        assert after.startswith(before.removesuffix(b"]}"))


async def test_b061_text_cut_inside_characters_and_line_ends_arrives_whole() -> None:
    for chunks, extra in (
        (responses.reply(responses.text(EVIL)), RESPONSES),
        (chat.reply(chat.text(EVIL)), {}),
    ):
        data = b"".join(chunks)
        crlf = data.replace(b"\n", b"\r\n")
        halves = [half for line in crlf.split(b"\n") for half in (line, b"\n")][:-1]
        head = {"content-type": "text/event-stream"}
        with LoopbackServer(
            [
                Exchange(headers=head, steps=(Send(data),), bytewise=True),
                Exchange(headers={}, steps=(Send(data),)),
                Exchange(headers=head, steps=tuple(map(Send, halves))),
            ]
        ) as server:
            made = await replies(server, ask(), ask(), ask(), **extra)
        assert [reply.message("", "").text for reply in made] == [EVIL] * 3


async def test_b062_an_overload_inside_a_good_stream_is_told_apart_and_the_next_attempt_is_whole() -> None:
    scripts: tuple[tuple[list[Exchange], dict[str, str]], ...] = (
        (
            [
                responses.broken(
                    responses.call("Bash", {"command": "true"}),
                    responses.text("Hel", "lo"),
                    after=8,
                    end=responses.error_event("server_is_overloaded"),
                ),
                responses.exchange(responses.text("Hello")),
            ],
            RESPONSES,
        ),
        (
            [
                chat.broken(chat.text("Hel", "lo"), after=2, end=chat.error_event("overloaded", code=529)),
                chat.exchange(chat.text("Hello")),
            ],
            {},
        ),
    )
    for script, extra in scripts:
        with LoopbackServer(script) as server:
            with pytest.raises(Overloaded) as raised:
                await replies(server, ask(), **extra)
            assert raised.value.retryable and raised.value.request_id == "req_loopback"
            (reply,) = await replies(server, ask(), **extra)
        assert reply.message("", "").text == "Hello"


@pytest.mark.parametrize("extra", [RESPONSES, {}])
async def test_b064_the_wait_is_read_from_headers_and_words(extra: dict[str, str]) -> None:
    cases = (
        (failure(429, "requests", "slow", code="rate_limit_exceeded", retry_after="3"), 3.0),
        (failure(429, "requests", "Please try again in 2.5s.", code="rate_limit_exceeded"), 2.5),
        (failure(429, "requests", "slow", retry_after_ms="700"), 0.7),
        (failure(429, "requests", "slow", retry_after="86400"), 86400.0),
    )
    for refusal, wait_s in cases:
        with LoopbackServer([refusal]) as server, pytest.raises(RateLimited) as raised:
            await replies(server, ask(), **extra)
        assert raised.value.retry_after_s == wait_s


async def test_b069_chunks_without_choices_and_deltas_that_are_null_do_no_harm() -> None:
    first = chat.data({"id": "", "model": "", "object": "", "choices": [], "prompt_filter_results": [{}]})
    null = chat.chunk([{"index": 0, "delta": None, "finish_reason": None}])
    for style, used in ((chat.STYLE, 10), (chat.Style(usage_in="nowhere"), 0)):
        whole = chat.reply(chat.text("Hello"), style=style)
        pieces = [first, whole[0], null, *whole[1:]]
        head = {"content-type": "text/event-stream"}
        with LoopbackServer([Exchange(headers=head, steps=tuple(map(Send, pieces)))]) as server:
            (reply,) = await replies(server, ask(model=chat.MODEL))
        assert (reply.message("", "").text, reply.usage.input_tokens) == ("Hello", used)
        assert reply.model == chat.MODEL


async def test_b078_what_is_transient_may_be_retried_and_what_is_not_may_not() -> None:
    transient: list[tuple[Exchange, type[ProviderError]]] = [
        (chat.broken(after=0, end=chat.error_event("overloaded", code=503)), Overloaded),
        (chat.broken(chat.text("a", "b", "c"), after=4, end=chat.error_event("x", code=503)), Overloaded),
        (chat.broken(chat.text("a"), after=2, end=Reset()), StreamInterrupted),
        (failure(529, "server_error"), Overloaded),
        (Exchange(steps=(Reset(),), raw=True), NetworkError),
    ]
    final: list[tuple[Exchange, type[ProviderError]]] = [
        (failure(400, "invalid_request_error", "No."), InvalidRequest),
        (failure(400, "invalid_request_error", code="context_length_exceeded"), ContextTooLong),
        (failure(429, "insufficient_quota", code="insufficient_quota"), BillingError),
    ]
    for cases, retryable in ((transient, True), (final, False)):
        for exchange, kind in cases:
            with LoopbackServer([exchange]) as server, pytest.raises(ProviderError) as raised:
                await replies(server, ask(model=chat.MODEL))
            assert (type(raised.value), raised.value.retryable) == (kind, retryable)


B084 = ("functions.Read:0", "call_" + "x" * 60, "a b/c", "")


@pytest.mark.parametrize(
    ("validator", "extra", "said"),
    [
        (StrictResponses(), RESPONSES, responses.exchange(responses.text("ok"))),
        (
            StrictChat(OPENAI),
            {"quirks": "max_tokens_field=max_completion_tokens"},
            chat.exchange(chat.text("ok")),
        ),
        (
            StrictChat(MISTRAL),
            {"quirks": "id_chars=9,id_exact=true,stream_options=false"},
            chat.exchange(chat.text("ok")),
        ),
    ],
    ids=["responses", "chat", "mistral"],
)
async def test_b084_ids_of_one_server_become_ids_of_another(
    validator: Any, extra: dict[str, str], said: Exchange
) -> None:
    calls = tuple(ToolUseBlock(id=id, name="Bash", input={}) for id in (*B084, *B084))
    turn = Message(role="assistant", content=calls, family="other", model="m")
    with LoopbackServer([said], validator=validator) as server:
        await replies(server, ask(user("a"), turn, answered(turn), model="gpt-4.1"), **extra)
        assert not server.refused and len(server.requests) == 1


async def test_b086_blank_blocks_are_never_sent() -> None:
    call = ToolUseBlock(id="c", name="Bash", input={"command": "true"})
    turn = Message(role="assistant", content=(TextBlock(text=" \n"), call))
    blank = Message(role="assistant", content=(TextBlock(text=""),))
    empty = Message(role="user", content=(ToolResultBlock(tool_use_id="c", content=()), TextBlock(text="")))
    history = (user("a"), turn, empty, blank, user("b"))
    with LoopbackServer([responses.exchange(responses.text("ok"))], validator=StrictResponses()) as server:
        await replies(server, ask(*history), **RESPONSES)
    with LoopbackServer([chat.exchange(chat.text("ok"))], validator=StrictChat(OPENAI)) as server:
        await replies(server, ask(*history, model="gpt-4.1"), quirks="max_tokens_field=max_completion_tokens")


async def test_azure_sends_its_own_addresses_and_survives_its_first_chunk() -> None:
    seen: list[Request] = []
    first = chat.data({"choices": [], "created": 0, "id": "", "model": "", "prompt_filter_results": []})

    def said(request: Request) -> Exchange:
        seen.append(request)
        if request.path.startswith("/openai/v1/responses"):
            return responses.exchange(responses.text("ok"))
        pieces = [first, *chat.reply(chat.text("ok"), model="gpt-4.1-2025-04-14")]
        return Exchange(headers={"content-type": "text/event-stream"}, steps=tuple(map(Send, pieces)))

    with LoopbackServer(said) as server:
        for extra in ({}, {"api_version": "v1"}):
            options = ProviderOptions(api_key="k", base_url=server.url, extra=extra)
            provider = AzureFactory(environ={}).create(options)
            reply = await folded(provider, ask(model="gpt-4.1"))
            await provider.aclose()
            message = reply.message("", "")
            assert (provider.name, message.text, message.model) == ("azure", "ok", "gpt-4.1")
    assert [request.path for request in seen] == [
        "/openai/deployments/gpt-4.1/chat/completions?api-version=2024-10-21",
        "/openai/v1/responses",
    ]
    assert [request.headers["api-key"] for request in seen] == ["k", "k"]


async def test_a_deployment_may_say_which_model_is_behind_it() -> None:
    thought = responses.reasoning("hm")
    script = [responses.exchange(thought, responses.text("ok"), model="gpt-5.5-2026-04-23")] * 2
    extra = {"api_version": "v1", "base_model": "gpt-5.5"}
    with LoopbackServer(script) as server:
        options = ProviderOptions(api_key="k", base_url=server.url, extra=extra)
        provider = AzureFactory(environ={}).create(options)
        request = ask(model="our-own-name", temperature=0.5)
        reply = (await folded(provider, request)).message("openai", "our-own-name")
        await folded(provider, ask(user("Hi"), reply, user("And?"), model="our-own-name"))
        await provider.aclose()
        first, second = (request.json for request in server.requests)
    assert provider.capabilities("our-own-name").context_tokens == 1_000_000
    assert first["include"] and "temperature" not in first and first["model"] == "our-own-name"
    assert dict(thought.whole) in second["input"]


async def test_models_are_listed_with_the_windows_that_a_server_tells() -> None:
    listed = models("gpt-5.5", "qwen3", "", context_length=32_768)
    with LoopbackServer([listed, models("m", meta={"n_ctx_train": 8192}), models("gpt-4.1")]) as server:
        async with provided(server) as provider:
            one, two, three = [await provider.list_models() for _ in range(3)]
    assert [(info.id, info.display_name, info.capabilities.context_tokens) for info in one] == [
        ("gpt-5.5", "GPT-5.5", 32_768),
        ("qwen3", "", 32_768),
    ]
    assert two == (
        ModelInfo(
            id="m",
            capabilities=Capabilities(
                context_tokens=8192,
                documents=False,
                image_bytes=15_000_000,
                stills_only=True,
                document_bytes=24_000_000,
                efforts=(),
                prompt_cache=True,
                structured_output=True,
            ),
        ),
    )
    assert three[0].capabilities.context_tokens == 1_000_000
    assert server.requests[0].path == "/models"


CALLED = {"id": "c1", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "ls"}'}}
COMPLETION: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "some-model",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "reasoning_content": "Hm.",
                "content": EVIL,
                "tool_calls": [CALLED, {**CALLED, "id": "c2"}],
            },
        }
    ],
    "usage": {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12},
}
RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "model": "some-model",
    "status": "completed",
    "error": None,
    "output": [
        {
            "type": "reasoning",
            "id": "rs_1",
            "summary": [{"type": "summary_text", "text": "Hm."}],
            "encrypted_content": "gAAA",
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": EVIL, "annotations": []}],
        },
        *(
            {
                "type": "function_call",
                "id": f"fc_{n}",
                "call_id": f"c{n}",
                "name": "Bash",
                "arguments": '{"command": "ls"}',
                "status": "completed",
            }
            for n in (1, 2)
        ),
    ],
    "usage": {"input_tokens": 7, "output_tokens": 5, "total_tokens": 12},
}


def whole(value: object, kind: str = "application/json; charset=utf-8") -> Exchange:
    return answer(200, json.dumps(value).encode(), content_type=kind)


@pytest.mark.parametrize(("value", "extra"), [(COMPLETION, {}), (RESPONSE, RESPONSES)])
async def test_a_reply_that_comes_whole_reads_as_one_in_pieces(
    value: dict[str, Any], extra: dict[str, str]
) -> None:
    with LoopbackServer([whole(value)]) as server:
        (made,) = await replies(server, ask(model="some-model"), **extra)
    reply = made.message("openai", "some-model")
    assert reply.text == EVIL
    assert [block.text for block in reply.content if isinstance(block, ThinkingBlock)] == ["Hm."]
    assert [(call.id, call.input) for call in reply.tool_uses] == [
        ("c1", {"command": "ls"}),
        ("c2", {"command": "ls"}),
    ]
    assert (made.stop_reason, made.usage.input_tokens, made.usage.output_tokens) == ("tool_use", 7, 5)


async def test_a_reply_that_comes_whole_and_was_cut_by_its_limit_is_no_whole_one() -> None:
    choice = {"index": 0, "message": {"content": "half a"}, "finish_reason": "length"}
    partial = {"output": RESPONSE["output"][1:2], "status": "incomplete"}
    partial["incomplete_details"] = {"reason": "max_output_tokens"}
    for value, extra in (({"choices": [choice]}, {}), (partial, RESPONSES)):
        with LoopbackServer([whole(value)]) as server:
            (made,) = await replies(server, ask(model="m"), **extra)
        assert made.stop_reason == "max_tokens"
    with LoopbackServer([whole({"choices": [{"message": {"content": "so"}}]})]) as server:
        (made,) = await replies(server, ask(model="m"))
    assert (made.message("openai", "m").text, made.stop_reason) == ("so", "end_turn")


async def test_a_reply_that_was_to_come_whole_and_is_cut_is_none() -> None:
    body = json.dumps(COMPLETION).encode()
    head = {"content-type": "application/json", "content-length": str(len(body))}
    cut = Exchange(headers=head, steps=(Send(body[:-9]), Reset()))
    with LoopbackServer([cut]) as server:
        async with provided(server) as provider:
            error, shown = await failure_of(provider, ask())
    assert isinstance(error, StreamInterrupted | NetworkError) and error.retryable
    assert not shown


async def test_an_answer_that_is_no_stream_is_said_to_be_none() -> None:
    for body, kind, error in (
        (b'{"choices": []}', "application/json", BadResponse),
        (b'{"choices": null, "output": "x"}', "application/json", BadResponse),
        (b'[{"choices": [{}]}]', "application/json", BadResponse),
        (b'{"choices": [{"mess', "application/json", BadResponse),
        (b"", "application/json", BadResponse),
        (b"<html>", "text/html", BadResponse),
        (b'{"error": {"message": "Rate", "code": 429}}', "application/json", RateLimited),
    ):
        with LoopbackServer([answer(200, body, content_type=kind)]) as server, pytest.raises(error):
            await replies(server, ask())


async def test_capabilities_are_those_of_the_interface() -> None:
    with LoopbackServer() as server:
        async with provided(server, quirks="structured=none,parallel_tool_calls=false") as provider:
            made = provider.capabilities("gpt-4.1")
            assert (made.structured_output, made.parallel_tools, made.documents) == (False, False, False)
        async with provided(server, quirks="structured=json_object_schema") as provider:
            assert provider.capabilities("gpt-4.1").structured_output
        async with provided(server, **RESPONSES) as provider:
            assert provider.capabilities("gpt-4.1").documents


@pytest.mark.parametrize("status", [400, 413])
async def test_a_server_that_refuses_without_a_word_means_the_length(status: int) -> None:
    bare = answer(status, b" ", content_type="application/json")
    worded = failure(status, "no such thing")
    with LoopbackServer([bare, worded, bare]) as server:
        async with provided(server, quirks="silent_overflow=true") as provider:
            errors = [(await failure_of(provider, ask()))[0] for _ in range(2)]
        async with provided(server) as provider:
            errors.append((await failure_of(provider, ask()))[0])
    assert [type(error) is ContextTooLong for error in errors] == [True, False, False]


@pytest.mark.parametrize("factory", [OpenAIFactory(environ={}), AzureFactory(environ={})])
def test_a_program_is_told_of_an_option_that_nobody_reads(factory: OpenAIFactory | AzureFactory) -> None:
    options = ProviderOptions(api_key="k", base_url="http://127.0.0.1:9", extra={"qirks": "x"})
    with pytest.raises(InvalidRequest, match="has no option 'qirks'") as refused:
        factory.create(options)
    assert refused.value.hint == "did you mean quirks?"
