"""The vendor's own client as a second opinion: on what we make of a stream, and on what we send."""

from __future__ import annotations

import base64
import json
from typing import Any

import httpx2
import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from late_kit import Late

from caliban_common.codec import message_from_json, message_to_json
from caliban_common.history import TargetModel, repair
from caliban_common.message import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
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
from caliban_provider.stream import StreamEvent
from caliban_provider.testing import strategies
from caliban_provider_google.decode import Decoder
from caliban_provider_google.encode import encode
from caliban_provider_google.testing import wire

genai = Late("google.genai")
types = Late("google.genai.types")

SLOW = settings(max_examples=examples(30))
MODEL = "gemini-2.5-flash"


def events_of(chunks: list[bytes]) -> list[StreamEvent]:
    sse, decoder = SSEDecoder(), Decoder(model=MODEL)
    out = [event for chunk in chunks for item in sse.feed(chunk) for event in decoder.feed(item)]
    out += [event for item in sse.close() for event in decoder.feed(item)]
    return [*out, *decoder.finish()]


def ours(chunks: list[bytes]) -> Assembler:
    assembler = Assembler()
    for event in events_of(chunks):
        assembler.add(event)
    return assembler


def theirs(chunks: list[bytes]) -> list[types.GenerateContentResponse]:
    def answer(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=iter(chunks))

    http = httpx2.Client(transport=httpx2.MockTransport(answer))
    options = types.HttpOptions(base_url="http://vendor", httpx_client=http)
    client = genai.Client(api_key="k", http_options=options, vertexai=False)
    return list(client.models.generate_content_stream(model=MODEL, contents="x"))


def merged(responses: list[types.GenerateContentResponse]) -> list[dict[str, Any]]:
    """The parts that a careful user of the client would send back: signed ones by themselves."""
    out: list[dict[str, Any]] = []
    can_grow = False
    for response in responses:
        content = response.candidates[0].content if response.candidates else None
        for part in (content.parts if content else None) or []:
            dumped = part.model_dump(exclude_none=True, by_alias=True, mode="json")
            if part.thought_signature is not None:
                dumped["thoughtSignature"] = base64.b64encode(part.thought_signature).decode()
            signed = "thoughtSignature" in dumped
            if "text" not in dumped:
                out.append(dumped)
                can_grow = False
                continue
            if not dumped["text"] and not signed:
                continue
            thought = dumped.get("thought", False)
            if can_grow and out[-1].get("thought", False) == thought and (thought or not signed):
                out[-1]["text"] += dumped["text"]
                if signed:
                    out[-1]["thoughtSignature"] = dumped["thoughtSignature"]
            else:
                out.append(dumped)
            can_grow = not signed
    return [part for part in out if "thoughtSignature" in part or is_worth_sending(part)]


def is_worth_sending(part: dict[str, Any]) -> bool:
    return "text" not in part or bool(part["text"].strip() and not part.get("thought"))


def replayed(message: Message) -> list[dict[str, Any]]:
    """The parts that we send back, after the message was kept in a session and repaired."""
    kept = message_from_json(json.loads(json.dumps(message_to_json(message))))
    results = tuple(
        ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text="ok"),)) for call in kept.tool_uses
    )
    history = (user("x"), kept, Message(role="user", content=(*results, TextBlock(text="y"))))
    sent = repair(history, TargetModel(family="google", model=MODEL))
    contents = encode(CompletionRequest(model=MODEL, messages=sent, max_tokens=9))["contents"]
    return [part for content in contents if content["role"] == "model" for part in content["parts"]]


TEXTS = strategies.texts()
SIGNATURES = st.none() | st.binary(min_size=3, max_size=12).map(lambda data: base64.b64encode(data).decode())
ITEMS = st.one_of(
    st.builds(
        lambda text, size, signature: wire.text(text, piece_chars=size, signature=signature),
        TEXTS,
        st.integers(1, 9),
        SIGNATURES,
    ),
    st.builds(
        lambda text, signature: wire.thinking(text, piece_chars=4, signature=signature), TEXTS, SIGNATURES
    ),
    st.builds(lambda signature: wire.text(signature=signature), SIGNATURES),
    st.builds(
        lambda args, id, signature: wire.call("Read", args, id=id, signature=signature),
        strategies.json_objects,
        st.none() | st.uuids().map(str),
        SIGNATURES,
    ),
    st.just(wire.part(executableCode={"language": "PYTHON", "code": "1+1"})),
)
USAGES = st.builds(
    lambda fresh, read, output, thinking: Usage(
        input_tokens=fresh + read,
        output_tokens=output + thinking,
        cache_read_tokens=read,
        thinking_tokens=thinking,
    ),
    *[st.integers(0, 999)] * 4,
)


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    items = draw(st.lists(ITEMS, max_size=5))
    if draw(st.booleans()):
        items = [wire.together(*items)]
    finish = draw(st.sampled_from(["STOP", "MAX_TOKENS", "SAFETY"]))
    data = b"".join(wire.reply(*items, usage=draw(USAGES), finish=finish, model=MODEL))
    if draw(st.booleans()):
        data = data.replace(b"\r\n", b"\n")
    return draw(strategies.chunkings(data))


