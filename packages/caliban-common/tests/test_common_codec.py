from __future__ import annotations

import json
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from common_strategies import any_text, blocks, clean_text, json_values, messages, objects
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.codec import (
    block_to_json,
    dumps,
    event_to_json,
    message_from_json,
    message_to_json,
    nearest,
    usage_to_json,
)
from caliban_common.errors import DataError
from caliban_common.event import MessageAdded, Warned
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
    user,
)
from caliban_common.testing import without_ids
from caliban_common.usage import Usage


def block_of(data: object) -> Block:
    """The block in plain data, read as the one of a message."""
    (block,) = message_from_json({"role": "user", "content": [data]}).content
    return block


WORDS = """
type role content id family model text source media_type data url title thinking signature name input
raw_input tool_use_id is_error base64 image document redacted_thinking tool_use tool_result opaque system
user assistant input_tokens output_tokens
"""
NAMES = tuple(WORDS.split())
near_misses = json_values(st.sampled_from(NAMES) | clean_text)


@given(messages(any_text))
def test_a_message_survives_the_way_through_plain_data(message: Message) -> None:
    assert message_from_json(message_to_json(message)) == message


@given(messages(clean_text))
def test_a_message_survives_the_way_through_bytes(message: Message) -> None:
    assert message_from_json(json.loads(dumps(message_to_json(message)))) == message


@given(messages(any_text, finite=False))
def test_whatever_a_message_holds_its_bytes_are_strict_json_in_one_line(message: Message) -> None:
    data = dumps(message_to_json(message))
    assert b"\n" not in data
    json.loads(data.decode("utf-8"), parse_constant=pytest.fail)


@given(messages(any_text, finite=False))
def test_bytes_once_written_are_read_and_written_the_same(message: Message) -> None:
    once = message_from_json(json.loads(dumps(message_to_json(message))))
    assert message_from_json(json.loads(dumps(message_to_json(once)))) == once


def test_blocks_have_the_shapes_of_the_session_file() -> None:
    cases = {
        TextBlock(text="a"): {"type": "text", "text": "a"},
        ImageBlock.of(media_type="image/png", data="AA"): {
            "type": "image",
            "source": {"type": "base64", "media_type": "image/png", "data": "AA"},
        },
        ImageBlock(source=UrlSource(url="https://x", media_type="image/png")): {
            "type": "image",
            "source": {"type": "url", "url": "https://x", "media_type": "image/png"},
        },
        DocumentBlock(source=Base64Source(media_type="application/pdf", data="AA")): {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "AA"},
        },
        ThinkingBlock(text="", signature="s"): {"type": "thinking", "thinking": "", "signature": "s"},
        RedactedThinkingBlock(data="x"): {"type": "redacted_thinking", "data": "x"},
    }
    assert [block_to_json(block) for block in cases] == list(cases.values())
    call = ToolUseBlock(id="1", name="Read", input={"path": "a"})
    assert block_to_json(call) == {"type": "tool_use", "id": "1", "name": "Read", "input": {"path": "a"}}
    result = ToolResultBlock(tool_use_id="1", content=(TextBlock(text="a"),))
    assert block_to_json(result) == {
        "type": "tool_result",
        "tool_use_id": "1",
        "content": ({"type": "text", "text": "a"},),
        "is_error": False,
    }
    opaque = OpaqueBlock(family="f", data={"k": 1})
    assert block_to_json(opaque) == {"type": "opaque", "family": "f", "data": {"k": 1}}


def test_members_that_say_nothing_are_left_out() -> None:
    content = ({"type": "text", "text": "a"},)
    assert message_to_json(user("a", id="m1")) == {"role": "user", "content": content, "id": "m1"}


def test_unknown_members_are_ignored_so_that_a_newer_file_can_be_read() -> None:
    data = {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}], "new": 1}
    assert message_from_json({**data, "id": "m1"}) == user("a", id="m1")


