"""The vendor's own client as a second opinion: on what we make of a stream, and on what we send."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from late_kit import Late, adapter

from caliban_common.message import (
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    system,
    user,
)
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.assemble import Assembler
from caliban_provider.errors import InvalidRequest
from caliban_provider.reader import WireDecoder
from caliban_provider.request import CompletionRequest
from caliban_provider.sse import SSEDecoder, SSEEvent
from caliban_provider.testing import strategies
from caliban_provider_openai.chat.decode import ChatDecoder
from caliban_provider_openai.chat.encode import encode as encode_chat
from caliban_provider_openai.quirks import quirks_of
from caliban_provider_openai.responses.decode import ResponsesDecoder
from caliban_provider_openai.responses.encode import encode as encode_responses
from caliban_provider_openai.testing import chat, responses

openai = Late("openai")

SLOW = settings(max_examples=examples(25))
OPENAI = quirks_of("", "openai")


def ours(chunks: list[bytes], decoder: WireDecoder[SSEEvent]) -> Assembler:
    sse, assembler = SSEDecoder(), Assembler()
    for chunk in chunks:
        for item in sse.feed(chunk):
            for event in decoder.feed(item):
                assembler.add(event)
    for event in decoder.finish():
        assembler.add(event)
    return assembler


def client(chunks: list[bytes]) -> openai.OpenAI:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(chunks))

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    return openai.OpenAI(api_key="k", base_url="http://vendor/v1", max_retries=0, http_client=http)


def their_response(chunks: list[bytes]) -> dict[str, Any]:
    with (
        client(chunks) as sdk,
        sdk.responses.stream(model=responses.MODEL, input="x") as stream,
    ):
        return stream.get_final_response().to_dict()


def their_completion(chunks: list[bytes]) -> dict[str, Any]:
    with (
        client(chunks) as sdk,
        sdk.chat.completions.stream(model=chat.MODEL, messages=[{"role": "user", "content": "x"}]) as stream,
    ):
        return stream.get_final_completion().to_dict()


TEXTS = strategies.texts()
SIZES = st.integers(1, 9)
USAGES = st.builds(
    lambda fresh, read, output, thinking: Usage(
        input_tokens=fresh + read,
        output_tokens=output + thinking,
        cache_read_tokens=read,
        thinking_tokens=thinking,
    ),
    *[st.integers(0, 999)] * 4,
)
ITEMS = st.one_of(
    st.builds(
        lambda text, size, phase: responses.text(text, piece_chars=size, phase=phase),
        TEXTS,
        SIZES,
        st.sampled_from([None, "commentary", "final_answer"]),
    ),
    st.builds(
        lambda texts, size: responses.reasoning(*texts, piece_chars=size), st.lists(TEXTS, max_size=3), SIZES
    ),
    st.builds(
        lambda input, size: responses.call("Read", input, piece_chars=size), strategies.json_objects, SIZES
    ),
    st.builds(responses.refusal, TEXTS),
    st.builds(
        lambda query, number: responses.hosted(
            {
                "type": "web_search_call",
                "id": f"ws_{number}",
                "status": "completed",
                "action": {"type": "search", "query": query},
            }
        ),
        TEXTS,
        st.uuids(),
    ),
)


def cut(draw: st.DrawFn, pieces: list[bytes]) -> list[bytes]:
    data = b"".join(pieces)
    if draw(st.booleans()):
        data = data.replace(b"\n", b"\r\n")
    return draw(strategies.chunkings(data))


@st.composite
def response_streams(draw: st.DrawFn) -> list[bytes]:
    return cut(draw, responses.reply(*draw(st.lists(ITEMS, max_size=4)), usage=draw(USAGES)))


def as_items(message: Message) -> list[dict[str, Any]]:
    """What the blocks of ours say of the vendor's items."""
    out: list[dict[str, Any]] = []
    for block in message.content:
        match block:
            case TextBlock(text=text):
                out.append({"said": text})
            case ToolUseBlock(id=id, name=name, input=input):
                out.append({"call": id, "name": name, "input": input})
            case OpaqueBlock(data={"type": "phase", "phase": phase}):
                out[-1]["phase"] = phase
            case OpaqueBlock(data=data):
                out.append(dict(data))
            case ThinkingBlock():
                pass
            case _:
                raise AssertionError(block)
    return out


