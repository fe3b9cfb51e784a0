"""The request body, member by member and message by message; and the window it asks for."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_common.message import (
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    Message,
    OpaqueBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    assistant,
    system,
    user,
)
from caliban_common.tool import ToolSpec
from caliban_provider.errors import ContextTooLong, InvalidRequest
from caliban_provider.request import CompletionRequest
from caliban_provider_ollama.encode import Encoder, RequestDefaults, encode
from caliban_provider_ollama.models import ModelFacts
from caliban_provider_ollama.testing.strict import check_body
from caliban_provider_ollama.window import MIN_TOKENS, Windows, estimate_tokens, stepped, window_tokens

MODEL = "llama3.1"
READ = ToolSpec(
    name="Read", description="Read a file.", input_schema={"type": "object", "properties": {"path": {}}}
)
ALL = ModelFacts(context_tokens=131_072, tools=True, vision=True, thinking=True)
PNG = ImageBlock.of(media_type="image/png", data="iVBORw0KGgo=")


def ask(*messages: Message, **members: Any) -> CompletionRequest:
    members = {"model": MODEL, "max_tokens": 4096, **members}
    return CompletionRequest(messages=messages, **members)


def body(*messages: Message, facts: ModelFacts | None = ALL, **members: Any) -> dict[str, Any]:
    made = encode(ask(*messages, **members), facts)
    check_body(made)
    return made


def said(*blocks: Block) -> Message:
    return Message(role="assistant", content=blocks, family="ollama", model=MODEL)


def heard(*blocks: Block) -> Message:
    return Message(role="user", content=blocks)


def test_a_whole_body_has_the_members_of_the_wire_in_a_fixed_order() -> None:
    made = body(
        system("Be brief."),
        user("What does a.txt say?"),
        said(TextBlock(text="I look."), ToolUseBlock(id="c", name="Read", input={"path": "a.txt"})),
        heard(ToolResultBlock(tool_use_id="c", content=(TextBlock(text="alpha"),))),
        tools=(READ,),
        temperature=0.5,
        effort="low",
    )
    order = ["model", "stream", "truncate", "shift", "think", "options", "tools", "messages"]
    assert list(made) == order
    assert made == {
        "model": MODEL,
        "stream": True,
        "truncate": False,
        "shift": False,
        "think": True,
        "options": {"num_ctx": 8192, "num_predict": 4096, "temperature": 0.5},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "Read",
                    "description": "Read a file.",
                    "parameters": {"type": "object", "properties": {"path": {}}},
                },
            }
        ],
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What does a.txt say?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [{"function": {"name": "Read", "arguments": {"path": "a.txt"}}}],
            },
            {"role": "tool", "content": "alpha", "tool_name": "Read"},
        ],
    }


@pytest.mark.parametrize(
    ("facts", "wish", "think"),
    [
        (ALL, {}, None),
        (ALL, {"thinking_tokens": 0}, False),
        (ALL, {"thinking_tokens": 5}, True),
        (ALL, {"effort": "max"}, True),
        (None, {"effort": "max"}, None),
        (ModelFacts(thinking=False), {"effort": "max"}, None),
        (ModelFacts(thinking=True, levels=True), {"effort": "max"}, "high"),
        (ModelFacts(levels=True), {"thinking_tokens": 5}, "medium"),
        (ModelFacts(levels=True), {"thinking_tokens": 0, "effort": "high"}, "low"),
    ],
)
def test_reasoning_is_asked_for_only_where_the_server_takes_it(
    facts: ModelFacts | None, wish: dict[str, Any], think: Any
) -> None:
    assert body(user("u"), facts=facts, **wish).get("think") == think


def test_a_model_of_levels_is_known_by_its_name() -> None:
    assert body(user("u"), facts=None, model="gpt-oss:20b", effort="low")["think"] == "low"


def test_tools_are_left_out_where_nobody_may_or_can_call_them() -> None:
    for members in ({"tool_choice": "none"}, {"facts": ModelFacts(tools=False)}):
        assert "tools" not in body(user("u"), tools=(READ,), **members)
    assert body(user("u"), tools=(READ,), tool_choice="Read", facts=None)["tools"]


def test_a_reply_is_held_to_a_schema_where_no_tools_are_on_offer() -> None:
    schema = {"type": "object"}
    assert body(user("u"), response_schema=schema)["format"] == schema
    assert "format" not in body(user("u"), response_schema=schema, tools=(READ,))
    assert body(user("u"), response_schema=schema, tools=(READ,), tool_choice="none")["format"] == schema


def test_results_follow_their_calls_and_images_come_after_them() -> None:
    calls = (ToolUseBlock(id="a", name="Read", input={}), ToolUseBlock(id="b", name="Bash", input={}))
    answers = (
        ToolResultBlock(tool_use_id="a", content=(PNG,)),
        ToolResultBlock(tool_use_id="b", content=(TextBlock(text="no"),), is_error=True),
        TextBlock(text="and"),
    )
    assert body(user("u"), said(*calls), heard(*answers))["messages"][2:] == [
        {"role": "tool", "content": "(an image, shown below)", "tool_name": "Read"},
        {"role": "tool", "content": "Error: no", "tool_name": "Bash"},
        {"role": "user", "content": "and", "images": [PNG.data]},
    ]
    empty = heard(*(ToolResultBlock(tool_use_id=call.id, content=()) for call in calls))
    assert [m["content"] for m in body(user("u"), said(*calls), empty)["messages"][2:]] == ["(no output)"] * 2


def test_what_the_model_cannot_see_or_read_is_said_in_words() -> None:
    plain = base64.b64encode(b"hi").decode()
    blocks = (
        PNG,
        ImageBlock(source=UrlSource(url="https://example.org/a.png", media_type="image/png")),
        DocumentBlock(source=Base64Source(media_type="text/plain", data=plain), title="a.txt"),
        DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERg==")),
    )
    lines = [
        "[an image behind a URL, which this server does not fetch]",
        "a.txt:\nhi",
        "[a document of type 'application/pdf' that this model cannot read]",
    ]
    note = "[an image of type 'image/png' that this model cannot see]"
    assert body(heard(*blocks))["messages"] == [
        {"role": "user", "content": "\n\n".join(lines), "images": [PNG.data]}
    ]
    assert body(heard(*blocks), facts=ModelFacts(vision=False))["messages"] == [
        {"role": "user", "content": "\n\n".join([note, *lines])}
    ]
    assert body(heard(PNG))["messages"] == [
        {"role": "user", "content": "(see the image)", "images": [PNG.data]}
    ]


def test_reasoning_and_state_of_others_are_not_sent_and_blank_messages_neither() -> None:
    reply = said(ThinkingBlock(text="hm", signature="s"), OpaqueBlock(family="google", data={"x": 1}))
    made = body(user("u"), reply, user(" "), assistant("\n"), user("v"))
    assert made["messages"] == [{"role": "user", "content": "u"}, {"role": "user", "content": "v"}]
    with pytest.raises(InvalidRequest):
        encode(ask(user(" \n")))


def test_lone_surrogates_and_numbers_that_are_no_json_give_way() -> None:
    call = ToolUseBlock(id="a", name="Read", input={"x": float("nan"), "y": "\ud800"})
    answer = heard(ToolResultBlock(tool_use_id="a", content=()))
    made = body(user("u\ud800"), said(call), answer)["messages"]
    assert made[0]["content"] == "u\ufffd"
    assert made[1]["tool_calls"][0]["function"]["arguments"] == {"x": None, "y": "\ufffd"}


def test_extra_members_go_into_the_body_and_options_one_by_one() -> None:
    extra = {"options": {"top_k": 3, "num_ctx": 4096}, "keep_alive": "1m", "model": "x", "messages": []}
    made = body(user("u"), extra=extra)
    assert made["options"] == {"num_ctx": 4096, "num_predict": 4096, "top_k": 3}
    assert (made["keep_alive"], made["model"]) == ("1m", MODEL)
    wished = Encoder(defaults=RequestDefaults(num_ctx=2048, keep_alive=-1)).body(ask(user("u"), max_tokens=9))
    assert wished.num_ctx == 2048 and b'"keep_alive":-1' in wished.data


def test_the_window_holds_prompt_and_reply_and_is_at_most_the_models() -> None:
    long = user("word " * 20_000)
    made = Encoder().body(ask(long, max_tokens=5000), ALL)
    assert 25_000 <= made.prompt_tokens <= 26_000 and made.num_ctx == 49_152
    assert made.num_ctx >= made.prompt_tokens + 5000
    small = ModelFacts(context_tokens=32_768)
    assert Encoder().body(ask(long, max_tokens=50_000), small).num_ctx == 32_768
    with pytest.raises(ContextTooLong, match="window has 16384"):
        Encoder().body(ask(long), ModelFacts(context_tokens=16_384))
    with pytest.raises(ContextTooLong):
        Encoder(defaults=RequestDefaults(num_ctx=4096)).body(ask(long), ALL)


def test_a_picture_is_reckoned_by_its_kind_and_not_by_its_bytes() -> None:
    large = ImageBlock.of(media_type="image/png", data="A" * 400_000)
    assert Encoder().body(ask(heard(large)), ALL).prompt_tokens < 2000


def test_a_window_never_shrinks_so_that_the_model_stays_loaded() -> None:
    encoder = Encoder()
    sizes = [
        encoder.body(ask(user("word " * size), max_tokens=100), ALL).num_ctx for size in (10, 20_000, 10)
    ]
    assert sizes == [8192, 32_768, 32_768]
    assert Windows().widen("other", 8192) == 8192


def test_a_model_that_counts_more_than_was_estimated_gets_larger_windows_from_then_on() -> None:
    windows = Windows()
    windows.learn("m", 1000, 900)
    windows.learn("m", 10, 400)
    assert windows.reckon("m", 1000) == 1000
    windows.learn("m", 1000, 1500)
    windows.learn("m", 1000, 1200)
    assert (windows.reckon("m", 1000), windows.reckon("other", 1000)) == (1500, 1000)
    windows.learn("m", 1000, 90_000)
    assert windows.reckon("m", 1000) == 3000


@given(st.integers(1, 10**7), st.integers(1, 10**6), st.none() | st.integers(256, 10**7))
def test_a_window_is_large_enough_or_all_there_is(prompt: int, reply: int, limit: int | None) -> None:
    if limit is not None and prompt >= limit:
        with pytest.raises(ContextTooLong):
            window_tokens(prompt, reply, limit)
        return
    size = window_tokens(prompt, reply, limit)
    assert size == limit or size >= prompt + reply
    assert limit is None or size <= limit
    assert stepped(size) >= size and stepped(stepped(size)) == stepped(size) >= MIN_TOKENS


def test_the_estimate_counts_letters_of_other_scripts_one_by_one() -> None:
    assert estimate_tokens(b"word " * 100) == 126
    assert 100 <= estimate_tokens(("好" * 100).encode()) <= 102
    assert estimate_tokens("é".encode() * 100) >= 25


def test_over_30_turns_each_body_begins_with_the_one_before_and_messages_are_serialised_once() -> None:
    encoder = Encoder()
    history: list[Message] = [system("s"), user("u")]
    last = b""
    for turn in range(30):
        made = encoder.body(ask(*history, tools=(READ,)), ALL).data
        assert made.startswith(last.removesuffix(b"]}"))
        assert made == Encoder().body(ask(*history, tools=(READ,)), ALL).data
        last = made
        call = ToolUseBlock(id=f"id_{turn}", name="Read", input={"path": str(turn)})
        result = ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text="x" * turn),))
        history += [said(TextBlock(text=f"turn {turn}"), call), heard(result)]