STOPS = {"STOP": ("end_turn", "tool_use"), "MAX_TOKENS": ("max_tokens",), "SAFETY": ("content_filter",)}


@SLOW
@given(streams())
def test_a_reply_is_what_the_vendors_client_makes_of_it_and_goes_back_as_it_came(chunks: list[bytes]) -> None:
    mine, other = ours(chunks), theirs(chunks)
    message = mine.message("google", "")
    assert replayed(message) == merged(other)
    assert message.text == "".join(
        part.text or ""
        for response in other
        for part in (response.candidates[0].content.parts or [] if response.candidates else [])
        if part.text and not part.thought
    )
    last = other[-1]
    assert (mine.id, message.model) == (last.response_id, last.model_version)
    assert mine.stop_reason in STOPS[last.candidates[0].finish_reason.value]
    counts = last.usage_metadata
    assert mine.usage == Usage(
        input_tokens=counts.prompt_token_count or 0,
        output_tokens=(counts.candidates_token_count or 0) + (counts.thoughts_token_count or 0),
        cache_read_tokens=counts.cached_content_token_count or 0,
        thinking_tokens=counts.thoughts_token_count or 0,
    )


@SLOW
@given(st.lists(ITEMS, max_size=4), st.data())
def test_a_reply_does_not_depend_on_how_it_is_cut(items: list[wire.Item], data: st.DataObject) -> None:
    whole = b"".join(wire.reply(*items, wire.together(*items)))
    assert events_of(data.draw(strategies.chunkings(whole))) == events_of([whole])


def checked(body: dict[str, Any]) -> None:
    """The client's types refuse what they do not know; they put the configuration into one object."""
    for content in body["contents"]:
        types.Content.model_validate(content)
    config = {
        **body["generationConfig"],
        **{key: body[key] for key in ("systemInstruction", "tools", "toolConfig") if key in body},
    }
    types.GenerateContentConfig.model_validate(config)
    known = {"contents", "generationConfig", "systemInstruction", "tools", "toolConfig", "safetySettings"}
    assert body.keys() <= known


TOOLS = (
    ToolSpec(
        name="Read",
        description="Read.",
        input_schema={
            "type": "object",
            "properties": {
                "p": {"type": ["string", "null"], "minLength": 1},
                "q": {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "array"}]},
            },
            "required": ["p"],
        },
    ),
    ToolSpec(name="mcp__a b", description="", input_schema={"type": "object"}),
)


def test_a_body_with_everything_is_of_the_clients_types() -> None:
    png = ImageBlock.of(media_type="image/png", data="iVBORw0KGgo=")
    reply = Message(
        role="assistant",
        content=(
            ThinkingBlock(text="hm", signature="c2ln"),
            TextBlock(text="t"),
            ToolUseBlock(id="a b", name="mcp__a b", input={"x": [1, None]}),
        ),
        family="google",
        model="gemini-3.8-flash",
    )
    results = (
        ToolResultBlock(tool_use_id="a b", content=(TextBlock(text="r"), png), is_error=True),
        TextBlock(text="and"),
        ImageBlock(source=UrlSource(url="https://example.org/a.png", media_type="image/png")),
        DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERg=="), title="T"),
        DocumentBlock(source=Base64Source(media_type="text/plain", data="aGk=")),
    )
    request = CompletionRequest(
        model="gemini-3.8-flash",
        messages=(system("s"), user("u"), reply, Message(role="user", content=results)),
        max_tokens=9000,
        tools=TOOLS,
        tool_choice="Read",
        thinking_tokens=2000,
        effort="max",
        response_schema={"type": "object", "properties": {"a": {"type": "string"}}},
        extra={"safetySettings": [], "generationConfig": {"topP": 0.5}},
    )
    checked(encode(request))


@SLOW
@given(
    strategies.histories(),
    st.sampled_from(["gemini-2.0-flash", "gemini-2.5-pro", "gemini-3.8-flash", "gemini-4-argon"]),
    st.sampled_from([None, 0, 2000]),
    st.sampled_from(["auto", "none", "any", "Read"]),
    st.sampled_from([None, "low", "max"]),
)
def test_any_body_is_of_the_clients_types(
    history: tuple[Message, ...], model: str, thinking_tokens: int | None, tool_choice: str, effort: Any
) -> None:
    request = CompletionRequest(
        model=model,
        messages=history,
        max_tokens=4000,
        tools=TOOLS,
        tool_choice=tool_choice,
        thinking_tokens=thinking_tokens,
        effort=effort,
        temperature=0.5,
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
        {**good, "contents": [{"role": "user", "parts": [{"text": "u", "x": 1}]}]},
        {**good, "generationConfig": {"x": 1}},
    ):
        with pytest.raises((AssertionError, ValueError)):
            checked(bad)
