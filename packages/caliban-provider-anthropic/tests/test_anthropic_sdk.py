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
    RedactedThinkingBlock,
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
from caliban_provider.request import CompletionRequest
from caliban_provider.sse import SSEDecoder
from caliban_provider.testing import strategies
from caliban_provider_anthropic.decode import Decoder
from caliban_provider_anthropic.encode import encode
from caliban_provider_anthropic.testing import wire

anthropic = Late("anthropic")

SLOW = settings(max_examples=examples(60))


def ours(chunks: list[bytes]) -> Assembler:
    sse, decoder, assembler = SSEDecoder(), Decoder(model=wire.MODEL), Assembler()
    for chunk in chunks:
        for item in sse.feed(chunk):
            for event in decoder.feed(item):
                assembler.add(event)
    decoder.finish()
    return assembler


def theirs(chunks: list[bytes]) -> dict[str, Any]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(chunks))

    with (
        httpx2.Client(transport=httpx2.MockTransport(answer)) as http,
        anthropic.Anthropic(api_key="k", base_url="http://vendor", max_retries=0, http_client=http) as client,
        client.messages.stream(
            model=wire.MODEL, max_tokens=9, messages=[{"role": "user", "content": "x"}]
        ) as stream,
    ):
        return stream.get_final_message().to_dict()


def plain(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock(text=text):
            return {"type": "text", "text": text}
        case ThinkingBlock(text=text, signature=signature):
            return {"type": "thinking", "thinking": text, "signature": signature}
        case RedactedThinkingBlock(data=data):
            return {"type": "redacted_thinking", "data": data}
        case ToolUseBlock(id=id, name=name, input=input):
            return {"type": "tool_use", "id": id, "name": name, "input": input}
        case OpaqueBlock(data=data):
            return dict(data)
        case _:
            raise AssertionError(block)


TEXTS = strategies.texts()
BLOCKS = st.one_of(
    st.builds(lambda text, size: wire.text(text, piece_chars=size), TEXTS, st.integers(1, 9)),
    st.builds(lambda text: wire.thinking(text, signature="sig", piece_chars=4), TEXTS),
    st.builds(wire.redacted, st.text("abc=", min_size=1)),
    st.builds(
        lambda input, size: wire.tool_use("Read", input, piece_chars=size),
        strategies.json_objects,
        st.integers(1, 9),
    ),
    st.builds(
        lambda text: wire.server_block(
            {"type": "server_tool_use", "id": "srv", "name": "web_search"}, input={"query": text}
        ),
        TEXTS,
    ),
)
USAGES = st.builds(
    lambda fresh, read, written, output, thinking: Usage(
        input_tokens=fresh + read + written,
        output_tokens=output + thinking,
        cache_read_tokens=read,
        cache_write_tokens=written,
        thinking_tokens=thinking,
    ),
    *[st.integers(0, 999)] * 5,
)


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    data = b"".join(
        wire.reply(
            *draw(st.lists(BLOCKS, max_size=4)),
            usage=draw(USAGES),
            stop_reason=draw(st.sampled_from([None, "max_tokens", "pause_turn", "refusal"])),
        )
    )
    if draw(st.booleans()):
        data = data.replace(b"\n", b"\r\n")
    return draw(strategies.chunkings(data))


@SLOW
@given(streams())
def test_a_reply_is_what_the_vendors_client_makes_of_it(chunks: list[bytes]) -> None:
    mine, other = ours(chunks), theirs(chunks)
    assert [plain(block) for block in mine.message("anthropic", "").content] == [
        {key: value for key, value in block.items() if value is not None} for block in other["content"]
    ]
    assert (mine.id, mine.model, mine.stop_reason) == (other["id"], other["model"], other["stop_reason"])
    usage = other["usage"]
    written, read = usage["cache_creation_input_tokens"], usage["cache_read_input_tokens"]
    assert mine.usage == Usage(
        input_tokens=usage["input_tokens"] + written + read,
        output_tokens=usage["output_tokens"],
        cache_read_tokens=read,
        cache_write_tokens=written,
        thinking_tokens=(usage.get("output_tokens_details") or {}).get("thinking_tokens", 0),
    )


@SLOW
@given(st.lists(BLOCKS, max_size=4), st.data())
def test_a_reply_does_not_depend_on_how_it_is_cut(blocks: list[wire.WireBlock], data: st.DataObject) -> None:
    whole = b"".join(wire.reply(*blocks, wire.together(*blocks)))

    def events(chunks: list[bytes]) -> list[Any]:
        sse, decoder = SSEDecoder(), Decoder()
        return [event for chunk in chunks for item in sse.feed(chunk) for event in decoder.feed(item)]

    assert events(data.draw(strategies.chunkings(whole))) == events([whole])


PARAMS = "anthropic.types.message_create_params:MessageCreateParamsStreaming"


def checked(body: dict[str, Any]) -> None:
    """The client's types drop what they do not know and read iterables late: read them, and look again.

    They describe the API's newest version, which has no sampling; the version that we send has.
    """
    body = {key: value for key, value in body.items() if key != "temperature"}
    known = adapter(PARAMS).validate_python(body)
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


def test_a_body_with_everything_is_of_the_clients_types() -> None:
    png = ImageBlock.of(media_type="image/png", data="iVBORw0KGgo=")
    reply = Message(
        role="assistant",
        content=(
            ThinkingBlock(text="hm", signature="s"),
            RedactedThinkingBlock(data="d"),
            TextBlock(text="t"),
            ToolUseBlock(id="a b", name="mcp__a.b", input={"x": [1, None]}),
        ),
        family="anthropic",
        model="claude-opus-5",
    )
    results = (
        ToolResultBlock(tool_use_id="a b", content=(TextBlock(text="r"), png), is_error=True),
        TextBlock(text="and"),
        png,
        ImageBlock(source=UrlSource(url="https://example.org/a.png", media_type="image/png")),
        DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERg=="), title="T"),
        DocumentBlock(source=Base64Source(media_type="text/plain", data="aGk=")),
    )
    request = CompletionRequest(
        model="claude-opus-5",
        messages=(system("s"), user("u"), reply, Message(role="user", content=results)),
        max_tokens=9000,
        tools=TOOLS,
        tool_choice="none",
        thinking_tokens=2000,
        effort="max",
        response_schema={"type": "object", "properties": {"a": {"type": "string"}}},
        extra={"stop_sequences": ["X"], "metadata": {"user_id": "u"}},
    )
    checked(encode(request))


@SLOW
@given(
    strategies.histories(),
    st.sampled_from(["claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-5-5"]),
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
        body = encode(request)
    except InvalidRequest:
        return
    json.dumps(body, allow_nan=False)
    checked(body)


def test_the_check_itself_notices_wrong_bodies() -> None:
    good = encode(CompletionRequest(model="m", messages=(user("u"),), max_tokens=1))
    checked(good)
    for bad in (
        {**good, "surprise": 1},
        {**good, "messages": [{"role": "user", "content": [{"type": "text", "text": "u", "x": 1}]}]},
        {**good, "messages": [{"role": "user", "content": [{"type": "tool_result"}]}]},
    ):
        with pytest.raises((AssertionError, ValueError)):
            checked(bad)