def as_told(item: dict[str, Any]) -> dict[str, Any]:
    """What the vendor's client says of an item, likewise."""
    match item["type"]:
        case "message":
            (part,) = item["content"]
            phase = {"phase": item["phase"]} if item.get("phase") else {}
            return {"said": part.get("text") or part.get("refusal"), **phase}
        case "function_call":
            return {"call": item["call_id"], "name": item["name"], "input": json.loads(item["arguments"])}
        case _:
            return item


@SLOW
@given(response_streams())
def test_a_response_is_what_the_vendors_client_makes_of_it(chunks: list[bytes]) -> None:
    mine, other = ours(chunks, ResponsesDecoder(model=responses.MODEL)), their_response(chunks)
    message = mine.message("openai", "")
    assert as_items(message) == [as_told(item) for item in other["output"]]
    thoughts = [
        "\n\n".join(part["text"] for part in item["summary"])
        for item in other["output"]
        if item["type"] == "reasoning" and item["summary"]
    ]
    assert [block.text for block in message.content if isinstance(block, ThinkingBlock)] == thoughts
    assert (mine.id, mine.model) == (other["id"], other["model"])
    usage = other["usage"]
    assert mine.usage == Usage(
        input_tokens=usage["input_tokens"],
        output_tokens=usage["output_tokens"],
        cache_read_tokens=usage["input_tokens_details"]["cached_tokens"],
        thinking_tokens=usage["output_tokens_details"]["reasoning_tokens"],
    )


PARTS = st.one_of(
    st.builds(lambda text, size: chat.text(text, piece_chars=size), TEXTS, SIZES),
    st.builds(lambda text, size: chat.thinking(text, piece_chars=size), TEXTS, SIZES),
)
CALLS = st.builds(
    lambda input, size: chat.call("Read", input, piece_chars=size), strategies.json_objects, SIZES
)
STYLES = st.builds(
    chat.Style,
    usage_in=st.sampled_from(["extra", "last"]),
    padding=st.booleans(),
    spaced=st.booleans(),
)


@st.composite
def chat_streams(draw: st.DrawFn) -> list[bytes]:
    parts: list[chat.Written | chat.Together] = [*draw(st.lists(PARTS, max_size=3))]
    calls = draw(st.lists(CALLS, max_size=3))
    parts += [chat.together(*calls)] if draw(st.booleans()) and calls else calls
    pieces = chat.reply(
        *parts,
        usage=draw(USAGES),
        style=draw(STYLES),
        finish=draw(st.sampled_from([None, "stop"])),
    )
    return cut(draw, pieces)


