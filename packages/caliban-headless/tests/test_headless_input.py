"""Frames on standard input: what they may say, and the words for what they may not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.message import TextBlock
from caliban_headless.errors import BadInput
from caliban_headless.input import InterruptFrame, Prompt, StopTask, parse_frame
from caliban_headless.source import Operation

WORDS = st.sampled_from(["type", "user", "control", "content", "subtype", "interrupt", "text", "extra"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("frame", "texts"),
    [
        ({"type": "user", "content": "a"}, ["a"]),
        ({"content": "a", "type": "user"}, ["a"]),
        (
            {"type": "user", "content": [{"type": "text", "text": t} for t in ("a", " ", "b")]},
            ["a", "b"],
        ),
        ({"type": "user", "content": "\ud800x"}, ["\ud800x"]),
    ],
)
def test_a_user_frame_is_a_prompt(frame: object, texts: list[str]) -> None:
    prompt = parse_frame(json.dumps(frame).encode())
    assert isinstance(prompt, Prompt)
    message = prompt.message
    assert (message.role, prompt.priority) == ("user", "later")
    assert message.content == tuple(TextBlock(text=text) for text in texts)


@pytest.mark.parametrize(
    ("frame", "meaning"),
    [
        ({"type": "control", "subtype": "interrupt"}, InterruptFrame()),
        ({"type": "control", "subtype": "stop_task", "task_id": "t1"}, StopTask(task_id="t1")),
        ({"type": "control", "subtype": "compact"}, Operation(name="compact")),
        ({"type": "control", "subtype": "undo_compaction"}, Operation(name="undo_compaction")),
    ],
)
def test_a_control_frame_says_what_is_to_happen(frame: object, meaning: object) -> None:
    assert parse_frame(json.dumps(frame).encode()) == meaning


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "input frame is not JSON: {"),
        ("[]", "an input frame must be an object, not a list"),
        ("{}", "an input frame has no 'type'"),
        ('{"type": "x"}', "an input frame's type must be user or control, not 'x'"),
        ('{"type": "\\ud800"}', "an input frame's type must be user or control, not '\\ud800'"),
        ('{"type": "user"}', "an input frame has no 'content'"),
        ('{"type": "user", "content": 5}', "an input frame's content must be a string or a list, not 5"),
        ('{"type": "user", "content": " "}', "a user frame's content is empty"),
        (
            '{"type": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}]}',
            "an input frame's content[1] has no 'source'",
        ),
        (
            '{"type": "user", "content": [{"type": "text", "text": "a", "x": 1}]}',
            "an input frame's content[0] has the unknown member 'x' (known: type, text)",
        ),
        (
            '{"type": "user", "message": {"role": "user"}}',
            "an input frame has the unknown member 'message' (known: type, content, priority)",
        ),
        (
            '{"type": "user", "content": "a", "priority": "soon"}',
            "an input frame's priority must be later, next or now, not 'soon'",
        ),
        (
            '{"type": "control", "subtype": "dance"}',
            "an input frame's subtype must be compact, interrupt, stop_task or undo_compaction, not 'dance'",
        ),
        ('{"type": "control", "subtype": "stop_task"}', "a stop_task frame names no task"),
        (
            '{"type": "control", "subtype": "interrupt", "task_id": "t1"}',
            "a frame of interrupt names a task",
        ),
    ],
)
def test_a_frame_of_another_form_is_named_with_its_place_and_what_was_expected(line: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_frame(line.encode())
    assert caught.value.message == words


@given(st.binary(max_size=40) | VALUES.map(lambda value: json.dumps(value).encode()))
def test_any_line_is_a_prompt_an_interrupt_or_bad_input(line: bytes) -> None:
    try:
        asked = parse_frame(line)
    except BadInput:
        return
    assert not isinstance(asked, Prompt) or asked.message.text.strip()
