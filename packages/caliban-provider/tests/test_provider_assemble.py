from __future__ import annotations

import json
import time

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.message import (
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolUseBlock,
)
from caliban_common.usage import Usage
from caliban_provider.assemble import Assembler, decode_input
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
from caliban_provider.testing.contract import ask, collect
from caliban_provider.testing.scripted import Reply, ScriptedProvider
from caliban_provider.testing.strategies import assistant_messages


def folded(*events: StreamEvent) -> Assembler:
    assembler = Assembler()
    for event in events:
        assembler.add(event)
    return assembler


def content(*events: StreamEvent) -> tuple[object, ...]:
    return folded(*events).message("f", "m").content


def test_a_reply_becomes_one_message_with_its_facts() -> None:
    reply = folded(
        MessageStart(id="msg_1", model="real-model", usage=Usage(input_tokens=9)),
        BlockStart(0, "thinking"),
        ThinkingDelta(0, "hm"),
        ThinkingDelta(0, "m"),
        SignatureDelta(0, "first"),
        SignatureDelta(0, "SIG"),
        BlockStop(0),
        BlockStart(1, "redacted_thinking", data="XYZ"),
        BlockStop(1),
        BlockStart(2, "text", text="He"),
        TextDelta(2, "llo"),
        BlockStop(2),
        BlockStart(3, "tool_use", id="c1", name="Read"),
        InputDelta(3, ""),
        InputDelta(3, '{"path": '),
        InputDelta(3, '"x"}'),
        BlockStop(3),
        BlockStart(4, "opaque", payload={"a": 1}),
        BlockStop(4),
        MessageDelta(stop_reason="tool_use", usage=Usage(input_tokens=9, output_tokens=4)),
        MessageDelta(detail="why"),
        MessageStop(),
    )
    assert reply.message("anthropic", "asked-for", id="m1") == Message(
        role="assistant",
        id="m1",
        family="anthropic",
        model="real-model",
        content=(
            ThinkingBlock(text="hmm", signature="SIG"),
            RedactedThinkingBlock(data="XYZ"),
            TextBlock(text="Hello"),
            ToolUseBlock(id="c1", name="Read", input={"path": "x"}),
            OpaqueBlock(family="anthropic", data={"a": 1}),
        ),
    )
    facts = (reply.id, reply.model, reply.stop_reason, reply.detail, reply.complete, reply.has_content)
    assert facts == ("msg_1", "real-model", "tool_use", "why", True, True)
    assert reply.usage == Usage(input_tokens=9, output_tokens=4)


def test_nothing_received_is_an_empty_message() -> None:
    reply = Assembler()
    empty = Message(role="assistant", content=(), id="m1", family="f", model="m")
    assert reply.message("f", "m", id="m1") == empty
    assert (reply.has_content, reply.complete, reply.stop_reason, reply.usage) == (
        False,
        False,
        None,
        Usage(),
    )


def test_blocks_that_grow_in_turns_keep_their_own_pieces() -> None:
    assert content(
        BlockStart(1, "tool_use", id="a", name="A"),
        BlockStart(2, "tool_use", id="b", name="B"),
        InputDelta(1, '{"n"'),
        InputDelta(2, '{"m"'),
        InputDelta(1, ": 1}"),
        InputDelta(2, ": 2}"),
        BlockStop(2),
        BlockStop(1),
    ) == (ToolUseBlock(id="a", name="A", input={"n": 1}), ToolUseBlock(id="b", name="B", input={"m": 2}))


def test_a_block_is_handed_over_when_it_is_complete() -> None:
    assembler = Assembler()
    assert assembler.add(BlockStart(0, "tool_use", id="a", name="A")) is None
    assert assembler.add(InputDelta(0, "{}")) is None
    assert assembler.add(BlockStop(0)) == ToolUseBlock(id="a", name="A", input={})
    assert assembler.add(BlockStop(0)) is None
    assert assembler.add(BlockStart(1, "text")) is None
    assert assembler.add(BlockStop(1)) is None
    assert assembler.add(BlockStart(2, "opaque", payload={})) is None
    assert assembler.add(BlockStop(2)) is None


@pytest.mark.parametrize(
    ("text", "input", "raw_input"),
    [
        ("", {}, None),
        (" \n", {}, None),
        ("{}", {}, None),
        ('{"a": {"b": [1]}}', {"a": {"b": [1]}}, None),
        ('{"a": 1', {}, '{"a": 1'),
        ("[1]", {}, "[1]"),
        ("null", {}, None),
        ('{}{"a": 1}', {"a": 1}, None),
        ('null\n{"a": 1}', {"a": 1}, None),
        ('{"a": 1}{"a": 1}', {"a": 1}, None),
        ("{}[1]", {}, "{}[1]"),
        ('{}{"a": 1', {}, '{}{"a": 1'),
        ('"text"', {}, '"text"'),
        ('{"a": NaN}', {}, '{"a": NaN}'),
        ('{"a": -Infinity}', {}, '{"a": -Infinity}'),
        ('{"a": 1}{"b": 2}', {}, '{"a": 1}{"b": 2}'),
        ('{"a": ' * 100_000, {}, '{"a": ' * 100_000),
        ('{"a": ' + "9" * 5000 + "}", {}, '{"a": ' + "9" * 5000 + "}"),
    ],
)
def test_input_that_is_no_object_is_kept_as_text(
    text: str, input: dict[str, object], raw_input: str | None
) -> None:
    assert content(BlockStart(0, "tool_use", id="c", name="T"), InputDelta(0, text)) == (
        ToolUseBlock(id="c", name="T", input=input, raw_input=raw_input),
    )


