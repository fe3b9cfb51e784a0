"""The reply's state machine, line by line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from caliban_common.usage import Usage
from caliban_provider.errors import (
    BadResponse,
    ContextTooLong,
    ModelUnavailable,
    Overloaded,
    ProviderError,
    ServerError,
    StreamInterrupted,
)
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider_ollama.decode import Decoder
from caliban_provider_ollama.names import made_id
from caliban_provider_ollama.testing import wire


def decoded(lines: list[bytes], decoder: Decoder | None = None) -> list[StreamEvent]:
    decoder = decoder or Decoder(model=wire.MODEL)
    out = [event for line in lines for event in decoder.feed(line.rstrip(b"\n"))]
    decoder.finish()
    return out


def test_a_reply_of_every_kind_of_piece_becomes_the_events_of_the_contract() -> None:
    items = (
        wire.thinking("hm", "m"),
        wire.text("Hel", "lo", "!"),
        wire.together(wire.call("Read", {"path": "ü"}), wire.call("Bash")),
        wire.call("Read", {}, id="call_x"),
    )
    made = [f"call_202611281000001_{place}" for place in (0, 1)]
    assert decoded(wire.reply(*items)) == [
        MessageStart(model=wire.MODEL),
        BlockStart(0, "thinking"),
        ThinkingDelta(0, "hm"),
        ThinkingDelta(0, "m"),
        BlockStop(0),
        BlockStart(1, "text"),
        TextDelta(1, "Hel"),
        TextDelta(1, "lo"),
        TextDelta(1, "!"),
        BlockStop(1),
        BlockStart(2, "tool_use", id=made[0], name="Read"),
        InputDelta(2, '{"path": "ü"}'),
        BlockStop(2),
        BlockStart(3, "tool_use", id=made[1], name="Bash"),
        BlockStop(3),
        BlockStart(4, "tool_use", id="call_x", name="Read"),
        BlockStop(4),
        MessageDelta("tool_use", Usage(input_tokens=10, output_tokens=5)),
        MessageStop(),
    ]


@pytest.mark.parametrize(
    ("told", "stop", "detail"),
    [
        ("stop", "end_turn", None),
        ("", "end_turn", None),
        ("length", "max_tokens", None),
        ("load", "other", "the server loaded the model and wrote nothing"),
        ("unload", "other", "the server ended the reply: unload"),
    ],
)
def test_done_reasons_are_mapped(told: str, stop: Any, detail: str | None) -> None:
    usage = Usage(input_tokens=10, output_tokens=5)
    assert decoded(wire.reply(wire.text("x"), done_reason=told))[-2:] == [
        MessageDelta(stop, usage, detail),
        MessageStop(),
    ]


def test_missing_counts_are_none() -> None:
    assert decoded(wire.reply(wire.text("x"), usage=None))[-2] == MessageDelta("end_turn", Usage())


def test_the_last_line_may_hold_text_and_what_follows_is_skipped() -> None:
    end = json.loads(wire.last())
    end["message"]["content"] = "all"
    events = decoded([json.dumps(end).encode(), b"rubbish", wire.error_line("late")])
    assert TextDelta(0, "all") in events


def test_a_model_is_called_as_it_was_asked_for() -> None:
    def model(asked: str, told: str) -> str:
        start = decoded(wire.reply(model=told), Decoder(model=asked))[0]
        assert isinstance(start, MessageStart)
        return start.model

    assert model("llama3.1", "llama3.1:latest") == "llama3.1"
    assert model("llama3.1", "") == "llama3.1"
    assert model("llama3.1", "qwen3") == "qwen3"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("an error was encountered while running the model: CUDA out of memory", ServerError),
        ("server busy, please try again.  maximum pending requests exceeded", Overloaded),
        ("model 'x' not found", ModelUnavailable),
        ("the input length exceeds the context length", ContextTooLong),
        ("", ServerError),
    ],
)
def test_an_error_in_the_middle_is_classified(message: str, kind: type[ProviderError]) -> None:
    with pytest.raises(ProviderError) as raised:
        decoded([*wire.reply(wire.text("a", "b"), done_reason=None), wire.error_line(message)])
    assert type(raised.value) is kind


@pytest.mark.parametrize("line", [b'{"error":null}', b'{"error":{"message":"x"}}', b'{"error":7}'])
def test_odd_errors_are_errors_too(line: bytes) -> None:
    with pytest.raises(ServerError):
        decoded([line])


@pytest.mark.parametrize("line", [b"{", b"[]", b"7", b"\xff", b"data: {}", b"[" * 100_000])
def test_what_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(BadResponse):
        Decoder().feed(line)


@pytest.mark.parametrize(
    "message",
    [
        None,
        7,
        [],
        {},
        {"content": 7},
        {"content": None, "thinking": []},
        {"tool_calls": 7},
        {"tool_calls": [7, {}]},
        {"tool_calls": [{"function": 7}, {"function": {"name": ""}}]},
    ],
)
def test_members_of_the_wrong_kind_are_passed_over(message: Any) -> None:
    line = json.dumps({"model": wire.MODEL, "message": message, "done": False}).encode()
    events = decoded([line, *wire.reply(wire.text("x"))])
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["x"]


def test_arguments_may_come_as_text() -> None:
    line = wire.line({"tool_calls": [{"function": {"name": "Read", "arguments": '{"a":1}'}}]})
    assert InputDelta(0, '{"a":1}') in decoded([line, wire.last()])


def test_an_end_without_the_last_line_was_an_interruption() -> None:
    for lines in ([], wire.reply(wire.text("x"), done_reason=None)):
        with pytest.raises(StreamInterrupted):
            decoded(lines)


def test_the_quick_way_takes_nothing_that_says_more_than_text() -> None:
    sly = ('"},"done":false}', "\\", '"', '"message":{"role":"assistant","content":"')
    for text in sly:
        events = decoded(wire.reply(wire.text("a", "b", text)))
        assert [event.text for event in events if isinstance(event, TextDelta)] == ["a", "b", text]
    begun = wire.reply(wire.text("a", "b"), done_reason=None)
    for more in ({"thinking": "hm"}, {"tool_calls": [{"function": {"name": "Read"}}]}):
        kinds = [
            event.kind
            for event in decoded([*begun, wire.line({"content": "c", **more}), wire.last()])
            if isinstance(event, BlockStart)
        ]
        assert len(kinds) > 1
    with pytest.raises(BadResponse):
        decoded([*begun, wire.line({"content": "c"})[:-4]])


def test_ids_are_made_from_the_time_of_the_reply() -> None:
    assert made_id("2026-11-28T10:00:00.5Z", 2) == "call_202611281000005_2"
    assert made_id("", 0) == "call_0"
