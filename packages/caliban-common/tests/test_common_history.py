from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from common_strategies import (
    ID,
    any_text,
    assistant,
    call,
    damaged_histories,
    messages,
    prose,
    reply,
    result,
    results,
    system,
    user,
    valid_histories,
)
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from caliban_common.codec import block_to_json
from caliban_common.history import (
    INTERRUPTED,
    Repairer,
    TargetModel,
    close_open_calls,
    interrupted,
    is_same_model,
    repair,
)
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
)

READER = TargetModel(family="anthropic", model="m", max_images=2)
anything = damaged_histories() | st.lists(messages(any_text, finite=False), max_size=8).map(tuple)


def assert_sendable(history: Sequence[Message], reader: TargetModel) -> None:
    """The law of `caliban_common.history`."""
    roles = [message.role for message in history]
    assert "system" not in roles[roles.count("system") :], "system messages only lead"
    ids = [block.id for message in history for block in message.tool_uses]
    assert all(ids), "no call without an id"
    assert len(set(ids)) == len(ids), "ids of calls are unique"
    expected: list[str] = []
    for message in history:
        assert message.content, "no empty message"
        answers = [block.tool_use_id for block in message.content[: len(expected)] if _is_result(block)]
        assert answers == expected, "each call is answered once, in order, ahead of anything else"
        assert not any(map(_is_result, message.content[len(expected) :])), "no result without its call"
        assert not expected or message.role == "user"
        expected = [block.id for block in message.tool_uses]
        for block in message.content:
            _assert_block(block, message, reader)
    assert not expected, "the last calls are answered too"
    assert sum(map(_images, history)) <= reader.max_images


def _assert_block(block: Block, message: Message, reader: TargetModel) -> None:
    own = message.role == "assistant" and (message.family, message.model) == (reader.family, reader.model)
    if isinstance(block, TextBlock | ToolUseBlock | ToolResultBlock):
        parts = block.content if isinstance(block, ToolResultBlock) else (block,)
        texts = [block_to_json(part) for part in parts if not isinstance(part, ImageBlock)]
        json.dumps(texts, ensure_ascii=False, allow_nan=False).encode("utf-8")
    match block:
        case TextBlock():
            assert block.text.strip()
        case ToolUseBlock():
            assert message.role == "assistant"
            assert block.name.strip()
        case ToolResultBlock():
            assert message.role == "user"
            assert block.content
            assert all(part.text.strip() for part in block.content if isinstance(part, TextBlock))
        case ThinkingBlock():
            assert own
            assert block.signature is not None
        case RedactedThinkingBlock():
            assert own
        case OpaqueBlock():
            assert own
            assert block.family == reader.family
        case _:
            assert message.role != "system"


def _is_result(block: Block) -> bool:
    return isinstance(block, ToolResultBlock)


def _images(message: Message) -> int:
    parts = [part for block in message.tool_results for part in block.content]
    return sum(isinstance(block, ImageBlock) for block in (*message.content, *parts))


@given(anything)
def test_whatever_happened_to_a_history_what_leaves_is_valid(history: tuple[Message, ...]) -> None:
    assert_sendable(repair(history, READER), READER)


@given(anything)
def test_repair_is_idempotent(history: tuple[Message, ...]) -> None:
    once = repair(history, READER)
    assert repair(once, READER) is once


@given(valid_histories())
def test_a_history_that_needs_nothing_comes_back_as_the_same_object(history: tuple[Message, ...]) -> None:
    assert repair(history, READER) is history
    assert repair(list(history), READER) == history


@given(valid_histories(), st.data())
def test_a_cut_history_keeps_every_call_and_every_word(
    history: tuple[Message, ...], data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(history)))
    part = history[start : data.draw(st.integers(start, len(history)))]
    fixed = repair(part, READER)
    assert [m.tool_uses for m in fixed if m.tool_uses] == [m.tool_uses for m in part if m.tool_uses]
    assert [m.text for m in fixed if m.text] == [m.text for m in part if m.text]