@given(st.text(max_size=60) | st.from_regex(r'[\[\]{}":,\\a0-9\s-]{0,60}', fullmatch=True))
def test_any_text_is_either_an_object_or_kept(text: str) -> None:
    input, raw_input = decode_input(text)
    assert raw_input is None or (raw_input == text and input == {})
    json.dumps(dict(input), allow_nan=False)


@pytest.mark.parametrize(
    "events",
    [
        [BlockStart(0, "text"), BlockStop(0)],
        [BlockStart(0, "text"), TextDelta(0, ""), BlockStop(0)],
        [BlockStart(0, "thinking"), BlockStop(0)],
        [BlockStart(0, "redacted_thinking"), BlockStop(0)],
        [BlockStart(0, "tool_use"), InputDelta(0, "{}"), BlockStop(0)],
        [BlockStop(7)],
        [MessageDelta(), MessageStop()],
    ],
)
def test_what_is_nothing_is_left_out(events: list[StreamEvent]) -> None:
    assert content(*events) == ()


def test_a_signature_without_text_is_kept() -> None:
    assert content(BlockStart(0, "thinking"), SignatureDelta(0, "S")) == (
        ThinkingBlock(text="", signature="S"),
    )


def test_a_call_with_only_a_name_or_only_an_id_is_kept() -> None:
    assert content(BlockStart(0, "tool_use", name="A"), BlockStart(1, "tool_use", id="b")) == (
        ToolUseBlock(id="", name="A", input={}),
        ToolUseBlock(id="b", name="", input={}),
    )


def test_blocks_that_nobody_began_or_ended_are_still_received() -> None:
    assert content(TextDelta(0, "a"), TextDelta(0, "b"), ThinkingDelta(0, "c"), TextDelta(1, "d")) == (
        TextBlock(text="ab"),
        ThinkingBlock(text="c"),
        TextBlock(text="d"),
    )


def test_an_index_that_begins_again_is_another_block() -> None:
    assert content(
        BlockStart(0, "text"), TextDelta(0, "a"), BlockStop(0), BlockStart(0, "text"), TextDelta(0, "b")
    ) == (TextBlock(text="a"), TextBlock(text="b"))


@pytest.mark.parametrize(
    ("event", "has_content"),
    [
        (MessageStart(id="x"), False),
        (BlockStart(0, "text"), False),
        (BlockStart(0, "thinking"), False),
        (TextDelta(0, ""), False),
        (BlockStart(0, "text", text="a"), True),
        (TextDelta(0, "a"), True),
        (ThinkingDelta(0, "a"), True),
        (BlockStart(0, "tool_use", id="a", name="b"), True),
        (BlockStart(0, "redacted_thinking", data="a"), True),
        (MessageDelta(stop_reason="end_turn"), False),
    ],
)
def test_content_is_only_what_the_model_said(event: StreamEvent, has_content: bool) -> None:
    assert folded(event).has_content is has_content


def test_what_was_told_first_stays_unless_it_is_told_again() -> None:
    reply = folded(
        MessageStart(id="a", model="m1", usage=Usage(input_tokens=5)),
        MessageDelta(stop_reason="end_turn"),
        MessageDelta(usage=Usage(input_tokens=6)),
        MessageStart(),
    )
    assert (reply.id, reply.model, reply.stop_reason, reply.usage) == (
        "a",
        "m1",
        "end_turn",
        Usage(input_tokens=6),
    )


def test_a_message_can_be_read_while_it_grows() -> None:
    assembler = folded(BlockStart(0, "text"), TextDelta(0, "a"))
    assert assembler.message("f", "m").text == "a"
    assembler.add(TextDelta(0, "b"))
    assert assembler.message("f", "m").text == "ab"


@given(message=assistant_messages(), piece_chars=st.integers(1, 9))
def test_a_message_survives_being_streamed(message: Message, piece_chars: int) -> None:
    provider = ScriptedProvider([Reply(blocks=message.content, piece_chars=piece_chars)])
    events = anyio.run(collect, provider, ask("x", model="test-1"))
    assert folded(*events).message("test", "m", id=message.id) == message


def test_the_time_for_a_delta_does_not_grow_with_the_reply() -> None:
    def seconds(deltas: int) -> float:
        assembler = Assembler()
        delta = TextDelta(0, "abcd")
        start = time.process_time()
        for _ in range(deltas):
            assembler.add(delta)
        assert len(assembler.message("f", "m").text) == 4 * deltas
        return time.process_time() - start

    small = min(seconds(2000) for _ in range(3))
    # Quadratic growth would be a factor of 2500.
    assert seconds(100_000) < 1000 * max(small, 0.0001)


def test_a_call_that_is_listed_twice_is_one_call_and_one_with_another_id_or_input_is_another() -> None:
    def call(index: int, id: str, text: str) -> tuple[StreamEvent, ...]:
        return BlockStart(index, "tool_use", id=id, name="T"), InputDelta(index, text), BlockStop(index)

    listed = (*call(0, "c", '{"a":1}'), *call(1, "c", '{"a": 1}'), *call(2, "d", '{"a":1}'))
    assert content(*listed, *call(3, "c", '{"a":2}')) == (
        ToolUseBlock(id="c", name="T", input={"a": 1}),
        ToolUseBlock(id="d", name="T", input={"a": 1}),
        ToolUseBlock(id="c", name="T", input={"a": 2}),
    )


@pytest.mark.parametrize("depth", [1, 199, 200, 201, 900, 5_000, 200_000])
@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]")])
def test_arguments_that_are_nested_deeper_than_anybody_goes_are_no_object(depth, opening, closing) -> None:
    text = '{"a":' + opening * (depth - 1) + "1" + closing * (depth - 1) + "}"
    input, raw = decode_input(text)
    assert (bool(input), raw) == ((True, None) if depth <= 200 else (False, text))