@pytest.mark.parametrize("id", [{}, {"id": None}, {"id": ""}])
def test_a_message_of_an_old_file_without_an_id_gets_one(id: dict[str, object]) -> None:
    data = {"role": "user", "content": "a", **id}
    first, second = message_from_json(data), message_from_json(data)
    assert first.id and second.id
    assert first.id != second.id
    assert without_ids([first]) == without_ids([second])


def test_content_may_be_a_plain_string() -> None:
    assert message_from_json({"role": "user", "content": "a", "id": "m1"}) == user("a", id="m1")
    result = {"type": "tool_result", "tool_use_id": "1", "content": "a"}
    assert block_of(result) == ToolResultBlock(tool_use_id="1", content=(TextBlock(text="a"),))


def test_parts_of_a_result_that_results_of_ours_do_not_hold_are_left_out() -> None:
    part = {"type": "search_result", "title": "t"}
    data = {"type": "tool_result", "tool_use_id": "1", "content": [part, {"type": "text", "text": "a"}]}
    assert block_of(data) == ToolResultBlock(tool_use_id="1", content=(TextBlock(text="a"),))


def test_an_input_that_is_no_object_is_kept_as_raw_text() -> None:
    data = {"type": "tool_use", "id": "1", "name": "Read", "input": ["a"]}
    assert block_of(data) == ToolUseBlock(id="1", name="Read", input={}, raw_input='["a"]')


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "a message must be an object, not a list"),
        ({"role": "user"}, "a message has no 'content'"),
        (
            {"role": "tool", "content": []},
            "a message's role must be assistant, system or user, not 'tool'",
        ),
        ({"role": "user", "content": 3}, "a message's content must be a list, not 3"),
        ({"role": "user", "content": "a", "family": 3}, "a message's family must be a string, not 3"),
        (
            {"role": "user", "content": ["a", {"type": "text", "text": 3}]},
            "a message's content[0] must be an object, not 'a'",
        ),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": True}]},
            "a message's content[1].text must be a string, not true",
        ),
        (
            {"role": "user", "content": [{"type": "thinking", "thinking": 3}]},
            "a message's content[0].thinking must be a string, not 3",
        ),
        (
            {"role": "user", "content": [{"type": "image", "source": {"type": "file", "id": "f"}}]},
            "a message's content[0].source.type must be base64 or url, not 'file'",
        ),
        (
            {"role": "user", "content": [{"type": "new"}]},
            "a message's content[0].type must be text, image, document, thinking, redacted_thinking, "
            "tool_use, tool_result or opaque, not 'new'",
        ),
    ],
)
def test_what_is_wrong_is_named_with_its_place_and_what_was_expected(data: object, words: str) -> None:
    with pytest.raises(DataError) as caught:
        message_from_json(data)
    assert caught.value.message == words


@given(near_misses)
def test_random_json_is_a_message_or_a_data_error(value: object) -> None:
    try:
        message_from_json(value)
    except DataError:
        pass


@given(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", 3])},
        optional={
            "content": st.lists(
                st.fixed_dictionaries(
                    {"type": st.sampled_from(NAMES)},
                    optional={name: near_misses for name in NAMES if name != "type"},
                ),
                max_size=2,
            ),
            "id": near_misses,
        },
    )
)
def test_what_is_accepted_has_the_types_it_promises(value: object) -> None:
    try:
        message = message_from_json(value)
    except DataError:
        return
    assert msgspec.convert(msgspec.to_builtins(message), Message, strict=True) == message


@given(blocks(clean_text).map(block_to_json), st.sampled_from(NAMES), near_misses)
def test_one_wrong_member_is_accepted_or_a_data_error(data: dict[str, Any], name: str, value: object) -> None:
    try:
        block_of(data | {name: value})
    except DataError:
        pass


