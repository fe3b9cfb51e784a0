"""The vendor's own client as a second opinion: on what we make of a stream, and on what we send."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from late_kit import Late

from caliban_common.message import Message, TextBlock, ThinkingBlock, ToolUseBlock, user
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.assemble import Assembler
from caliban_provider.errors import InvalidRequest
from caliban_provider.ndjson import NDJSONDecoder
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.testing import strategies
from caliban_provider_ollama.decode import Decoder
from caliban_provider_ollama.encode import encode
from caliban_provider_ollama.models import ModelFacts
from caliban_provider_ollama.testing import wire
from caliban_provider_ollama.testing.strict import Refused, check_body

ollama = Late("ollama")
ollama_types = Late("ollama._types")

SLOW = settings(max_examples=examples(50))


def events_of(chunks: list[bytes]) -> list[StreamEvent]:
    lines, decoder = NDJSONDecoder(), Decoder(model=wire.MODEL)
    out = [event for chunk in chunks for item in lines.feed(chunk) for event in decoder.feed(item)]
    out += [event for item in lines.close() for event in decoder.feed(item)]
    decoder.finish()
    return out


def ours(chunks: list[bytes]) -> Assembler:
    assembler = Assembler()
    for event in events_of(chunks):
        assembler.add(event)
    return assembler


def theirs(chunks: list[bytes]) -> list[ollama.ChatResponse]:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, headers={"content-type": wire.CONTENT_TYPE}, content=iter(chunks))

    client = ollama.Client(host="http://vendor", transport=httpx.MockTransport(answer))
    return list(client.chat(model=wire.MODEL, messages=[{"role": "user", "content": "x"}], stream=True))


def merged(responses: list[ollama.ChatResponse]) -> list[tuple[str, Any]]:
    """What a careful user of the client would make of the pieces."""
    out: list[tuple[str, Any]] = []
    for response in responses:
        message = response.message
        for kind, text in (("thinking", message.thinking), ("text", message.content)):
            if text and out and out[-1][0] == kind:
                out[-1] = (kind, out[-1][1] + text)
            elif text:
                out.append((kind, text))
        for call in message.tool_calls or ():
            out.append(("call", (call.function.name, dict(call.function.arguments))))
    return out


def plain(message: Message) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for block in message.content:
        match block:
            case TextBlock(text=text):
                out.append(("text", text))
            case ThinkingBlock(text=text):
                out.append(("thinking", text))
            case ToolUseBlock(name=name, input=input):
                out.append(("call", (name, dict(input))))
    return out


TEXTS = strategies.texts()
ITEMS = st.one_of(
    st.builds(lambda text, size: wire.text(text, piece_chars=size), TEXTS, st.integers(1, 9)),
    st.builds(lambda text: wire.thinking(text, piece_chars=4), TEXTS),
    st.builds(lambda args: wire.call("Read", args), strategies.json_objects),
    st.builds(
        lambda a, b: wire.together(wire.call("Read", a), wire.call("Bash", b)), *[strategies.json_objects] * 2
    ),
)
USAGES = st.builds(
    lambda prompt, output: Usage(input_tokens=prompt, output_tokens=output), *[st.integers(0, 999)] * 2
)
STOPS = {"stop": ("end_turn", "tool_use"), "length": ("max_tokens",), "load": ("other",)}


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    data = b"".join(
        wire.reply(
            *draw(st.lists(ITEMS, max_size=5)),
            usage=draw(USAGES),
            done_reason=draw(st.sampled_from(sorted(STOPS))),
        )
    )
    # The client cuts lines at characters that are no line ends; escaped they mean the same.
    for char in "\u0085\u2028\u2029":
        data = data.replace(char.encode(), json.dumps(char)[1:-1].encode())
    return draw(strategies.chunkings(data))


@SLOW
@given(streams())
def test_a_reply_is_what_the_vendors_client_makes_of_it(chunks: list[bytes]) -> None:
    mine, other = ours(chunks), theirs(chunks)
    message = mine.message("ollama", "")
    assert plain(message) == merged(other)
    last = other[-1]
    assert message.model == last.model and mine.stop_reason in STOPS[last.done_reason or ""]
    assert mine.usage == Usage(input_tokens=last.prompt_eval_count or 0, output_tokens=last.eval_count or 0)
    ids = [call.id for call in message.tool_uses]
    assert len(set(ids)) == len(ids)


@SLOW
@given(st.lists(ITEMS, max_size=4), st.data())
def test_a_reply_does_not_depend_on_how_it_is_cut(items: list[wire.Item], data: st.DataObject) -> None:
    whole = b"".join(wire.reply(*items, *items))
    assert events_of(data.draw(strategies.chunkings(whole))) == events_of([whole])


TOOLS = (
    ToolSpec(
        name="Read",
        description="Read.",
        input_schema={"type": "object", "properties": {"p": {"type": "string"}}},
    ),
    ToolSpec(name="mcp__a.b", description="", input_schema={}),
)


def checked(body: dict[str, Any]) -> None:
    """The client's types drop what they do not know, so members are looked at once more."""
    known = ollama_types.ChatRequest.model_validate(
        {key: value for key, value in body.items() if key != "tools"}
    )
    for tool in body.get("tools", ()):
        ollama_types.Tool.model_validate(tool)
    assert body.keys() - ollama_types.ChatRequest.model_fields.keys() == {"truncate", "shift"}
    for sent, message in zip(body["messages"], known.messages or (), strict=True):
        members = message if isinstance(message, dict) else message.model_dump(exclude_none=True)
        assert members.keys() == sent.keys() and members["content"] == sent["content"]
    check_body(body)


@SLOW
@given(
    strategies.histories(),
    st.sampled_from(
        [None, ModelFacts(tools=False, vision=False, thinking=True), ModelFacts(levels=True, thinking=True)]
    ),
    st.sampled_from([None, 0, 2000]),
    st.sampled_from(["auto", "none", "any", "Read"]),
    st.sampled_from([None, {"type": "object"}]),
)
def test_any_body_is_of_the_clients_types(
    history: tuple[Message, ...],
    facts: ModelFacts | None,
    thinking_tokens: int | None,
    tool_choice: str,
    response_schema: Any,
) -> None:
    request = CompletionRequest(
        model=wire.MODEL,
        messages=history,
        max_tokens=4000,
        tools=TOOLS,
        tool_choice=tool_choice,
        thinking_tokens=thinking_tokens,
        response_schema=response_schema,
        temperature=0.5,
    )
    try:
        body = encode(request, facts)
    except InvalidRequest:
        return
    json.dumps(body, allow_nan=False)
    checked(body)


def test_the_check_itself_notices_wrong_bodies() -> None:
    good = encode(CompletionRequest(model="m", messages=(user("u"),), max_tokens=1))
    checked(good)
    for bad in (
        {**good, "surprise": 1},
        {**good, "messages": [{"role": "user", "content": "u", "x": 1}]},
        {**good, "options": {}},
    ):
        with pytest.raises((AssertionError, ValueError, Refused)):
            checked(bad)