@given(anything, st.data())
def test_a_growing_history_is_repaired_as_if_it_came_at_once(
    history: tuple[Message, ...], data: st.DataObject
) -> None:
    repairer = Repairer(READER)
    sizes = sorted(data.draw(st.lists(st.integers(0, len(history)), max_size=5)))
    for size in (*sizes, len(history)):
        assert repairer.view(history[:size]) == repair(history[:size], READER)


@given(st.lists(anything, min_size=1, max_size=4), st.data())
def test_a_history_that_is_rewritten_is_repaired_as_if_it_were_new(
    histories: list[tuple[Message, ...]], data: st.DataObject
) -> None:
    repairer = Repairer(READER)
    for history in histories:
        size = data.draw(st.integers(0, len(history)))
        other = data.draw(st.sampled_from(histories))
        mixed = list(other[:size]) + list(history[size:])
        assert repairer.view(mixed) == repair(mixed, READER)


def test_a_growing_history_keeps_the_objects_it_was_sent_with() -> None:
    history = (user("a"), reply(call("")), results(result("")), assistant("b"), user("c"))
    repairer = Repairer(READER)
    before = repairer.view(history)
    after = repairer.view((*history, assistant("d")))
    assert all(old is new for old, new in zip(before, after, strict=False))


def test_an_interrupted_first_tool_takes_a_new_prompt_b081() -> None:
    history = (user("go"), reply(call("t1")), user("something else"))
    answered = replace(history[2], content=(interrupted("t1"), TextBlock(text="something else")))
    assert repair(history, READER) == (*history[:2], answered)


def test_calls_at_the_end_are_answered_in_a_message_of_their_own() -> None:
    history = (user("go"), reply(call("t1"), call("t2")))
    assert repair(history, READER) == (
        *history,
        replace(results(interrupted("t1"), interrupted("t2")), id=f"{ID}-answer"),
    )
    assert close_open_calls(history, new_id=lambda: f"{ID}-answer") == repair(history, READER)
    assert close_open_calls((user("go"),)) == (user("go"),)
    assert close_open_calls(()) == ()


def test_one_call_has_one_result_and_the_first_counts_b082() -> None:
    bad, good = result("t1", "failed", is_error=True), result("t1", "worked")
    history = (user("go"), reply(call("t1")), results(bad, good), results(good))
    assert repair(history, READER) == (*history[:2], results(bad))


def test_results_come_in_call_order_and_ahead_of_words() -> None:
    words = TextBlock(text="go on")
    history = (reply(call("a"), call("b")), results(words, result("b")), results(result("a")))
    assert repair(history, READER) == (history[0], results(result("a"), result("b"), words))


def test_a_result_whose_call_was_never_saved_is_dropped_b083() -> None:
    history = (user("go"), results(result("t9")), user("and now?"))
    assert repair(history, READER) == (history[0], history[2])


def test_ids_used_again_are_told_apart_in_calls_and_results_b084() -> None:
    history = (
        reply(call("call", path="1")),
        results(result("call", "one")),
        reply(call("call", path="2"), call("call", path="3"), call("", path="4")),
        results(result("call", "two"), result("", "four"), result("call", "three")),
    )
    assert repair(history, READER) == (
        history[0],
        history[1],
        reply(call("call_2", path="2"), call("call_3", path="3"), call("call_4", path="4")),
        results(result("call_2", "two"), result("call_3", "three"), result("call_4", "four")),
    )


def test_a_new_id_does_not_take_a_name_that_is_there_already() -> None:
    history = (
        reply(call("a"), call("a"), call("a_2")),
        results(result("a_2", "x"), result("a"), result("a")),
    )
    fixed = repair(history, READER)
    assert [block.id for block in fixed[0].tool_uses] == ["a", "a_2", "a_2_2"]
    assert fixed[1] == results(result("a"), result("a_2"), result("a_2_2", "x"))


