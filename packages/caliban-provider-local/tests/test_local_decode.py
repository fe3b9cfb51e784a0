"""From the runtime's chunks to stream events."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_common.message import TextBlock, ThinkingBlock, ToolUseBlock
from caliban_common.remedy import Remedy
from caliban_common.usage import Usage
from caliban_provider.assemble import Assembler
from caliban_provider.errors import (
    BadResponse,
    ContextTooLong,
    InvalidRequest,
    ProviderError,
    StreamInterrupted,
)
from caliban_provider.stream import (
    BlockStart,
    BlockStop,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamEvent,
    TextDelta,
)
from caliban_provider.testing.contract import assert_order
from caliban_provider_local.calls import ReplyForm
from caliban_provider_local.decode import WINDOW_HINT, ChunkDecoder


def decode(
    chunks: list[dict[str, Any]], form: ReplyForm = "plain", *, max_tokens: int = 3
) -> list[StreamEvent]:
    decoder = ChunkDecoder(model="m", reply_form=form, max_tokens=max_tokens, context_tokens=64)
    events = [event for chunk in chunks for event in decoder.feed(chunk)]
    return events + decoder.close()


def folded(events: list[StreamEvent]) -> Assembler:
    assert_order(events)
    assembler = Assembler()
    for event in events:
        assembler.add(event)
    return assembler


def test_a_text_reply_becomes_one_block_with_its_usage(wire: Any) -> None:
    progress = {**wire.delta(role="assistant", content=None), "prompt_progress": {"total": 7, "processed": 7}}
    chunks = [progress, wire.delta(content="He"), wire.delta(content="llo"), *wire.finish("stop")]
    assert decode(chunks) == [
        MessageStart(id="chatcmpl-1", model="m"),
        BlockStart(0, "text"),
        TextDelta(0, "He"),
        TextDelta(0, "llo"),
        BlockStop(0),
        MessageDelta(
            stop_reason="end_turn", usage=Usage(input_tokens=7, output_tokens=3, cache_read_tokens=2)
        ),
        MessageStop(),
    ]


def test_reasoning_stands_in_a_block_of_its_own(wire: Any) -> None:
    chunks = [wire.delta(reasoning_content="hmm"), wire.delta(content="yes"), *wire.finish("stop")]
    assert folded(decode(chunks)).message("local", "m").content == (
        ThinkingBlock(text="hmm"),
        TextBlock(text="yes"),
    )


@pytest.mark.parametrize(
    ("reason", "written", "stop"),
    [
        ("stop", 3, "end_turn"),
        ("length", 3, "max_tokens"),
        ("length", 2, "context_window"),
        ("odd", 1, "other"),
    ],
)
def test_the_end_of_a_reply_is_told_by_its_reason(wire: Any, reason: str, written: int, stop: str) -> None:
    assert folded(decode(wire.finish(reason, written=written))).stop_reason == stop


def test_our_form_becomes_a_call(wire: Any) -> None:
    pieces = ['{"tool": "Re', 'ad", "arguments": {"pa', 'th": "a"}', "}"]
    reply = folded(decode([*(wire.delta(content=piece) for piece in pieces), *wire.finish("stop")], "form"))
    assert reply.message("local", "m").content == (
        ToolUseBlock(id="call_1_0", name="Read", input={"path": "a"}),
    )
    assert reply.stop_reason == "tool_use"


def test_our_form_becomes_an_answer(wire: Any) -> None:
    chunks = [wire.delta(content='{"answer": "Pa'), wire.delta(content='ris"}'), *wire.finish("stop")]
    events = decode(chunks, "form")
    assert [event for event in events if isinstance(event, TextDelta)] == [
        TextDelta(0, "Pa"),
        TextDelta(0, "ris"),
    ]
    assert folded(events).stop_reason == "end_turn"
    raw = decode([wire.delta(content='{"answer": {"n": 1}}'), *wire.finish("stop")], "raw_form")
    assert folded(raw).message("local", "m").text == '{"n": 1}'


def test_a_call_cut_short_keeps_what_came(wire: Any) -> None:
    chunks = [wire.delta(content='{"tool": "Read", "arguments": {"path": "a'), *wire.finish("length")]
    reply = folded(decode(chunks, "form"))
    assert reply.message("local", "m").content == (
        ToolUseBlock(id="call_1_0", name="Read", input={}, raw_input='{"path": "a'),
    )
    assert reply.stop_reason == "max_tokens"


def test_calls_that_the_runtime_reads_stream_their_arguments(wire: Any) -> None:
    def call(index: int, arguments: str, **begin: str) -> dict[str, Any]:
        function = {"arguments": arguments, **({"name": begin["name"]} if begin else {})}
        return {"index": index, "function": function, **({"id": begin["id"]} if begin.get("id") else {})}

    chunks = [
        wire.delta(content="I look."),
        wire.delta(tool_calls=[call(0, '{"pa', id="x1", name="Read")]),
        wire.delta(tool_calls=[call(0, 'th": "a"}')]),
        wire.delta(tool_calls=[call(1, "{}", name="List")]),
        *wire.finish("tool_calls"),
    ]
    reply = folded(decode(chunks, "native"))
    assert reply.message("local", "m").content == (
        TextBlock(text="I look."),
        ToolUseBlock(id="x1", name="Read", input={"path": "a"}),
        ToolUseBlock(id="call_1_2", name="List", input={}),
    )
    assert reply.stop_reason == "tool_use"


def test_a_prompt_that_is_too_long_is_refused_with_the_numbers() -> None:
    error = {"code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 6031, "n_ctx": 4096}
    with pytest.raises(ContextTooLong) as caught:
        decode([{"error": error}])
    assert caught.value.message == "the prompt has 6031 tokens, but the local model's window holds 4096"
    assert (caught.value.hint, caught.value.remedy) == (WINDOW_HINT, Remedy(kind="local_window"))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({"code": 400, "message": "no"}, InvalidRequest),
        ({"code": 500, "message": "odd output", "type": "server_error"}, BadResponse),
        ("odd", BadResponse),
    ],
)
def test_an_error_in_the_stream_is_raised(error: Any, expected: type[ProviderError]) -> None:
    with pytest.raises(expected):
        decode([{"error": error}])


def test_a_reply_without_an_end_was_interrupted(wire: Any) -> None:
    with pytest.raises(StreamInterrupted):
        decode([wire.delta(content="He")])
