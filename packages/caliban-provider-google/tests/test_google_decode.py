"""The reply's state machine, event by event."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_common.usage import Usage
from caliban_provider.assemble import decode_input
from caliban_provider.errors import (
    AuthenticationError,
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
from caliban_provider_google.decode import Decoder, _text_of
from caliban_provider_google.testing import wire


def decoded(events: list[bytes], decoder: Decoder | None = None) -> list[StreamEvent]:
    decoder = decoder or Decoder(model=wire.MODEL)
    out = [event for item in SSEDecoder().feed(b"".join(events)) for event in decoder.feed(item)]
    return [*out, *decoder.finish()]


def one(value: dict[str, Any], decoder: Decoder | None = None) -> list[StreamEvent]:
    (event,) = SSEDecoder().feed(wire.event(value))
    return (decoder or Decoder(model=wire.MODEL)).feed(event)


def test_a_reply_of_every_kind_of_part_becomes_the_events_of_the_contract() -> None:
    code = {"executableCode": {"language": "PYTHON", "code": "1"}}
    items = (
        wire.thinking("ab", "c", signature="U0lHMQ=="),
        wire.text("Hel", "lo"),
        wire.text("signed", signature="U0lHMg=="),
        wire.part(**code),
        wire.call("Read", {"path": "x"}, id="id_1", signature="U0lHMw=="),
        wire.call("Read", {}),
        wire.text("", signature="U0lHNA=="),
    )
    usage = Usage(input_tokens=30, output_tokens=9, cache_read_tokens=12, thinking_tokens=4)
    assert decoded(wire.reply(*items, usage=usage)) == [
        MessageStart("resp_1", wire.MODEL, Usage(input_tokens=30, output_tokens=1)),
        BlockStart(0, "thinking"),
        ThinkingDelta(0, "ab"),
        ThinkingDelta(0, "c"),
        SignatureDelta(0, "U0lHMQ=="),
        BlockStop(0),
        BlockStart(1, "text"),
        TextDelta(1, "Hel"),
        TextDelta(1, "lo"),
        BlockStop(1),
        BlockStart(2, "opaque", payload={"thoughtSignature": "U0lHMg==", "on": "text"}),
        BlockStop(2),
        BlockStart(3, "text"),
        TextDelta(3, "signed"),
        BlockStop(3),
        BlockStart(4, "opaque", payload={"part": code}),
        BlockStop(4),
        BlockStart(5, "opaque", payload={"thoughtSignature": "U0lHMw==", "on": "functionCall"}),
        BlockStop(5),
        BlockStart(6, "tool_use", id="id_1", name="Read"),
        InputDelta(6, '{"path": "x"}'),
        BlockStop(6),
        BlockStart(7, "tool_use", id="gemini_call_resp_1_1", name="Read"),
        BlockStop(7),
        BlockStart(8, "opaque", payload={"part": {"text": "", "thoughtSignature": "U0lHNA=="}}),
        BlockStop(8),
        MessageDelta("tool_use", usage),
        MessageStop(),
    ]


def test_blank_signed_text_is_kept_whole_beside_its_block() -> None:
    events = decoded(wire.reply(wire.text("\n\n", signature="U0lH")))
    assert events[1:-2] == [
        BlockStart(0, "opaque", payload={"part": {"text": "\n\n", "thoughtSignature": "U0lH"}}),
        BlockStop(0),
        BlockStart(1, "text"),
        TextDelta(1, "\n\n"),
        BlockStop(1),
    ]


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("STOP", "end_turn"),
        ("MAX_TOKENS", "max_tokens"),
        ("CONTINUATION", "max_tokens"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("SPII", "content_filter"),
        ("MALFORMED_FUNCTION_CALL", "malformed_call"),
        ("UNEXPECTED_TOOL_CALL", "malformed_call"),
        ("MISSING_THOUGHT_SIGNATURE", "other"),
        ("FOO", "other"),
    ],
)
def test_finish_reasons_are_mapped_and_the_odd_ones_named(told: str, meant: str) -> None:
    detail = None if meant in ("end_turn", "max_tokens") else told
    usage = Usage(input_tokens=10, output_tokens=5)
    events = decoded(wire.reply(wire.text("x"), finish=told))
    assert events[-2:] == [MessageDelta(meant, usage, detail), MessageStop()]  # type: ignore[arg-type]


def test_a_filter_says_what_it_found() -> None:
    rated = {
        "finishMessage": "Not this.",
        "safetyRatings": [
            {"category": "HARM_CATEGORY_A", "probability": "LOW"},
            {"category": "HARM_CATEGORY_B", "probability": "HIGH", "blocked": True},
        ],
    }
    (delta,) = [
        event
        for event in decoded(wire.reply(finish="SAFETY", candidate=rated))
        if isinstance(event, MessageDelta)
    ]
    assert delta.detail == "SAFETY (HARM_CATEGORY_B): Not this."


def test_the_counts_may_come_after_the_end_or_never_and_the_last_ones_hold() -> None:
    late = wire.event({"candidates": [], "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4}})
    usage = Usage(input_tokens=3, output_tokens=4)
    assert decoded([*wire.reply(wire.text("x")), late])[-2] == MessageDelta("end_turn", usage)
    bare = {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]}
    assert decoded([wire.event(bare)])[-2] == MessageDelta("end_turn", None)


def test_counts_of_the_quick_way_are_read_when_no_later_ones_come() -> None:
    pieces = wire.reply(wire.text("a", "b", "c"), usage=Usage(input_tokens=7, output_tokens=90), finish=None)
    end = wire.event({"candidates": [{"finishReason": "STOP", "index": 0}]})
    assert decoded([*pieces, end])[-2] == MessageDelta("end_turn", Usage(input_tokens=7, output_tokens=3))


def test_a_count_that_a_later_event_leaves_out_is_kept() -> None:
    pieces = wire.reply(wire.text("a", "b", "c"), usage=Usage(input_tokens=7, output_tokens=90), finish=None)
    early = wire.event({"candidates": [], "usageMetadata": {"promptTokenCount": 7, "thoughtsTokenCount": 5}})
    end = {"candidates": [{"finishReason": "STOP", "index": 0}], "usageMetadata": {"promptTokenCount": 7}}
    usage = Usage(input_tokens=7, output_tokens=8, thinking_tokens=5)
    assert decoded([early, *pieces, wire.event(end)])[-2] == MessageDelta("end_turn", usage)


def test_a_finish_reason_with_every_event_ends_nothing_early() -> None:
    pieces = [wire.chunk({"text": text}, candidate={"finishReason": "STOP"}) for text in "abc"]
    assert [event.text for event in decoded(pieces) if isinstance(event, TextDelta)] == ["a", "b", "c"]


def test_a_snapshot_or_an_alias_is_called_as_it_was_asked_for() -> None:
    def model(asked: str, told: str) -> str:
        start = decoded(wire.reply(wire.text("x"), model=told), Decoder(model=asked))[0]
        assert isinstance(start, MessageStart)
        return start.model

    assert model("gemini-3.8-flash", "gemini-3.8-flash-001") == "gemini-3.8-flash"
    assert model("models/gemini-3.8-flash", "gemini-3.8-flash") == "models/gemini-3.8-flash"
    assert model("gemini-flash-latest", "gemini-3.8-flash") == "gemini-flash-latest"
    assert model("gemini-3.5-flash", "gemini-3.6-flash") == "gemini-3.6-flash"
    assert model("gemini-3.8-flash", "") == "gemini-3.8-flash"


def test_names_of_tools_are_mapped_back() -> None:
    decoder = Decoder(model=wire.MODEL, names={"mcp_1": "mcp 1"})
    starts = list(decoded(wire.reply(wire.call("mcp_1", id="a")), decoder))
    assert BlockStart(0, "tool_use", id="a", name="mcp 1") in starts


def test_a_call_without_a_name_is_none() -> None:
    assert decoded(wire.reply(wire.call("")))[1:-2] == []


@pytest.mark.parametrize(
    ("body", "kind", "retry_after_s"),
    [
        (wire.error(503, "UNAVAILABLE", "overloaded"), Overloaded, None),
        (wire.error(429, "RESOURCE_EXHAUSTED", "Slow down.", retry_delay="2.5s"), RateLimited, 2.5),
        (wire.error(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota"), RateLimited, None),
        (wire.error(500, "INTERNAL", "Oops"), ServerError, None),
        (wire.error(504, "DEADLINE_EXCEEDED", "Late"), ServerError, None),
        (wire.error(400, "INVALID_ARGUMENT", "No."), InvalidRequest, None),
        (wire.error(400, "INVALID_ARGUMENT", "No.", reason="API_KEY_INVALID"), AuthenticationError, None),
        (
            wire.error(
                400,
                "INVALID_ARGUMENT",
                "The input token count (9) exceeds the maximum number of tokens allowed (8).",
            ),
            ContextTooLong,
            None,
        ),
        ({"error": {"status": "UNAVAILABLE"}}, Overloaded, None),
        ({"error": "what"}, ServerError, None),
        ({"error": None}, ServerError, None),
    ],
)
def test_an_error_inside_the_stream_is_classified(
    body: dict[str, Any], kind: type[ProviderError], retry_after_s: float | None
) -> None:
    with pytest.raises(ProviderError) as raised:
        one(body)
    assert type(raised.value) is kind
    assert raised.value.retry_after_s == retry_after_s


@pytest.mark.parametrize("data", [b"{", b"[]", b"7", b'"x"', b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(BadResponse):
        Decoder().feed(SSEEvent("message", data))


ODD: list[Any] = [None, 7, "x", [], {}, [None], [7], [{}], [[]], {"parts": 7}, [{"content": {"parts": {}}}]]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize(
    "name", ["candidates", "promptFeedback", "usageMetadata", "modelVersion", "responseId"]
)
def test_members_of_the_wrong_kind_are_passed_over(name: str, odd: Any) -> None:
    decoder = Decoder(model=wire.MODEL)
    (start,) = one({"candidates": [], name: odd}, decoder)
    assert isinstance(start, MessageStart)
    with pytest.raises(StreamInterrupted):
        decoder.finish()


@pytest.mark.parametrize(
    "part", [None, 7, {}, {"text": 7}, {"functionCall": {"name": 7}}, {"functionCall": []}]
)
def test_odd_parts_raise_nothing(part: Any) -> None:
    candidate = {"content": {"parts": [part, {"text": "x"}]}, "finishReason": "STOP"}
    assert TextDelta in map(type, decoded([wire.event({"candidates": [candidate]})]))


def test_arguments_of_the_wrong_kind_are_kept_as_text() -> None:
    call = {"functionCall": {"name": "Read", "args": ["x"]}}
    candidate = {"content": {"parts": [call]}, "finishReason": "STOP"}
    assert InputDelta(0, '["x"]') in decoded([wire.event({"candidates": [candidate]})])


def test_only_the_first_candidate_is_read() -> None:
    def candidate(index: int, text: str) -> dict[str, Any]:
        return {"index": index, "content": {"parts": [{"text": text}]}, "finishReason": "STOP"}

    events = decoded([wire.event({"candidates": [candidate(1, "no"), candidate(0, "yes")]})])
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["yes"]


def test_the_quick_way_takes_nothing_that_says_more_than_text() -> None:
    """After two plain pieces the third, of the same beginning, ends the reply or fails it."""
    begun = wire.reply(wire.text("a", "b"), finish=None)
    for text in ('c"}],"role": "model"},"finishReason": "STOP"', "\\", '"', "{}]"):
        sly = wire.reply(wire.text("a", "b", text), finish="STOP")
        events = decoded(sly)
        assert [e.text for e in events if isinstance(e, TextDelta)] == ["a", "b", text]
    last = wire.chunk({"text": "c"}, candidate={"finishReason": "MAX_TOKENS"})
    assert decoded([*begun, last])[-2] == MessageDelta("max_tokens", Usage(input_tokens=10, output_tokens=2))
    signed = wire.chunk({"text": "c", "thoughtSignature": "U0lH"}, candidate={"finishReason": "STOP"})
    kinds = [event.kind for event in decoded([*begun, signed]) if isinstance(event, BlockStart)]
    assert kinds == ["text", "opaque", "text"]


@pytest.mark.parametrize("odd", [{}, {"candidates": 5}, {"candidates": [None]}, {"candidates": -0.0}])
def test_an_event_with_counts_only_may_come_between_pieces_of_text(odd: dict[str, Any]) -> None:
    decoder = Decoder(model=wire.MODEL)
    one({"candidates": [{"content": {"parts": [{"text": "a"}]}}]}, decoder)
    assert one({**odd, "usageMetadata": {"promptTokenCount": 3}}, decoder) == []
    assert one({"candidates": [{"content": {"parts": [{"text": "b"}]}}]}, decoder) == [TextDelta(0, "b")]


def test_an_end_without_a_reason_was_an_interruption() -> None:
    for events in ([], wire.reply(wire.text("x"), finish=None), [wire.event({"candidates": []})]):
        with pytest.raises(StreamInterrupted):
            decoded(events)


@pytest.mark.parametrize("levels", [300, 100_000])
def test_arguments_that_are_nested_without_end_are_no_call_without_arguments(levels: int) -> None:
    deep: dict[str, Any] = {}
    for _ in range(levels):
        deep = {"a": deep}
    input, raw = decode_input(_text_of(deep))
    assert not input and raw