def test_ten_thousand_calls_of_one_id_are_renamed_in_linear_time() -> None:
    history = (reply(*(call("call") for _ in range(10_000))),)
    ids = [block.id for block in repair(history, READER)[0].tool_uses]
    assert (len(set(ids)), ids[0], ids[-1]) == (10_000, "call", "call_10000")


def test_blank_blocks_and_messages_are_never_sent_b086() -> None:
    blank = TextBlock(text=" \n")
    history = (
        system(""),
        user(""),
        reply(blank, call("t1")),
        results(ToolResultBlock(tool_use_id="t1", content=(blank,))),
        assistant("\t"),
        user("go"),
    )
    assert repair(history, READER) == (reply(call("t1")), results(result("t1", "(no output)")), user("go"))


def test_signed_thinking_goes_back_byte_for_byte_to_the_model_that_wrote_it_b071() -> None:
    signed = (ThinkingBlock(text="", signature="SIG1"), RedactedThinkingBlock(data="x"))
    state = OpaqueBlock(family="anthropic", data={"k": "\ud800"})
    history = (reply(*signed, state, call("t1")), results(result("t1")))
    assert repair(history, READER) is history


@pytest.mark.parametrize(
    "reader", [TargetModel(family="openai", model="m"), TargetModel(family="anthropic", model="n")]
)
def test_what_another_model_signed_stays_behind_b071(reader: TargetModel) -> None:
    signed = (ThinkingBlock(text="hm", signature="SIG1"), RedactedThinkingBlock(data="x"))
    state = OpaqueBlock(family="anthropic", data={})
    history = (reply(*signed, state, call("t1")), results(result("t1")), reply(*signed), user("go"))
    assert repair(history, reader) == (reply(call("t1")), results(result("t1")), user("go"))


def test_thinking_that_nobody_signed_and_state_of_another_family_stay_behind() -> None:
    history = (reply(ThinkingBlock(text="hm"), OpaqueBlock(family="openai", data={}), TextBlock(text="a")),)
    assert repair(history, READER) == (reply(TextBlock(text="a")),)


def test_system_messages_past_the_start_become_user_messages() -> None:
    history = (system("a"), user("b"), system("c"))
    assert repair(history, READER) == (system("a"), user("b"), user("c"))


def test_blocks_in_a_role_that_cannot_hold_them_are_dropped() -> None:
    image = ImageBlock.of(media_type="image/png", data="AA")
    history = (
        Message(role="system", content=(TextBlock(text="s"), image, call("x")), id=ID),
        Message(role="user", content=(call("a"), TextBlock(text="u")), id=ID),
        Message(role="assistant", content=(result("a"), TextBlock(text="r")), id=ID),
    )
    assert repair(history, READER) == (system("s"), user("u"), assistant("r"))


def test_lone_surrogates_are_replaced_wherever_they_stand() -> None:
    history = (
        user("a\ud800b"),
        reply(call("i\udc00", "n\ud800", path="\ud83d", n=float("nan"))),
        results(result("i\udc00", "\udfff")),
    )
    assert repair(history, READER) == (
        user("a\ufffdb"),
        reply(call("i\ufffd", "n\ufffd", path="\ufffd", n=None)),
        results(result("i\ufffd", "\ufffd")),
    )


def test_a_call_that_cannot_be_written_as_json_or_has_no_name_poisons_nothing() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    history = (reply(call("a", " ", x=deep)), results(result("a")))
    assert repair(history, READER) == (reply(call("a", "unknown")), history[1])


def test_the_oldest_images_give_way_to_a_note() -> None:
    image = ImageBlock.of(media_type="image/png", data="AA")
    note = TextBlock(text="[an older image was left out]")
    other = ImageBlock.of(media_type="image/png", data="BB")
    shown = ToolResultBlock(tool_use_id="t1", content=(image, other))
    history = (results(image), reply(call("t1")), results(shown))
    shown = replace(shown, content=(note, other))
    left = (results(note), history[1], results(shown))
    assert repair(history, TargetModel(family="anthropic", model="m", max_images=1)) == left
    assert repair(history, TargetModel(family="anthropic", model="m", max_images=3)) is history


