"""The reply's state machine, event by event."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.usage import Usage
from caliban_provider.errors import (
    BadResponse,
    ContextTooLong,
    InvalidRequest,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerError,
    StreamInterrupted,
)
from caliban_provider.sse import SSEDecoder, SSEEvent
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    SignatureDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider_anthropic.decode import Decoder
from caliban_provider_anthropic.testing import wire

START = MessageStart("msg_1", wire.MODEL, Usage(input_tokens=10, output_tokens=1))


def decoded(events: list[bytes], decoder: Decoder | None = None) -> list[StreamEvent]:
    decoder = decoder or Decoder(model=wire.MODEL)
    out = [event for item in SSEDecoder().feed(b"".join(events)) for event in decoder.feed(item)]
    decoder.finish()
    return out


def feed(decoder: Decoder, kind: str, **members: Any) -> list[StreamEvent]:
    (event,) = SSEDecoder().feed(wire.event(kind, **members))
    return decoder.feed(event)


def begun() -> Decoder:
    decoder = Decoder(model=wire.MODEL)
    (event,) = SSEDecoder().feed(wire.message_start(id="msg_1"))
    assert decoder.feed(event) == [START]
    return decoder


def test_a_reply_of_every_kind_of_block_becomes_the_events_of_the_contract() -> None:
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search"}
    hits = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"url": "u"}]}
    blocks = (
        wire.thinking("ab", "c", signature="SIG1"),
        wire.redacted("cipher"),
        wire.text("Hel", "lo"),
        wire.server_block(search, input={"query": "x"}),
        wire.server_block(hits),
        wire.tool_use("Read", {"path": "x"}, id="toolu_1", piece_chars=8),
    )
    usage = Usage(
        input_tokens=30, output_tokens=9, cache_read_tokens=12, cache_write_tokens=8, thinking_tokens=4
    )
    first = Usage(input_tokens=30, output_tokens=1, cache_read_tokens=12, cache_write_tokens=8)
    assert decoded(wire.reply(*blocks, id="msg_1", usage=usage)) == [
        MessageStart("msg_1", wire.MODEL, first),
        BlockStart(0, "thinking"),
        ThinkingDelta(0, "ab"),
        ThinkingDelta(0, "c"),
        SignatureDelta(0, "SIG1"),
        BlockStop(0),
        BlockStart(1, "redacted_thinking", data="cipher"),
        BlockStop(1),
        BlockStart(2, "text"),
        TextDelta(2, "Hel"),
        TextDelta(2, "lo"),
        BlockStop(2),
        BlockStart(3, "opaque", payload={**search, "input": {"query": "x"}}),
        BlockStop(3),
        BlockStart(4, "opaque", payload=hits),
        BlockStop(4),
        BlockStart(5, "tool_use", id="toolu_1", name="Read"),
        InputDelta(5, '{"path":'),
        InputDelta(5, '"x"}'),
        BlockStop(5),
        MessageDelta("tool_use", usage),
        MessageStop(),
    ]


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("end_turn", "end_turn"),
        ("tool_use", "tool_use"),
        ("max_tokens", "max_tokens"),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause_turn"),
        ("refusal", "refusal"),
        ("model_context_window_exceeded", "context_window"),
        ("compaction", "other"),
    ],
)
def test_stop_reasons_are_mapped(told: str, meant: str) -> None:
    usage = Usage(input_tokens=10, output_tokens=5)
    detail = told if meant == "other" else None
    assert MessageDelta(meant, usage, detail) in decoded(  # type: ignore[arg-type]
        wire.reply(wire.text("x"), stop_reason=told)
    )


def test_a_refusal_says_why() -> None:
    events = decoded(wire.reply(stop_reason="refusal", detail="Not that."))
    assert MessageDelta("refusal", Usage(input_tokens=10, output_tokens=5), "Not that.") in events
    decoder = begun()
    details = {"type": "refusal", "category": "cyber", "explanation": None}
    assert feed(decoder, "message_delta", delta={"stop_reason": "refusal", "stop_details": details}) == [
        MessageDelta("refusal", None, "cyber")
    ]


def test_usage_is_cumulative_and_what_is_not_told_stays() -> None:
    decoder = begun()
    usage = {"output_tokens": 7, "input_tokens": None, "cache_read_input_tokens": 5}
    assert feed(decoder, "message_delta", delta={}, usage=usage) == [
        MessageDelta(None, Usage(input_tokens=15, output_tokens=7, cache_read_tokens=5))
    ]
    usage = {"output_tokens": 9, "output_tokens_details": {"thinking_tokens": 3}}
    assert feed(decoder, "message_delta", delta={}, usage=usage) == [
        MessageDelta(None, Usage(input_tokens=15, output_tokens=9, cache_read_tokens=5, thinking_tokens=3))
    ]
    nonsense = {"output_tokens": -1, "input_tokens": True, "cache_read_input_tokens": "many"}
    assert feed(decoder, "message_delta", delta={}, usage=nonsense) == [
        MessageDelta(None, Usage(input_tokens=15, output_tokens=9, cache_read_tokens=5, thinking_tokens=3))
    ]


@pytest.mark.parametrize("prompt", [0, 0.0, 10**30, "10", None])
def test_a_prompt_that_was_told_is_not_taken_back(prompt: object) -> None:
    usage = {"output_tokens": 7, "input_tokens": prompt, "cache_read_input_tokens": 0}
    assert feed(begun(), "message_delta", delta={}, usage=usage) == [
        MessageDelta(None, Usage(input_tokens=10, output_tokens=7))
    ]


def test_a_snapshot_that_answers_is_named_as_it_was_asked_for() -> None:
    decoder = Decoder(model="claude-haiku-4-5")
    (event,) = SSEDecoder().feed(wire.message_start(model="claude-haiku-4-5-20251001", id="m"))
    assert decoder.feed(event) == [
        MessageStart("m", "claude-haiku-4-5", Usage(input_tokens=10, output_tokens=1))
    ]


def test_another_model_that_answers_is_named() -> None:
    decoder = Decoder(model="claude-haiku-4-5")
    (event,) = SSEDecoder().feed(wire.message_start(model="claude-sonnet-5", id="m"))
    assert decoder.feed(event) == [
        MessageStart("m", "claude-sonnet-5", Usage(input_tokens=10, output_tokens=1))
    ]


def test_names_of_tools_are_mapped_back() -> None:
    decoder = Decoder(model=wire.MODEL, names={"mcp__a_b_1": "mcp__a.b"})
    events = decoded(wire.reply(wire.tool_use("mcp__a_b_1", {}, id="t")), decoder)
    assert BlockStart(0, "tool_use", id="t", name="mcp__a.b") in events


def test_an_input_that_came_whole_is_given_out_at_the_end() -> None:
    decoder = begun()
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "x"}}
    assert feed(decoder, "content_block_start", index=0, content_block=call) == [
        BlockStart(0, "tool_use", id="t", name="Read")
    ]
    assert feed(decoder, "content_block_stop", index=0) == [InputDelta(0, '{"path": "x"}'), BlockStop(0)]


def test_deltas_after_a_whole_input_replace_it() -> None:
    decoder = begun()
    call = {"type": "tool_use", "id": "t", "name": "Read", "input": {"path": "x"}}
    feed(decoder, "content_block_start", index=0, content_block=call)
    for piece in ('{"path":', '"y"}'):
        delta = {"type": "input_json_delta", "partial_json": piece}
        assert feed(decoder, "content_block_delta", index=0, delta=delta) == []
    assert feed(decoder, "content_block_stop", index=0) == [InputDelta(0, '{"path":"y"}'), BlockStop(0)]


def test_what_a_start_already_holds_is_kept() -> None:
    decoder = begun()
    block = {"type": "text", "text": "Hel", "citations": None}
    assert feed(decoder, "content_block_start", index=0, content_block=block) == [
        BlockStart(0, "text", text="Hel")
    ]
    block = {"type": "thinking", "thinking": "a", "signature": "s"}
    assert feed(decoder, "content_block_start", index=1, content_block=block) == [
        BlockStart(1, "thinking", text="a"),
        SignatureDelta(1, "s"),
    ]


def test_an_unknown_block_is_kept_whole_with_all_that_came_for_it() -> None:
    decoder = begun()
    block = {"type": "compaction", "content": None}
    assert feed(decoder, "content_block_start", index=0, content_block=block) == []
    for piece in ("Hel", "lo"):
        delta = {"type": "compaction_delta", "content": piece}
        assert feed(decoder, "content_block_delta", index=0, delta=delta) == []
    assert feed(decoder, "content_block_stop", index=0) == [
        BlockStart(0, "opaque", payload={"type": "compaction", "content": "Hello"}),
        BlockStop(0),
    ]


def test_what_is_unknown_is_passed_over() -> None:
    decoder = begun()
    feed(decoder, "content_block_start", index=0, content_block={"type": "text", "text": ""})
    citation = {"type": "citations_delta", "citation": {"cited_text": "x"}}
    assert feed(decoder, "content_block_delta", index=0, delta=citation) == []
    assert feed(decoder, "content_block_delta", index=0, delta={"type": "weather_delta"}) == []
    assert feed(decoder, "content_block_delta", index=7, delta={"type": "text_delta", "text": "x"}) == []
    wrong = {"type": "thinking_delta", "thinking": "x"}
    assert feed(decoder, "content_block_delta", index=0, delta=wrong) == []
    assert feed(decoder, "content_block_stop", index=7) == []
    assert feed(decoder, "content_block_start", index=1, content_block={"no": "type"}) == []
    assert feed(decoder, "message_weather", sky="blue") == []
    assert decoder.feed(SSEEvent("ping", b"")) == decoder.feed(SSEEvent("ping", b"pong")) == []


def test_blocks_that_nobody_closed_are_closed_at_the_end() -> None:
    decoder = begun()
    feed(decoder, "content_block_start", index=1, content_block={"type": "text", "text": ""})
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}
    feed(decoder, "content_block_start", index=0, content_block=call)
    assert feed(decoder, "message_stop") == [BlockStop(0), BlockStop(1), MessageStop()]
    assert decoder.stopped


def test_a_block_that_begins_again_ends_first() -> None:
    decoder = begun()
    block = {"type": "text", "text": ""}
    feed(decoder, "content_block_start", index=0, content_block=block)
    assert feed(decoder, "content_block_start", index=0, content_block=block) == [
        BlockStop(0),
        BlockStart(0, "text"),
    ]


def test_what_follows_the_end_is_passed_over() -> None:
    decoder = Decoder(model=wire.MODEL)
    decoded(wire.reply(wire.text("x")), decoder)
    assert decoder.feed(SSEEvent("message", b"[DONE]")) == []
    assert feed(decoder, "content_block_delta", index=0, delta={"type": "text_delta", "text": "y"}) == []


def test_a_stream_that_ends_before_its_message_was_interrupted() -> None:
    with pytest.raises(StreamInterrupted):
        decoded(wire.reply(wire.text("x"))[:-1])
    with pytest.raises(StreamInterrupted):
        Decoder().finish()


def test_a_second_message_in_one_stream_interrupts_the_first() -> None:
    decoder = begun()
    (event,) = SSEDecoder().feed(wire.message_start())
    with pytest.raises(StreamInterrupted, match="second"):
        decoder.feed(event)


@pytest.mark.parametrize(
    ("kind", "message", "error"),
    [
        ("overloaded_error", "Overloaded", Overloaded),
        ("rate_limit_error", "Slow down", RateLimited),
        ("api_error", "Internal", ServerError),
        ("invalid_request_error", "No.", InvalidRequest),
        ("invalid_request_error", "prompt is too long: 201000 tokens > 200000 maximum", ContextTooLong),
        ("new_error", "?", ServerError),
    ],
)
def test_an_error_inside_the_stream_is_raised_by_its_type(
    kind: str, message: str, error: type[ProviderError]
) -> None:
    decoder = begun()
    with pytest.raises(error) as raised:
        feed(decoder, "error", error={"type": kind, "message": message}, request_id="req_1")
    assert type(raised.value) is error
    assert raised.value.request_id == "req_1"


def test_an_error_does_not_show_the_key() -> None:
    decoder = Decoder(secrets=("sk-secret-1234567890",))
    with pytest.raises(ProviderError) as raised:
        feed(decoder, "error", error={"type": "api_error", "message": "bad key sk-secret-1234567890"})
    assert "sk-secret" not in str(raised.value)


BAD = [
    b"",
    b"null",
    b"[]",
    b'"text"',
    b"{",
    b"[DONE]",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"type":"content_block_start"}',
    b'{"type":"content_block_start","index":0}',
    b'{"type":"content_block_start","index":"0","content_block":{"type":"text"}}',
    b'{"type":"content_block_start","index":0,"content_block":[]}',
    b'{"type":"content_block_start","index":0,"content_block":{"type":5}}',
    b'{"type":"content_block_delta","index":-1,"delta":{}}',
    b'{"type":"content_block_delta","index":0}',
    b'{"type":"content_block_delta","index":true,"delta":{}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta"}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":7}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud8"}}',
    b'{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\xff"}}',
    b'{"type":"content_block_stop"}',
    b'{"type":"message_delta"}',
    b'{"type":"message_delta","delta":{"stop_reason":["end_turn"],"stop_details":"x"},"usage":[]}',
    b'{"type":"message_start","message":[]}',
    b'{"type":"error"}',
    b'{"type":"error","error":"overloaded"}',
    b'{"type":["error"]}',
    b'{"type":{}}',
]


@pytest.mark.parametrize("data", BAD, ids=lambda data: data[:60].decode("latin-1"))
def test_garbage_is_refused_or_passed_over_and_never_a_programming_error(data: bytes) -> None:
    for decoder in (Decoder(), begun(), begun()):
        if decoder is not None:
            try:
                decoder.feed(SSEEvent("message", data))
            except ProviderError as error:
                assert error.message.isprintable()


def test_content_before_the_start_is_refused() -> None:
    with pytest.raises(BadResponse):
        feed(Decoder(), "content_block_start", index=0, content_block={"type": "text", "text": ""})
    with pytest.raises(BadResponse):
        feed(Decoder(), "message_stop")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("type", "index", "delta", "content_block", "message", "usage", "error", "text", "partial_json")
TYPES = (
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "error",
    "text_delta",
    "input_json_delta",
    "signature_delta",
    "text",
    "tool_use",
    "thinking",
    "server_tool_use",
)
VALUES = st.deferred(
    lambda: (
        st.sampled_from(TYPES)
        | st.integers(0, 2)
        | JSON
        | st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)
    )
)
EVENTS = st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=4)


@given(st.lists(EVENTS, max_size=12), st.data())
def test_any_events_at_all_give_stream_events_or_provider_errors(
    events: list[dict[str, Any]], data: st.DataObject
) -> None:
    mixed = [
        json.loads(item.split(b"data: ")[1]) for item in wire.reply(wire.text("a"), wire.tool_use("R", {}))
    ]
    for event in events:
        mixed.insert(data.draw(st.integers(0, len(mixed))), event)
    decoder = Decoder(model=wire.MODEL)
    try:
        for event in mixed:
            decoder.feed(SSEEvent("message", json.dumps(event).encode()))
        decoder.finish()
    except ProviderError:
        pass


@given(st.text(), st.sampled_from(["}}", "}      }", "} }  ", '},"x":1}', "}}x", "}"]), st.booleans())
def test_the_quick_way_reads_what_json_reads(text: str, tail: str, ascii: bool) -> None:
    line = (
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":'
        + json.dumps(text, ensure_ascii=ascii)
        + tail
    ).encode("utf-8", "surrogatepass")
    decoder = begun()
    feed(decoder, "content_block_start", index=0, content_block={"type": "text", "text": ""})
    try:
        expected: Any = json.loads(line)["delta"]["text"]
    except ValueError:
        expected = BadResponse
    try:
        got: Any = "".join(
            event.text for event in decoder.feed(SSEEvent("x", line)) if isinstance(event, TextDelta)
        )
    except BadResponse:
        got = BadResponse
    assert got == expected
