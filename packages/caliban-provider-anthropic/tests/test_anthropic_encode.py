"""The request body, member by member and block by block."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

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
    assistant,
    system,
    user,
)
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.request import CompletionRequest
from caliban_provider_anthropic.encode import Encoder, body_bytes, encode
from caliban_provider_anthropic.names import wire_id, wire_name

MODEL = "claude-sonnet-4-6"
MARK = {"type": "ephemeral"}
READ = ToolSpec(name="Read", description="Read a file.", input_schema={"type": "object", "properties": {}})


def ask(*messages: Message, **members: Any) -> CompletionRequest:
    members = {"model": MODEL, "max_tokens": 4096, "cache": False, **members}
    return CompletionRequest(messages=messages, **members)


def said(*blocks: Block, model: str | None = MODEL, family: str | None = "anthropic") -> Message:
    return Message(role="assistant", content=blocks, family=family, model=model)


def heard(*blocks: Block) -> Message:
    return Message(role="user", content=blocks)


def result(id: str, *parts: TextBlock | ImageBlock, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=id, content=parts, is_error=is_error)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_a_whole_body_has_the_members_of_the_wire_in_a_fixed_order() -> None:
    request = ask(
        system("Be brief."),
        user("What does a.txt say?"),
        said(TextBlock(text="I look."), ToolUseBlock(id="toolu_1", name="Read", input={"path": "a.txt"})),
        heard(result("toolu_1", TextBlock(text="alpha"))),
        tools=(READ,),
        cache=True,
        temperature=0.5,
        tool_choice="none",
    )
    body = encode(request)
    assert body == {
        "model": MODEL,
        "max_tokens": 4096,
        "stream": True,
        "temperature": 0.5,
        "tool_choice": {"type": "none"},
        "tools": [
            {
                "name": "Read",
                "description": "Read a file.",
                "input_schema": {"type": "object", "properties": {}},
                "cache_control": MARK,
            }
        ],
        "system": [{**text("Be brief."), "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": [{**text("What does a.txt say?"), "cache_control": MARK}]},
            {
                "role": "assistant",
                "content": [
                    text("I look."),
                    {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"path": "a.txt"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "toolu_1",
                        "content": [text("alpha")],
                        "cache_control": MARK,
                    }
                ],
            },
        ],
    }
    assert list(body) == [
        "model", "max_tokens", "stream", "temperature", "tool_choice", "tools", "system", "messages",
    ]  # fmt: skip


def test_without_cache_there_is_no_marker() -> None:
    assert b"cache_control" not in body_bytes(ask(system("s"), user("u"), tools=(READ,)))


def test_leading_system_messages_become_system_blocks_and_blank_ones_none() -> None:
    body = encode(ask(system("One."), system(" \n"), system("Two."), user("Hi")))
    assert body["system"] == [text("One."), text("Two.")]
    assert body["messages"] == [{"role": "user", "content": [text("Hi")]}]


def test_a_system_message_past_the_start_speaks_as_the_user() -> None:
    body = encode(ask(user(" "), system("Mind the gap."), user("Hi")))
    assert "system" not in body
    assert body["messages"] == [{"role": "user", "content": [text("Mind the gap."), text("Hi")]}]


def test_neighbours_of_one_role_are_merged_with_results_first() -> None:
    call = ToolUseBlock(id="t1", name="Read", input={})
    body = encode(
        ask(
            user("a"),
            said(TextBlock(text="b")),
            said(call),
            heard(TextBlock(text="before"), result("t1", TextBlock(text="r"))),
            user("after"),
        )
    )
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "tool_use"]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": [text("r")]},
        text("before"),
        text("after"),
    ]


def test_results_come_first_even_when_they_stand_in_a_later_message() -> None:
    call = ToolUseBlock(id="t1", name="Read", input={})
    body = encode(ask(user("a"), said(call), user("note"), heard(result("t1", TextBlock(text="r")))))
    assert [block["type"] for block in body["messages"][2]["content"]] == ["tool_result", "text"]


def test_blank_text_is_never_sent() -> None:
    body = encode(
        ask(
            heard(TextBlock(text=""), TextBlock(text="Hi"), TextBlock(text=" \n\t")),
            assistant(""),
            heard(TextBlock(text="\u2003")),
            assistant("Yes?"),
            user("Go"),
        )
    )
    assert body["messages"] == [
        {"role": "user", "content": [text("Hi")]},
        {"role": "assistant", "content": [text("Yes?")]},
        {"role": "user", "content": [text("Go")]},
    ]


@pytest.mark.parametrize("parts", [(), (TextBlock(text=""),), (TextBlock(text=" \n"), TextBlock(text=""))])
def test_a_result_without_output_says_so(parts: tuple[TextBlock, ...]) -> None:
    call = ToolUseBlock(id="t1", name="Bash", input={"command": "true"})
    body = encode(ask(user("a"), said(call), heard(result("t1", *parts, is_error=True))))
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": [text("(no output)")], "is_error": True}
    ]


def test_the_images_of_a_failed_result_stand_beside_it() -> None:
    png = ImageBlock.of(media_type="image/png", data="iVBORw0KGgo=")
    call = ToolUseBlock(id="t1", name="Look", input={})
    failed = result("t1", png, TextBlock(text="blurred"), is_error=True)
    blocks = encode(ask(user("a"), said(call), heard(failed, TextBlock(text="?"))))["messages"][2]["content"]
    assert [block["type"] for block in blocks] == ["tool_result", "image", "text"]
    assert blocks[0]["content"] == [text("blurred")]
    alone = encode(ask(user("a"), said(call), heard(result("t1", png, is_error=True))))["messages"][2][
        "content"
    ]
    assert alone[0]["content"] == [text("(no output)")] and alone[1]["type"] == "image"


def test_nothing_to_send_is_an_error_before_any_request() -> None:
    with pytest.raises(InvalidRequest, match="no message"):
        encode(ask(system("Be brief."), user(" ")))


SIGNED = (
    ThinkingBlock(text="abc \u2028", signature="SIG1+/=="),
    RedactedThinkingBlock(data="cipher"),
    OpaqueBlock(family="anthropic", data={"type": "server_tool_use", "id": "s", "name": "w", "input": {}}),
)


def test_what_the_model_signed_goes_back_to_it_byte_for_byte() -> None:
    body = body_bytes(ask(user("a"), said(*SIGNED, TextBlock(text="t")), user("b")))
    assert (
        '{"type":"thinking","thinking":"abc \u2028","signature":"SIG1+/=="},'
        '{"type":"redacted_thinking","data":"cipher"},'
        '{"type":"server_tool_use","id":"s","name":"w","input":{}},'
        '{"type":"text","text":"t"}'
    ).encode() in body


@pytest.mark.parametrize(
    ("family", "model"),
    [("anthropic", "claude-opus-4-6"), ("openai", MODEL), (None, None), ("anthropic", None)],
)
def test_what_another_model_signed_is_left_out(family: str | None, model: str | None) -> None:
    body = encode(ask(user("a"), said(*SIGNED, TextBlock(text="t"), family=family, model=model), user("b")))
    assert body["messages"][1]["content"] == [text("t")]


def test_a_snapshot_of_the_model_is_the_model() -> None:
    message = said(ThinkingBlock(text="a", signature="s"), model="claude-haiku-4-5-20251001")
    body = encode(ask(user("a"), message, user("b"), model="claude-haiku-4-5"))
    assert body["messages"][1]["content"] == [{"type": "thinking", "thinking": "a", "signature": "s"}]


def test_thinking_without_a_signature_is_left_out_and_a_signature_without_thinking_kept() -> None:
    blocks = (ThinkingBlock(text="unsigned"), ThinkingBlock(text="", signature="s"))
    body = encode(ask(user("a"), said(*blocks), user("b")))
    assert body["messages"][1]["content"] == [{"type": "thinking", "thinking": "", "signature": "s"}]


def test_opaque_blocks_of_another_family_are_left_out() -> None:
    body = encode(
        ask(user("a"), said(OpaqueBlock(family="openai", data={"x": 1}), TextBlock(text="t")), user("b"))
    )
    assert body["messages"][1]["content"] == [text("t")]


@pytest.mark.parametrize("raw", ["functions.Read:0", "call_" + "x" * 60, "a b/c", "", "ü", "\ud800"])
def test_foreign_ids_are_mapped_alike_in_call_and_result(raw: str) -> None:
    body = encode(
        ask(
            user("a"),
            said(ToolUseBlock(id=raw, name="Read", input={})),
            heard(result(raw, TextBlock(text="r"))),
        )
    )
    call = body["messages"][1]["content"][0]["id"]
    assert call == body["messages"][2]["content"][0]["tool_use_id"] == wire_id(raw)
    assert 1 <= len(call) <= 64


def test_tool_names_that_the_wire_refuses_are_mapped_and_mapped_back() -> None:
    odd = replace(READ, name="mcp__my server.v2__read")
    request = ask(
        user("a"),
        said(ToolUseBlock(id="t", name=odd.name, input={})),
        heard(result("t", TextBlock(text="r"))),
        tools=(odd, READ),
        tool_choice=odd.name,
    )
    body = Encoder().body(request)
    plain = json.loads(body.join())
    name = wire_name(odd.name)
    assert plain["tools"][0]["name"] == plain["tool_choice"]["name"] == name
    assert plain["messages"][1]["content"][0]["name"] == name
    assert body.names == {name: odd.name}


def test_lone_surrogates_are_replaced_and_the_body_is_utf_8() -> None:
    body = body_bytes(
        ask(
            user("broken \ud83d emoji"),
            said(ToolUseBlock(id="t", name="Read", input={"path": "\udcff.txt"})),
            heard(result("t", TextBlock(text="\ud800"))),
        )
    ).decode("utf-8")
    assert "broken \ufffd emoji" in body and '"\ufffd.txt"' in body


def test_numbers_that_are_no_json_become_null() -> None:
    call = ToolUseBlock(id="t", name="Read", input={"a": float("nan"), "b": [float("inf"), 1.5], "c": "NaN"})
    body = encode(ask(user("a"), said(call), heard(result("t", TextBlock(text="r")))))
    assert body["messages"][1]["content"][0]["input"] == {"a": None, "b": [None, 1.5], "c": "NaN"}


def test_images_travel_by_value_or_by_url() -> None:
    png = ImageBlock.of(media_type="image/png", data="iVBORw0KGgo=")
    link = ImageBlock(source=UrlSource(url="https://example.org/a.png", media_type="image/png"))
    call = ToolUseBlock(id="t", name="Look", input={})
    body = encode(ask(heard(png, link), said(call), heard(result("t", png))))
    by_value = {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
    }
    by_url = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}
    assert body["messages"][0]["content"] == [by_value, by_url]
    assert body["messages"][2]["content"][0]["content"] == [by_value]


def test_an_image_that_the_wire_refuses_is_said_in_words() -> None:
    svg = ImageBlock.of(media_type="image/svg+xml", data="PHN2Zy8+")
    (block,) = encode(ask(heard(svg)))["messages"][0]["content"]
    assert block == text("[an image of type 'image/svg+xml' that this model cannot see]")


def test_an_image_in_the_assistants_mouth_is_left_out() -> None:
    png = ImageBlock.of(media_type="image/png", data="iVBORw0KGgo=")
    body = encode(ask(user("a"), said(png, TextBlock(text="t")), user("b")))
    assert body["messages"][1]["content"] == [text("t")]


def test_documents_travel_as_pdf_or_as_text() -> None:
    pdf = DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERg=="), title="A title")
    note = DocumentBlock(
        source=Base64Source(media_type="text/markdown", data=base64.b64encode("# ü".encode()).decode())
    )
    odd = DocumentBlock(source=Base64Source(media_type="application/zip", data="UEs="))
    broken = DocumentBlock(source=Base64Source(media_type="text/plain", data="not base64!"))
    body = encode(ask(heard(pdf, note, odd, broken)))
    assert body["messages"][0]["content"] == [
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
            "title": "A title",
        },
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "# ü"}},
        text("[a document of type 'application/zip' that this model cannot read]"),
        text("[a document of type 'text/plain' that this model cannot read]"),
    ]


def test_a_prefilled_answer_ends_without_white_space() -> None:
    messages = (user("a"), said(TextBlock(text="The answer \n"), TextBlock(text=" \n")))
    body = encode(ask(*messages, model="claude-haiku-4-5"))
    assert body["messages"][1]["content"] == [text("The answer")]
    earlier = encode(ask(*messages, user("b"), model="claude-haiku-4-5"))
    assert earlier["messages"][1]["content"] == [text("The answer \n")]


def test_a_model_without_prefill_is_asked_to_continue() -> None:
    body = encode(ask(user("a"), said(TextBlock(text="So far "))))
    assert body["messages"][1:] == [
        {"role": "assistant", "content": [text("So far ")]},
        {"role": "user", "content": [text("Continue.")]},
    ]


def test_a_paused_turn_goes_back_unchanged() -> None:
    data = {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {"query": "x"}}
    body = encode(ask(user("a"), said(TextBlock(text="t "), OpaqueBlock(family="anthropic", data=data))))
    assert body["messages"][1:] == [{"role": "assistant", "content": [text("t "), data]}]


def test_a_history_that_begins_with_the_assistant_gets_an_opening() -> None:
    body = encode(ask(assistant("Hello."), user("Hi")))
    assert [message["role"] for message in body["messages"]] == ["user", "assistant", "user"]


def test_extra_members_go_into_the_body_as_they_are_and_win() -> None:
    body = encode(
        ask(
            user("a"),
            temperature=0.5,
            extra={
                "temperature": 1,
                "stop_sequences": ["END"],
                "stream": False,
                "metadata": {"user_id": "u"},
            },
        )
    )
    assert body["temperature"] == 1 and body["stop_sequences"] == ["END"]
    assert body["metadata"] == {"user_id": "u"} and body["stream"] is True


def test_a_tool_of_another_server_cannot_spoil_the_request() -> None:
    wild = ToolSpec(
        name="wild",
        description=" ",
        input_schema={
            "anyOf": [{"required": ["a"]}],
            "properties": {"a": {"type": "string"}, "b c": {"type": "string"}},
            "required": ["a", "b c"],
        },
    )
    assert encode(ask(user("a"), tools=(wild, wild)))["tools"] == [
        {
            "name": "wild",
            "input_schema": {"properties": {"a": {"type": "string"}}, "required": ["a"], "type": "object"},
        }
    ]


def turns(count: int) -> list[Message]:
    messages = [system("You are careful."), user("Begin.")]
    for turn in range(count):
        call = ToolUseBlock(id=f"toolu_{turn}", name="Read", input={"path": f"{turn}.txt", "z": 1, "a": 2})
        messages.append(
            said(ThinkingBlock(text=f"thought {turn}", signature=f"s{turn}"), TextBlock(text="Hm."), call)
        )
        messages.append(heard(result(f"toolu_{turn}", TextBlock(text=f"content of {turn} \u2028"))))
    return messages


def test_over_20_turns_each_body_begins_with_the_one_before() -> None:
    messages = turns(20)
    encoder = Encoder()
    previous = b""
    for count in range(2, len(messages) + 1, 2):
        request = ask(*messages[:count], tools=(READ,), cache=True)
        body = encoder.body(request).join()
        assert body == body_bytes(request)
        bare = body.replace(b',"cache_control":{"type":"ephemeral"}', b"")
        assert bare == body_bytes(replace(request, cache=False))
        assert bare.startswith(previous.removesuffix(b"]}"))
        previous = bare


def test_markers_stand_on_the_last_tool_the_last_system_block_and_the_last_two_user_messages() -> None:
    write = replace(READ, name="Write")
    body = encode(ask(system("One."), *turns(3), tools=(READ, write), cache=True))
    marked = [place for place, message in enumerate(body["messages"]) if "cache_control" in str(message)]
    assert marked == [4, 6]
    for place in marked:
        assert body["messages"][place]["content"][-1]["cache_control"] == MARK
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    assert ["cache_control" in block for block in body["system"]] == [False, True]


def test_the_second_last_marker_stands_where_the_last_one_stood_a_turn_before() -> None:
    """So that what one request writes into the cache is what the next one reads."""
    before = encode(ask(*turns(4), cache=True))["messages"]
    after = encode(ask(*turns(5), cache=True))["messages"]
    assert before[-1] == after[len(before) - 1]


def test_a_message_is_serialised_once_however_often_it_is_sent() -> None:
    class Counted(Mapping[str, Any]):
        reads = 0

        def __getitem__(self, key: str) -> Any:
            return key

        def __iter__(self) -> Iterator[str]:
            Counted.reads += 1
            return iter(("path",))

        def __len__(self) -> int:
            return 1

    call = ToolUseBlock(id="t", name="Read", input=Counted())
    messages = (user("a"), said(call), heard(result("t", TextBlock(text="r"))))
    encoder = Encoder()
    first = encoder.body(ask(*messages)).join()
    reads = Counted.reads
    for _ in range(5):
        assert encoder.body(ask(*messages)).join() == first
    assert Counted.reads == reads > 0


def test_one_message_is_sent_with_its_signature_to_one_model_and_without_to_another() -> None:
    encoder = Encoder()
    messages = (user("a"), said(*SIGNED, TextBlock(text="t")), user("b"))
    for _ in range(2):
        for model in (MODEL, "claude-opus-4-6"):
            request = ask(*messages, model=model)
            assert encoder.body(request).join() == body_bytes(request)
            assert (b"SIG1" in encoder.body(request).join()) is (model == MODEL)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 5)),
        st.tuples(st.just("cut"), st.integers(0, 8)),
        st.tuples(st.just("copy"), st.integers(0, 8)),
        st.tuples(st.just("swap"), st.integers(0, 8)),
        st.tuples(st.just("model"), st.integers(0, 1)),
        st.tuples(st.just("mark"), st.integers(0, 1)),
    ),
    max_size=30,
)


@given(steps=STEPS)
def test_whatever_was_sent_before_a_body_is_that_of_its_request_alone(steps: list[tuple[str, int]]) -> None:
    kinds = (
        user("a"),
        said(*SIGNED, TextBlock(text="t")),
        said(ToolUseBlock(id="t", name="Read", input={"path": "p"})),
        heard(result("t", TextBlock(text="r"))),
        heard(),
        said(TextBlock(text=" ")),
    )
    encoder, messages, model, cache = Encoder(), [user("begin")], MODEL, False
    for step, number in steps:
        if step == "add":
            messages = [*messages, kinds[number]]
        elif step == "cut":
            messages = [*messages[:1], *messages[1 + number :]]
        elif step == "copy":  # the same words in another object, as after a summary or a resume
            messages = [replace(one) if at == number else one for at, one in enumerate(messages)]
        elif step == "swap":
            messages = [kinds[number % 6] if at == number // 2 else one for at, one in enumerate(messages)]
        elif step == "model":
            model = (MODEL, "claude-opus-4-6")[number]
        else:
            cache = bool(number)
        request = ask(*messages, model=model, cache=cache, min_cache_tokens=0)
        assert encoder.body(request).join() == body_bytes(request)


def test_a_message_that_cannot_be_sent_leaves_no_half_of_a_history_behind() -> None:
    class Broken(Mapping[str, Any]):
        works = False

        def __getitem__(self, key: str) -> Any:
            return key

        def __iter__(self) -> Iterator[str]:
            if not self.works:
                raise ValueError("broken")
            return iter(("path",))

        def __len__(self) -> int:
            return 1

    broken = Broken()
    call = ToolUseBlock(id="t", name="Read", input=broken)
    request = ask(user("a"), said(TextBlock(text="b")), user("c"), said(call), user("d"))
    encoder = Encoder()
    encoder.body(ask(*request.messages[:2]))
    with pytest.raises(ValueError, match="broken"):
        encoder.body(request)
    broken.works = True
    assert encoder.body(request).join() == body_bytes(request)