def test_deep_nesting_is_a_data_error_and_no_crash() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(DataError, match="nested too deeply"):
        dumps(deep)
    for member in ("text", "source", "content", "tool_use_id"):
        for kind in ("text", "image", "tool_result"):
            with pytest.raises(DataError):
                block_of({"type": kind, member: deep})
    call = block_of({"type": "tool_use", "id": "1", "name": "n", "input": deep})
    assert call == ToolUseBlock(id="1", name="n", input={}, raw_input="")
    nested: Any = {"type": "tool_result", "tool_use_id": "1", "content": []}
    for _ in range(100_000):
        nested = {"type": "tool_result", "tool_use_id": "1", "content": [nested]}
    assert block_of(nested) == ToolResultBlock(tool_use_id="1", content=())


@given(objects(any_text, finite=False))
def test_the_nearest_value_can_be_written_and_is_its_own_nearest(value: dict[str, object]) -> None:
    near = nearest(value)
    json.dumps(near, ensure_ascii=False, allow_nan=False).encode("utf-8")
    assert nearest(near) is near


@given(objects(clean_text))
def test_a_value_that_can_be_written_is_left_alone(value: dict[str, object]) -> None:
    assert nearest(value) is value


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_json_does_not_have_is_null(odd: float) -> None:
    assert (dumps([odd]), nearest([odd])) == (b"[null]", [None])


def test_what_json_does_not_have_becomes_null_or_a_replacement_character() -> None:
    assert (
        dumps({"a": float("nan"), "b": float("-inf"), "c": "\ud800"})
        == b'{"a":null,"b":null,"c":"\xef\xbf\xbd"}'
    )


counts = st.integers(0, 10**9)


@given(st.builds(Usage, input_tokens=counts, output_tokens=counts, thinking_tokens=counts))
def test_usage_survives_the_way_through_plain_data(usage: Usage) -> None:
    assert msgspec.convert(usage_to_json(usage), Usage) == usage


def test_usage_has_the_names_of_the_session_file() -> None:
    usage = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4)
    assert usage_to_json(usage) == {
        "input_tokens": 1,
        "output_tokens": 2,
        "cache_creation_input_tokens": 4,
        "cache_read_input_tokens": 3,
    }
    assert msgspec.convert({}, Usage) == Usage()


def test_usage_adds_and_subtracts_member_by_member() -> None:
    one = Usage(input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_write_tokens=4, thinking_tokens=5)
    assert one + Usage() == one == one + one - one
    assert (one + one).thinking_tokens == 10


@given(messages(any_text))
def test_an_event_of_a_message_holds_what_the_message_is_as_plain_data(message: Message) -> None:
    data = event_to_json(MessageAdded(message=message))
    assert data == {"type": "message_added", "message": message_to_json(message), "injected": False}


def test_an_event_is_plain_data_whatever_its_details_hold() -> None:
    details = {"path": PurePosixPath("a/b"), "counts": MappingProxyType({1: b"x"}), "kind": PurePosixPath}
    assert event_to_json(Warned(subtype="x", message="y", details=details)) == {
        "type": "warned",
        "subtype": "x",
        "message": "y",
        "details": {"path": "a/b", "counts": {"1": "eA=="}, "kind": str(PurePosixPath)},
    }


def test_an_event_that_is_nested_too_deeply_is_refused() -> None:
    deep: list[Any] = []
    for _ in range(200_000):
        deep = [deep]
    with pytest.raises(DataError, match="nested too deeply"):
        event_to_json(Warned(subtype="x", message="y", details={"deep": deep}))


@pytest.mark.parametrize(
    ("media_type", "data", "text"),
    [
        ("text/plain", "aGkg8J+YgA==", "hi \U0001f600"),
        ("application/json", "e30=", "{}"),
        ("application/yaml", "YTogMQ==", "a: 1"),
        ("text/plain", "/w==", "\ufffd"),
        ("text/plain", "IAo=", None),
        ("text/plain", "", None),
        ("text/plain", "!", None),
        ("text/plain", "\u00fc", None),
        ("application/pdf", "aGk=", None),
    ],
)
def test_a_document_of_text_says_what_is_in_it(media_type: str, data: str, text: str | None) -> None:
    assert DocumentBlock(source=Base64Source(media_type=media_type, data=data)).text == text
