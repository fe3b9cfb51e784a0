"""Frames on standard input: what they may say, and the words for what they may not."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.message import TextBlock
from caliban_headless.errors import BadInput
from caliban_headless.input import parse_frame

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
        ({"type": "control", "subtype": "interrupt"}, None),
    ],
)
def test_a_frame_is_a_prompt_or_an_interrupt(frame: object, texts: list[str] | None) -> None:
    message = parse_frame(json.dumps(frame).encode())
    if message is None:
        assert texts is None
    else:
        assert message.role == "user"
        assert message.content == tuple(TextBlock(text=text) for text in texts or ())


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
            "an input frame's content[1].type must be text, not 'image'",
        ),
        (
            '{"type": "user", "content": [{"type": "text", "text": "a", "x": 1}]}',
            "an input frame's content[0] has the unknown member 'x' (known: type, text)",
        ),
        (
            '{"type": "user", "message": {"role": "user"}}',
            "an input frame has the unknown member 'message' (known: type, content)",
        ),
        (
            '{"type": "control", "subtype": "dance"}',
            "an input frame's subtype must be interrupt, not 'dance'",
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
        message = parse_frame(line)
    except BadInput:
        return
    assert message is None or message.text.strip()