def test_images_go_a_fifth_of_the_bound_at_a_time_so_that_the_beginning_stays_the_same() -> None:
    image = Message(role="user", content=(ImageBlock.of(media_type="image/png", data="AA"),))
    reader = TargetModel(family="anthropic", model="m", max_images=10)
    left = [sum(map(_images, repair([image] * count, reader))) for count in range(9, 15)]
    assert left == [9, 10, 9, 10, 9, 10]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("a", "a", True),
        ("claude-x", "claude-x-20260101", True),
        ("gpt-5.5-2026-10-21", "gpt-5.5", True),
        ("claude-x@20260101", "claude-x", True),
        ("anthropic/claude-x", "claude-x", True),
        ("gpt-5.5", "gpt-5.5-mini", False),
        ("gpt-5", "gpt-5.5", False),
        ("a", "b", False),
    ],
)
def test_a_dated_snapshot_is_the_same_model(one: str, other: str, same: bool) -> None:
    assert is_same_model(one, other) is same
    assert is_same_model(other, one) is same


def test_what_a_snapshot_signed_goes_back_under_the_name_that_was_asked_for() -> None:
    message = reply(ThinkingBlock(text="hm", signature="s"), TextBlock(text="a"), model="m-20260101")
    history = (user("go"), message)
    assert repair(history, READER) is history


def test_an_interrupted_call_says_so() -> None:
    assert interrupted("t1") == result("t1", INTERRUPTED, is_error=True)


@given(st.lists(prose, min_size=1, max_size=3))
def test_words_alone_are_left_as_they_are(words: list[str]) -> None:
    history = tuple(user(text) if n % 2 == 0 else assistant(text) for n, text in enumerate(words))
    assert repair(history, READER) is history


PAPER = DocumentBlock(source=Base64Source(media_type="application/pdf", data="AAAA"), title="a.pdf")
LETTER = DocumentBlock(source=Base64Source(media_type="text/plain", data="AAAA"))


def test_what_the_reader_does_not_take_becomes_words_wherever_it_stands() -> None:
    image = ImageBlock.of(media_type="image/png", data="AAAA")
    far = ImageBlock(source=UrlSource(url="https://x.test/a.png"))
    shown = ToolResultBlock(tool_use_id="t1", content=(image, PAPER))
    history = (Message(role="user", content=(far, LETTER), id="m"), reply(call("t1")), results(shown))
    blind = TargetModel(family="anthropic", model="m", sees_images=False, reads_pdf=False)
    repaired = repair(history, blind)
    assert repaired[0].content == (
        TextBlock(text="[an image at https://x.test/a.png: this model cannot see it]"),
        LETTER,
    )
    assert repaired[2].tool_results[0].content == (
        TextBlock(text="[an image of type image/png, 3 bytes: this model cannot see it]"),
        TextBlock(text="[a PDF document 'a.pdf', 3 bytes: this model cannot read it]"),
    )
    assert repair(repaired, blind) == repaired
    seeing = TargetModel(family="anthropic", model="m")
    assert repair(history, seeing) is history


def test_a_message_shows_the_same_thing_once() -> None:
    image = ImageBlock.of(media_type="image/png", data="AAAA")
    shown = ToolResultBlock(tool_use_id="t1", content=(image, PAPER))
    history = (reply(call("t1")), Message(role="user", content=(shown, image, PAPER), id="m"))
    reader = TargetModel(family="anthropic", model="m")
    repaired = repair(history, reader)
    assert repaired[1].content == (
        shown,
        TextBlock(text="[the same image as above]"),
        TextBlock(text="[the same document as above]"),
    )
    assert repair(repaired, reader) is repaired