@SLOW
@given(chat_streams())
def test_a_completion_is_what_the_vendors_client_makes_of_it(chunks: list[bytes]) -> None:
    mine, other = ours(chunks, ChatDecoder(model=chat.MODEL)), their_completion(chunks)
    message = mine.message("openai", "")
    (choice,) = other["choices"]
    theirs = choice["message"]
    assert message.text == (theirs.get("content") or "")
    thoughts = [block.text for block in message.content if isinstance(block, ThinkingBlock)]
    assert "".join(thoughts) == (theirs.get("reasoning_content") or "")
    assert [(call.id, call.name, call.input) for call in message.tool_uses] == [
        (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
        for call in theirs.get("tool_calls") or ()
    ]
    assert mine.stop_reason == ("tool_use" if message.tool_uses else "end_turn")
    assert (mine.id, mine.model) == (other["id"], other["model"])
    assert mine.usage == Usage(
        input_tokens=other["usage"]["prompt_tokens"],
        output_tokens=other["usage"]["completion_tokens"],
        cache_read_tokens=other["usage"]["prompt_tokens_details"]["cached_tokens"],
        thinking_tokens=other["usage"]["completion_tokens_details"]["reasoning_tokens"],
    )


@SLOW
@given(st.lists(ITEMS, max_size=4), st.lists(PARTS | CALLS, max_size=4), STYLES, st.data())
def test_a_reply_does_not_depend_on_how_it_is_cut(
    items: list[responses.Written],
    parts: list[chat.Written],
    style: chat.Style,
    data: st.DataObject,
) -> None:
    def events(chunks: list[bytes], decoder: WireDecoder[SSEEvent]) -> list[Any]:
        sse = SSEDecoder()
        return [event for chunk in chunks for item in sse.feed(chunk) for event in decoder.feed(item)]

    one = b"".join(responses.reply(*items, responses.together(*items)))
    two = b"".join(chat.reply(*parts, style=style))
    cuts = data.draw(strategies.chunkings(one))
    assert events(cuts, ResponsesDecoder()) == events([one], ResponsesDecoder())
    cuts = data.draw(strategies.chunkings(two))
    assert events(cuts, ChatDecoder()) == events([two], ChatDecoder())


@SLOW
@given(st.lists(PARTS | CALLS, max_size=4), st.lists(ITEMS, max_size=4), STYLES)
def test_reading_a_delta_quickly_gives_what_reading_it_in_full_gives(
    parts: list[chat.Written], items: list[responses.Written], style: chat.Style
) -> None:
    """Padding at the front of each event keeps the quick path from knowing it."""

    def folded(pieces: list[bytes], decoder: WireDecoder[SSEEvent], *, full: bool) -> Assembler:
        if full:
            pieces = [
                piece.replace(b"data: {", b'data: {"n": %d,' % number, 1)
                for number, piece in enumerate(pieces)
            ]
        return ours(pieces, decoder)

    pieces = chat.reply(*parts, style=style)
    quick, full = (folded(pieces, ChatDecoder(), full=full) for full in (False, True))
    assert quick.message("", "", id="m1") == full.message("", "", id="m1")
    pieces = responses.reply(*items, responses.together(*items))
    quick, full = (folded(pieces, ResponsesDecoder(), full=full) for full in (False, True))
    assert quick.message("", "", id="m1") == full.message("", "", id="m1")


CHAT_PARAMS = "openai.types.chat.completion_create_params:CompletionCreateParamsStreaming"
RESPONSE_PARAMS = "openai.types.responses.response_create_params:ResponseCreateParamsStreaming"


def checked(params: str, body: dict[str, Any]) -> None:
    """The client's types drop what they do not know and read iterables late: read them, and look again."""
    json.dumps(body, allow_nan=False)
    known = adapter(params).validate_python(body)
    assert known.keys() == body.keys()
    assert thawed(known) == body


def thawed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: thawed(item) for key, item in value.items()}
    if isinstance(value, Iterator) or (hasattr(value, "__iter__") and not isinstance(value, str | bytes)):
        return [thawed(item) for item in value]
    return value


TOOLS = (
    ToolSpec(name="Read", description="Read.", input_schema={"type": "object", "properties": {"p": {}}}),
    ToolSpec(name="mcp__a.b", description="", input_schema={"type": "object"}),
)
REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "hm"}],
    "encrypted_content": "gAAA",
}


