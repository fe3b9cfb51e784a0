"""Messages as JSON: the bytes of every kind of block, and the words for what is none."""

from __future__ import annotations

import json

from golden_kit import check
from golden_wires import ODD, PNG, SECRET
from msgspec.structs import replace

from caliban_common.codec import dumps, message_from_json, message_to_json
from caliban_common.errors import DataError
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
    UrlSource,
)

DEEP = {"z": [1, -0.0, 2.50, 1e30, 1e-7, 2**70, None, True, {}, []], "a": ODD}
BLOCKS = (
    TextBlock(text=ODD),
    TextBlock(text="\x00\x1f\x7f\u2029\ufeff"),
    ImageBlock.of(media_type="image/png", data=PNG),
    ImageBlock(source=UrlSource(url="https://example.org/a.png?b=1&c=ü", media_type="image/png")),
    ImageBlock(source=UrlSource(url="https://example.org/a.png", media_type="")),
    DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERi0xLjQ="), title="A paper"),
    DocumentBlock(source=Base64Source(media_type="text/plain", data="aGk=")),
    ThinkingBlock(text=ODD, signature=SECRET),
    ThinkingBlock(text="", signature=""),
    ThinkingBlock(text="hm"),
    RedactedThinkingBlock(data=SECRET),
    ToolUseBlock(id="t1", name="Read", input=DEEP),
    ToolUseBlock(id="t2", name="Read", input={}, raw_input='{"path": '),
    ToolResultBlock(tool_use_id="t1", content=()),
    ToolResultBlock(
        tool_use_id="t2",
        content=(TextBlock(text=ODD), ImageBlock.of(media_type="image/png", data=PNG)),
        is_error=True,
    ),
    OpaqueBlock(family="openai", data=DEEP),
    OpaqueBlock(family="", data={}),
)
LENIENT = (
    {"role": "user", "content": "plain", "new": 1, "id": None, "family": None},
    {"role": "user", "content": []},
    {"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {}}]},
    {"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "u"}}]},
    {"role": "user", "content": [{"type": "image", "source": {"media_type": "m", "data": "AA=="}}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": "words"}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n", "input": [1.50, "ü"]}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "n"}]},
    {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "t", "name": "n", "input": 1, "raw_input": "r"}],
    },
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "plain"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "is_error": 1}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "other"}]}],
    },
)


def of(block: object) -> dict[str, object]:
    return {"role": "user", "content": [block]}


MALFORMED = (
    None,
    3,
    "words",
    [],
    {},
    {"role": "user"},
    {"content": "hi"},
    {"role": "robot", "content": "hi"},
    {"role": 3, "content": "hi"},
    {"role": "x" * 61, "content": "hi"},
    {"role": ["user"], "content": "hi"},
    {"role": "user", "content": None},
    {"role": "user", "content": {}},
    {"role": "user", "content": "hi", "id": 3},
    {"role": "user", "content": "hi", "family": []},
    {"role": "user", "content": "hi", "model": 2**300},
    of(None),
    of("words"),
    of({}),
    of({"type": "hologram"}),
    of({"type": 1.5}),
    of({"type": "text"}),
    of({"type": "text", "text": None}),
    of({"type": "text", "text": 2.5}),
    of({"type": "image"}),
    of({"type": "image", "source": "words"}),
    of({"type": "image", "source": {"type": "file", "id": "f"}}),
    of({"type": "image", "source": {"type": "url"}}),
    of({"type": "image", "source": {"media_type": "m", "data": True}}),
    of({"type": "document", "source": {"media_type": "m"}}),
    of({"type": "document", "title": 3, "source": {"media_type": "m", "data": ""}}),
    of({"type": "thinking", "thinking": "hm", "signature": 3}),
    of({"type": "thinking", "text": "hm"}),
    of({"type": "redacted_thinking"}),
    of({"type": "tool_use", "name": "n", "input": {}}),
    of({"type": "tool_use", "id": "t", "name": None, "input": {}}),
    of({"type": "tool_use", "id": "t", "name": "n", "input": {}, "raw_input": {}}),
    of({"type": "tool_result", "content": "hi"}),
    of({"type": "tool_result", "tool_use_id": "t", "content": 3}),
    of({"type": "tool_result", "tool_use_id": "t", "content": ["hi"]}),
    of({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "image", "source": None}]}),
    of({"type": "opaque", "family": "f"}),
    of({"type": "opaque", "data": {}}),
)


def test_every_kind_of_block_has_the_frozen_bytes_and_comes_back_from_them():
    lines = []
    for block in BLOCKS:
        message = Message(role="assistant", content=(block,), id="m1", family="openai", model="gpt-5.5")
        data = dumps(message_to_json(message))
        assert message_from_json(json.loads(data)) == message
        lines.append(data)
    everything = Message(role="user", content=BLOCKS, id="m2")
    assert message_from_json(json.loads(dumps(message_to_json(everything)))) == everything
    check("codec/blocks", b"\n".join([*lines, dumps(message_to_json(everything)), b""]).decode())


def test_what_only_needs_good_will_is_read_and_written_as_frozen():
    lines = []
    for value in LENIENT:
        message = message_from_json(value)
        assert message.id
        data = message_to_json(replace(message, id="m1"))
        lines.append(f"{dumps(value).decode()}\n  {dumps(data).decode()}\n")
    check("codec/lenient", "".join(lines))


def test_what_is_no_message_is_told_in_the_frozen_words():
    check("codec/malformed", "".join(f"{dumps(value).decode()}\n  {refusal(value)}\n" for value in MALFORMED))


def refusal(value: object) -> str:
    """What is said of `value`."""
    try:
        message_from_json(value)
    except DataError as error:
        return str(error)
    raise AssertionError(f"{value!r} was read as a message")


def test_what_json_does_not_have_gives_way_in_the_frozen_bytes():
    values = [
        float("nan"),
        [float("inf"), -float("inf")],
        "\ud800x\udfff",
        {"\udc80": "\ud83c\udf0d"},
        {1: None},
    ]
    check("codec/nearest", "".join(f"{dumps(value).decode()}\n" for value in values))
