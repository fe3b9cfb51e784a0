from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import caliban_common.message as made
from caliban_agent_core.compact.cuts import cuts, is_request
from caliban_agent_core.compact.drop import drop_oldest
from caliban_agent_core.compact.micro import supersede
from caliban_agent_core.compact.trigger import Trigger
from caliban_agent_core.nudge import EMPTY_TURN
from caliban_agent_core.recovery import TEXT_CUT
from caliban_common.estimate import IMAGE_TOKENS, Estimator, message_tokens, tokens
from caliban_common.history import TargetModel, repair
from caliban_common.message import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from caliban_common.tool import RepeatKey, ToolSpec

ID = "m"
"""One id for all messages here: what is compared is what they say."""

user = partial(made.user, id=ID)
system = partial(made.system, id=ID)
assistant = partial(made.assistant, id=ID)

READER = TargetModel(family="f", model="m")
LONG = "x" * 400


def call(id: str, name: str, **input: object) -> Message:
    return Message(role="assistant", content=(ToolUseBlock(id=id, name=name, input=input),), id=ID)


def result(id: str, text: str = LONG, *, is_error: bool = False) -> Message:
    block = ToolResultBlock(tool_use_id=id, content=(TextBlock(text=text),), is_error=is_error)
    return Message(role="user", content=(block,), id=ID)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Valid histories of a few requests, each worked on for a few tool turns."""
    history = [system("be good")] * draw(st.integers(0, 2))
    number = 0
    for _ in range(draw(st.integers(0, 4))):
        history.append(user(draw(st.sampled_from(["do this", "do that", "w" * 900]))))
        for _ in range(draw(st.integers(0, 5))):
            number += 1
            name = draw(st.sampled_from(["Read", "Grep", "Bash"]))
            path = draw(st.sampled_from(["/a", "/b"]))
            history.append(call(f"t{number}", name, path=path))
            history.append(result(f"t{number}", draw(st.sampled_from(["ok", LONG]))))
            if draw(st.integers(0, 9)) == 0:
                history.append(user(TEXT_CUT))
        history.append(assistant("done"))
    return tuple(history)


def asked(history: Sequence[Message]) -> list[Message]:
    return [message for message in history if is_request(message)]


# Estimates


def test_four_characters_make_a_token_and_images_have_a_flat_price() -> None:
    image = ImageBlock.of(media_type="image/png", data="A" * 1_000_000)
    assert tokens([user("x" * 400)]) == 104
    assert tokens([Message(role="user", content=(image,))]) == 4 + IMAGE_TOKENS
    seen = ToolResultBlock(tool_use_id="1", content=(TextBlock(text="x" * 400), image))
    assert tokens([Message(role="user", content=(seen,))]) == 4 + 4 + 100 + IMAGE_TOKENS


@pytest.mark.parametrize(
    "block",
    [
        ToolUseBlock(id="1", name="Write", input={"content": LONG}),
        ThinkingBlock(text=LONG, signature="s"),
        RedactedThinkingBlock(data=LONG),
        OpaqueBlock(family="f", data={"k": LONG}),
        DocumentBlock(source=Base64Source(media_type="application/pdf", data="A" * 100_000)),
        TextBlock(text="日" * 134),
    ],
)
def test_every_kind_of_block_counts(
    block: ToolUseBlock | ThinkingBlock | RedactedThinkingBlock | OpaqueBlock | DocumentBlock | TextBlock,
) -> None:
    assert message_tokens(Message(role="assistant", content=(block,))) > 100


def test_input_that_is_nested_too_deeply_to_send_counts_for_nothing() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert message_tokens(call("1", "Read", x=deep)) < 10


@given(st.lists(histories(), min_size=1, max_size=4), st.data())
def test_the_estimator_says_what_a_fresh_count_says(
    many: list[tuple[Message, ...]], data: st.DataObject
) -> None:
    estimator = Estimator()
    for history in many:
        start = data.draw(st.integers(0, len(many[0])))
        mixed = list(many[0][:start]) + list(history[start:])
        assert estimator.tokens(mixed) == tokens(mixed)


# When


def test_compaction_is_due_from_the_threshold_on() -> None:
    trigger = Trigger()
    assert [trigger.due(used, 100) for used in (0, 74, 75, 200)] == [False, False, True, True]
    assert [Trigger(threshold=off).due(100, 100) for off in (None, 0.0)] == [False, False]
    assert not trigger.due(100, 0)


def test_two_failures_in_a_row_switch_forethought_off_a20() -> None:
    trigger = Trigger()
    trigger.failed()
    trigger.succeeded()
    trigger.failed()
    assert trigger.due(100, 100)
    trigger.failed()
    assert not trigger.due(100, 100)


def test_a_refused_history_is_made_shorter_three_times_per_run_a19() -> None:
    trigger = Trigger()
    assert [trigger.react() for _ in range(4)] == [True, True, True, False]


# Superseded results

KEYS: Mapping[str, RepeatKey | None] = {
    "Read": ("path", "offset", "limit"),
    "Grep": "all",
    "Glob": "all",
    "WebFetch": ("url",),
    "Bash": None,
    "Write": None,
}
TOOLS = [ToolSpec(name=name, description="", input_schema={}, repeat_key=key) for name, key in KEYS.items()]


def test_an_older_read_of_the_same_path_gives_way_to_the_newer_a18() -> None:
    history = (
        call("1", "Read", path="/x.rs"),
        result("1"),
        call("2", "Read", path="/y.rs"),
        result("2"),
        call("3", "Read", path="/x.rs"),
        result("3"),
    )
    after = supersede(history, TOOLS)
    assert after == (history[0], result("1", "[superseded: Read(/x.rs)]"), *history[2:])
    assert all(old is new for n, (old, new) in enumerate(zip(history, after, strict=True)) if n != 1)
    assert supersede(after, TOOLS) is after


@pytest.mark.parametrize(
    ("name", "first", "second", "note"),
    [
        ("Read", {"path": "a", "offset": 1}, {"path": "a", "offset": 1, "limit": None}, "Read(a)"),
        ("Read", {"path": "a", "offset": 1}, {"path": "a", "offset": 9}, None),
        (
            "Grep",
            {"pattern": "x", "path": "a"},
            {"path": "a", "pattern": "x"},
            'Grep({"pattern":"x","path":"a"})',
        ),
        ("Grep", {"pattern": "x"}, {"pattern": "x", "path": "a"}, None),
        ("Glob", {"pattern": "*"}, {"pattern": "*"}, 'Glob({"pattern":"*"})'),
        ("WebFetch", {"url": "u", "prompt": "p"}, {"url": "u", "prompt": "q"}, "WebFetch(u)"),
        ("Bash", {"command": "ls"}, {"command": "ls"}, None),
        ("Write", {"path": "a"}, {"path": "a"}, None),
    ],
)
def test_what_makes_two_calls_the_same_question_depends_on_the_tool_a18(
    name: str, first: dict[str, object], second: dict[str, object], note: str | None
) -> None:
    history = (call("1", name, **first), result("1"), call("2", name, **second), result("2"))
    after = supersede(history, TOOLS)
    assert after == history if note is None else after[1] == result("1", f"[superseded: {note}]")


READS = ToolSpec(
    name="Read",
    description="",
    input_schema={"properties": {"path": {"type": "string"}, "offset": {"type": "integer"}}},
    repeat_key=("path", "offset"),
    aliases={"file_path": "path"},
    extras=("description",),
)


@pytest.mark.parametrize(
    ("first", "second", "note"),
    [
        ({"file_path": "a"}, {"file_path": "b"}, None),
        ({"file_path": "a"}, {"path": "a", "description": "again"}, "Read(a)"),
        ({"path": "a", "offset": "1"}, {"path": "a", "offset": 1}, "Read(a)"),
        ({"file": "a"}, {"file": "b"}, None),
        ({}, {}, None),
    ],
)
def test_a_question_is_read_as_the_tool_reads_it(
    first: dict[str, object], second: dict[str, object], note: str | None
) -> None:
    history = (call("1", "Read", **first), result("1"), call("2", "Read", **second), result("2"))
    after = supersede(history, [READS])
    assert after == history if note is None else after[1] == result("1", f"[superseded: {note}]")


def test_only_a_later_success_supersedes() -> None:
    history = (
        call("1", "Read", path="a"),
        result("1"),
        call("2", "Read", path="a"),
        result("2", "gone", is_error=True),
    )
    assert supersede(history, TOOLS) is history


def test_a_result_no_longer_than_its_note_stays() -> None:
    history = (call("1", "Read", path="a"), result("1", "tiny"), call("2", "Read", path="a"), result("2"))
    assert supersede(history, TOOLS) is history


def test_ids_that_a_server_uses_again_are_not_mixed_up() -> None:
    history = (call("c", "Read", path="a"), result("c"), call("c", "Bash", path="a"), result("c"))
    assert supersede(history, TOOLS) is history


@given(histories())
def test_superseding_keeps_a_history_valid_and_never_makes_it_longer(history: tuple[Message, ...]) -> None:
    after = supersede(history, TOOLS)
    assert repair(after, READER) is after
    assert tokens(after) <= tokens(history)
    assert supersede(after, TOOLS) is after
    assert (after is history) == (after == history)


# Cuts and drops


def test_a_history_can_be_cut_before_a_reply_or_a_users_own_words() -> None:
    history = (
        system("s"),
        user("go"),
        call("1", "Read"),
        user("hurry"),
        result("1"),
        assistant("done"),
        user(EMPTY_TURN),
    )
    assert cuts(history) == (1, 2, 5, 6)
    assert [is_request(message) for message in history] == [False, True, False, True, False, False, False]


def test_the_oldest_turns_go_first_and_the_cut_is_before_a_request_where_one_fits() -> None:
    history = (
        system("s"),
        user("one"),
        assistant(LONG),
        user("two"),
        assistant(LONG),
        user("three"),
        call("1", "Bash"),
        result("1"),
        assistant("done"),
    )
    kept = drop_oldest(history, target_tokens=tokens(history) - 1)
    assert kept == (*history[:2], *history[3:])
    assert drop_oldest(history, target_tokens=200) == (*history[:2], *history[5:])
    assert drop_oldest(history, target_tokens=50) == (*history[:2], history[5], history[8])
    assert drop_oldest(history, target_tokens=10_000) is history


def test_a_cut_before_a_request_is_preferred_to_one_that_keeps_more() -> None:
    turns = [message for n in range(6) for message in (call(f"t{n}", "Bash"), result(f"t{n}"))]
    history = (user("one"), *turns, user("two"), assistant("done"))
    assert drop_oldest(history, target_tokens=500) == (user("one"), *history[-2:])


def test_one_long_run_is_cut_between_its_turns_and_keeps_its_request() -> None:
    turns = [message for n in range(20) for message in (call(f"t{n}", "Bash"), result(f"t{n}"))]
    history = (system("s"), user("go"), *turns)
    kept = drop_oldest(history, target_tokens=400)
    assert kept == (*history[:2], *history[-6:])


@given(histories(), st.integers(1, 2000))
def test_dropping_keeps_a_history_valid_its_request_and_its_bound(
    history: tuple[Message, ...], target_tokens: int
) -> None:
    kept = drop_oldest(history, target_tokens=target_tokens)
    assert repair(kept, READER) is kept
    assert tokens(kept) <= tokens(history)
    assert asked(kept)[:1] == asked(history)[:1]
    assert asked(kept)[-1:] == asked(history)[-1:]
    assert kept[-1:] == history[-1:]
    assert [m for m in kept if m.role == "system"] == [m for m in history if m.role == "system"]
    if tokens(kept) > target_tokens:
        assert len(cuts(kept)) <= 3, "nothing was left to drop"


def test_dropping_a_long_history_takes_no_time_to_speak_of() -> None:
    turns = [message for n in range(2000) for message in (call(f"t{n}", "Bash"), result(f"t{n}", "ok"))]
    history = (user("go"), *turns)
    assert len(drop_oldest(history, target_tokens=1000)) < 200


def test_a_message_that_cannot_be_cut_from_stays_however_long() -> None:
    history = (user("x" * 10_000),)
    assert drop_oldest(history, target_tokens=10) is history
    assert drop_oldest((), target_tokens=10) == ()
    assert drop_oldest((replace(history[0], role="system"),), target_tokens=1)[0].role == "system"