def everything(model: str) -> CompletionRequest:
    png = ImageBlock.of(media_type="image/png", data="iVBORw0KGgo=")
    blocks: tuple[Block, ...] = (
        ThinkingBlock(text="hm", signature=""),
        OpaqueBlock(family="openai", data=REASONING),
        TextBlock(text="t"),
        OpaqueBlock(family="openai", data={"type": "phase", "phase": "commentary"}),
        ToolUseBlock(id="a b", name="mcp__a.b", input={"x": [1, None]}),
        ToolUseBlock(id="c", name="Read", input={}),
    )
    results = (
        ToolResultBlock(tool_use_id="a b", content=(TextBlock(text="r"), png), is_error=True),
        ToolResultBlock(tool_use_id="c", content=(png,)),
        TextBlock(text="and"),
        png,
        ImageBlock(source=UrlSource(url="https://example.org/a.png", media_type="image/png")),
        DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERg=="), title="T"),
        DocumentBlock(source=Base64Source(media_type="text/plain", data="aGk=")),
    )
    reply = Message(role="assistant", content=blocks, family="openai", model=model)
    return CompletionRequest(
        model=model,
        messages=(system("s"), user("u"), reply, Message(role="user", content=results)),
        max_tokens=9000,
        tools=TOOLS,
        tool_choice="any",
        thinking_tokens=2000,
        effort="max",
        temperature=0.5,
        response_schema={"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        extra={"metadata": {"user_id": "u"}, "parallel_tool_calls": False},
    )


def test_a_body_with_everything_is_of_the_clients_types() -> None:
    checked(RESPONSE_PARAMS, encode_responses(everything("gpt-5.5"), cache_key="k"))
    checked(CHAT_PARAMS, encode_chat(everything("gpt-5.2"), OPENAI, cache_key="k"))


@SLOW
@given(
    strategies.histories(),
    st.sampled_from(["gpt-5.5", "gpt-6.2-sol", "gpt-4.1", "o3", "test-1"]),
    st.sampled_from([None, 0, 2000]),
    st.sampled_from(["auto", "none", "any", "Read"]),
    st.booleans(),
)
def test_any_body_is_of_the_clients_types(
    history: tuple[Message, ...], model: str, thinking_tokens: int | None, tool_choice: str, cache: bool
) -> None:
    request = CompletionRequest(
        model=model,
        messages=history,
        max_tokens=4000,
        tools=TOOLS,
        tool_choice=tool_choice,
        thinking_tokens=thinking_tokens,
        temperature=0.5,
        cache=cache,
    )
    try:
        checked(RESPONSE_PARAMS, encode_responses(request))
        checked(CHAT_PARAMS, encode_chat(request, OPENAI))
    except InvalidRequest:
        return


def test_the_check_itself_notices_wrong_bodies() -> None:
    good = encode_chat(CompletionRequest(model="m", messages=(user("u"),), max_tokens=1), OPENAI)
    checked(CHAT_PARAMS, good)
    for bad in (
        {**good, "surprise": 1},
        {**good, "messages": [{"role": "user", "content": "u", "x": 1}]},
        {**good, "messages": [{"role": "tool", "content": "u"}]},
    ):
        with pytest.raises((AssertionError, ValueError)):
            checked(CHAT_PARAMS, bad)
    body = encode_responses(CompletionRequest(model="m", messages=(user("u"),), max_tokens=1))
    checked(RESPONSE_PARAMS, body)
    for bad in ({**body, "surprise": 1}, {**body, "input": [{"type": "function_call"}]}):
        with pytest.raises((AssertionError, ValueError)):
            checked(RESPONSE_PARAMS, bad)


def test_the_vendors_client_on_azure_sends_the_same_addresses() -> None:
    from caliban_provider.provider import ProviderOptions
    from caliban_provider_openai.azure import AzureTransport
    from caliban_provider_openai.chat.encode import ChatEncoder

    seen: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json={"data": []})

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    sdk = openai.AzureOpenAI(
        api_key="k",
        azure_endpoint="https://res.openai.azure.com",
        api_version="2024-10-21",
        max_retries=0,
        http_client=http,
    )
    sdk.chat.completions.create(model="my deployment", messages=[{"role": "user", "content": "x"}])
    sdk.models.list()
    options = ProviderOptions(api_key="k", extra={"resource": "res"})
    transport = AzureTransport(options)
    request = CompletionRequest(model="my deployment", messages=(user("x"),), max_tokens=9)
    chatted = transport.prepare(ChatEncoder(OPENAI).body(request))
    listed = transport.prepare_models()
    assert [str(one.url).replace("+", "%20") for one in seen] == [chatted.url, listed.url]
    assert [one.headers["api-key"] for one in seen] == [
        chatted.headers["api-key"],
        listed.headers["api-key"],
    ]
