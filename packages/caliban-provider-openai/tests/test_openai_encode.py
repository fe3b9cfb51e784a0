"""What is sent: each block, each wish, and the bytes from turn to turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from extent_kit import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from caliban_common.history import TargetModel, repair
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
    assistant,
    system,
    user,
)
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.request import CompletionRequest
from caliban_provider.testing import strategies
from caliban_provider.testing.contract import READ
from caliban_provider_openai.body import Encoder
from caliban_provider_openai.chat.encode import ChatEncoder
from caliban_provider_openai.chat.encode import encode as encode_chat
from caliban_provider_openai.quirks import Quirks, for_model, quirks_of
from caliban_provider_openai.responses.encode import ResponsesEncoder
from caliban_provider_openai.responses.encode import encode as encode_responses
from caliban_provider_openai.schema import strict_schema, tool_schema
from caliban_provider_openai.testing import strict_chat, strict_responses

MODEL = "gpt-5.5"
OPENAI = quirks_of("", "openai")
PLAIN = Quirks()
DEEPSEEK = quirks_of("api.deepseek.com", "compatible")


def ask(*messages: Message, model: str = MODEL, **members: Any) -> CompletionRequest:
    return CompletionRequest(model=model, messages=messages, max_tokens=4000, **members)


def said(*blocks: Block, model: str = MODEL) -> Message:
    return Message(role="assistant", content=blocks, family="openai", model=model)


def heard(*blocks: Block) -> Message:
    return Message(role="user", content=blocks)


def result(id: str, *parts: TextBlock | ImageBlock, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=id, content=parts, is_error=is_error)


def reasoning(id: str, **members: Any) -> OpaqueBlock:
    item = {"type": "reasoning", "id": id, "summary": [], "encrypted_content": f"secret {id}", **members}
    return OpaqueBlock(family="openai", data=item)


def phase(name: str) -> OpaqueBlock:
    return OpaqueBlock(family="openai", data={"type": "phase", "phase": name})


PNG = ImageBlock.of(media_type="image/png", data="iVBORw0KGgo=")
PDF = DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERg=="), title="Plan")


def test_a_response_is_asked_for_without_state_and_with_encrypted_reasoning() -> None:
    history = (system("Be brief."), system("Be kind."), user("Hi"))
    assert encode_responses(ask(*history, tools=(READ,), cache=False)) == {
        "model": MODEL,
        "stream": True,
        "store": False,
        "max_output_tokens": 4000,
        "include": ["reasoning.encrypted_content"],
        "instructions": "Be brief.\n\nBe kind.",
        "tools": [
            {
                "type": "function",
                "name": "Read",
                "description": "Read a file.",
                "parameters": dict(READ.input_schema),
                "strict": False,
            }
        ],
        "input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi"}]}],
    }
    assert "include" not in encode_responses(ask(user("Hi"), model="gpt-4.1"))


def test_a_completion_is_asked_for_in_the_words_of_its_server() -> None:
    request = ask(system("Be brief."), user("Hi"), model="m", tools=(READ,), cache=False)
    function = {"name": "Read", "description": "Read a file.", "parameters": dict(READ.input_schema)}
    common = {
        "model": "m",
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": function}],
    }
    assert encode_chat(request, PLAIN) == {
        **common,
        "max_tokens": 4000,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    }
    assert encode_chat(request, OPENAI) == {
        **common,
        "max_completion_tokens": 4000,
        "messages": [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
    }
    assert "stream_options" not in encode_chat(request, replace(PLAIN, stream_options=False))


def test_what_the_model_wrote_goes_back_in_order() -> None:
    call = ToolUseBlock(id="call_1", name="Read", input={"path": "ü"})
    hosted = OpaqueBlock(family="openai", data={"type": "web_search_call", "id": "ws_1"})
    turn = said(
        ThinkingBlock(text="shown"),
        reasoning("rs_1", status=None),
        TextBlock(text="I look."),
        phase("commentary"),
        hosted,
        reasoning("rs_2"),
        reasoning("rs_3"),
        call,
    )
    items = encode_responses(ask(user("Hi"), turn, heard(result("call_1", TextBlock(text="ok")))))["input"]
    assert items[1:] == [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "secret rs_1"},
        {"type": "message", "role": "assistant", "content": "I look.", "phase": "commentary"},
        {"type": "web_search_call", "id": "ws_1"},
        {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "secret rs_2"},
        {"type": "reasoning", "id": "rs_3", "summary": [], "encrypted_content": "secret rs_3"},
        {"type": "function_call", "call_id": "call_1", "name": "Read", "arguments": '{"path":"ü"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": "ok"},
    ]


def test_reasoning_that_led_to_nothing_or_has_no_ciphertext_is_left_out() -> None:
    bare = reasoning("rs_2", encrypted_content=None)
    turn = said(bare, TextBlock(text="x"), reasoning("rs_1"), TextBlock(text=" "))
    items = encode_responses(ask(user("Hi"), turn, user("And?")))["input"]
    assert [item["type"] for item in items] == ["message"] * 3


def test_another_models_reasoning_is_not_sent() -> None:
    turn = said(
        ThinkingBlock(text="t", signature=""), reasoning("rs_1"), TextBlock(text="x"), phase("commentary")
    )
    for model, own in ((MODEL, True), (f"{MODEL}-2026-04-23", True), ("gpt-6-sol", False)):
        body = str(encode_responses(ask(user("Hi"), turn, model=model)))
        assert ("secret" in body) is ("commentary" in body) is own
    foreign = replace(turn, family="anthropic")
    assert "secret" not in str(encode_responses(ask(user("Hi"), foreign)))


def test_reasoning_goes_back_in_a_member_only_where_the_server_wants_it() -> None:
    turn = said(ThinkingBlock(text="hm", signature=""), TextBlock(text="x"), model="m")
    for quirks, member in ((DEEPSEEK, {"reasoning_content": "hm"}), (PLAIN, {}), (OPENAI, {})):
        messages = encode_chat(ask(user("Hi"), turn, model="m"), quirks)["messages"]
        assert messages[1] == {"role": "assistant", "content": "x", **member}
    messages = encode_chat(ask(user("Hi"), turn, model="other"), DEEPSEEK)["messages"]
    assert messages[1] == {"role": "assistant", "content": "x"}


def test_calls_of_another_model_come_with_a_blank_reasoning_where_the_server_wants_one() -> None:
    turn = said(
        ThinkingBlock(text="hm", signature=""), ToolUseBlock(id="a", name="Read", input={}), model="m"
    )
    for quirks, model, thought in ((DEEPSEEK, "m", "hm"), (DEEPSEEK, "other", " "), (PLAIN, "other", None)):
        messages = encode_chat(ask(user("Hi"), turn, model=model), quirks)["messages"]
        assert messages[1].get("reasoning_content") == thought


def test_results_stand_first_and_their_images_where_the_wire_takes_them() -> None:
    calls = said(ToolUseBlock(id="a", name="Read", input={}), ToolUseBlock(id="b", name="Read", input={}))
    answers = heard(
        result("a", TextBlock(text="no such file"), PNG, is_error=True),
        result("b", PNG),
        TextBlock(text="Go on."),
    )
    items = encode_responses(ask(user("Hi"), calls, answers))["input"][3:]
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo=", "detail": "auto"}
    assert items == [
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "input_text", "text": "Error: no such file"}, image],
        },
        {"type": "function_call_output", "call_id": "b", "output": [image]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]},
    ]
    messages = encode_chat(ask(user("Hi"), calls, answers, model="m"), PLAIN)["messages"]
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}
    assert messages[1:] == [
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "Read", "arguments": "{}"}} for id in "ab"
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": "Error: no such file"},
        {"role": "tool", "tool_call_id": "b", "content": "(see the image in the next message)"},
        {"role": "user", "content": [shown, shown, {"type": "text", "text": "Go on."}]},
    ]


def test_documents_go_as_files_as_text_or_in_words() -> None:
    odd = ImageBlock.of(media_type="image/tiff", data="AAAA")
    note = DocumentBlock(source=Base64Source(media_type="text/plain", data="aGk="), title="Note")
    message = heard(
        PDF, note, odd, DocumentBlock(source=Base64Source(media_type="application/zip", data="AAAA"))
    )
    words = ["[Note]\nhi", "[an image of type 'image/tiff' that this model cannot read]"]
    words.append("[a document of type 'application/zip' that this model cannot read]")
    (item,) = encode_responses(ask(message))["input"]
    data = "data:application/pdf;base64,JVBERg=="
    assert item["content"] == [
        {"type": "input_file", "filename": "Plan.pdf", "file_data": data},
        *({"type": "input_text", "text": text} for text in words),
    ]
    (sent,) = encode_chat(ask(message), OPENAI)["messages"]
    assert sent["content"][0] == {"type": "file", "file": {"filename": "Plan.pdf", "file_data": data}}
    (sent,) = encode_chat(ask(message), PLAIN)["messages"]
    pdf = "[a document of type 'application/pdf' that this model cannot read]"
    assert sent["content"] == "\n\n".join([pdf, *words])


def test_nothing_blank_is_sent_and_nothing_at_all_is_an_error() -> None:
    call = ToolUseBlock(id="a", name="Read", input={})
    messages = (user("Hi"), said(TextBlock(text=" \n"), call), heard(result("a"), TextBlock(text="")))
    items = encode_responses(ask(system(" "), *messages))
    assert items["input"][1:] == [
        {"type": "function_call", "call_id": "a", "name": "Read", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "(no output)"},
    ]
    assert "instructions" not in items
    sent = encode_chat(ask(system(" "), *messages), OPENAI)["messages"]
    assert [message["content"] for message in sent] == ["Hi", None, "(no output)"]
    sent = encode_chat(ask(system(" "), *messages), replace(PLAIN, null_content=False))["messages"]
    assert [message["content"] for message in sent] == ["Hi", "", "(no output)"]
    for empty in ((), (user(" "),), (system("s"),)):
        with pytest.raises(InvalidRequest, match="no message"):
            encode_responses(ask(*empty))
        with pytest.raises(InvalidRequest, match="no message"):
            encode_chat(ask(*empty), OPENAI)


@pytest.mark.parametrize(
    ("model", "thinking_tokens", "effort", "expected"),
    [
        ("gpt-5.5", None, None, None),
        ("gpt-5.5", None, "max", {"effort": "xhigh"}),
        ("gpt-5.5", None, "low", {"effort": "low"}),
        ("gpt-5.5", 0, "high", {"effort": "none"}),
        ("gpt-5.5", 9000, "medium", {"effort": "medium", "summary": "auto"}),
        ("gpt-6.2-sol", 0, None, {"effort": "low"}),
        ("gpt-5", 0, None, {"effort": "minimal"}),
        ("o3", None, "max", {"effort": "high"}),
        ("gpt-4.1", 9000, "high", None),
    ],
)
def test_a_wish_to_reason_meets_what_the_model_takes(
    model: str, thinking_tokens: int | None, effort: Any, expected: object
) -> None:
    request = ask(user("Hi"), model=model, thinking_tokens=thinking_tokens, effort=effort)
    body = encode_responses(request)
    assert body.get("reasoning") == expected
    strict_responses.check_body(body)
    level = expected.get("effort") if isinstance(expected, dict) else None
    assert encode_chat(request, OPENAI).get("reasoning_effort") == level
    assert "reasoning_effort" not in encode_chat(request, PLAIN)


def test_only_models_that_sample_are_given_a_temperature() -> None:
    for model, expected in (("gpt-4.1", 2.0), ("gpt-5.5", None), ("gpt-oss-20b", 2.0), ("m", 2.0)):
        request = ask(user("Hi"), model=model, temperature=3.0)
        assert encode_responses(request).get("temperature") == expected
        assert encode_chat(request, PLAIN).get("temperature") == expected


def test_the_bound_on_a_reply_fits_the_model_and_the_wire() -> None:
    small = replace(ask(user("Hi")), max_tokens=1)
    assert encode_responses(small)["max_output_tokens"] == 16
    assert encode_chat(small, OPENAI)["max_completion_tokens"] == 1
    large = replace(ask(user("Hi")), max_tokens=10**7)
    assert encode_responses(large)["max_output_tokens"] == 128_000


def test_tools_beside_reasoning_on_chat_switch_the_reasoning_off_or_are_refused_early() -> None:
    body = encode_chat(ask(user("Hi"), tools=(READ,), effort="high"), OPENAI)
    assert body["reasoning_effort"] == "none"
    strict_chat.check_body(body)
    with pytest.raises(InvalidRequest, match="Responses"):
        encode_chat(ask(user("Hi"), model="gpt-6.2-sol", tools=(READ,)), OPENAI)
    assert "tools" in encode_chat(ask(user("Hi"), model="gpt-6.2-sol", tools=(READ,)), PLAIN)


@pytest.mark.parametrize(
    ("choice", "flat", "nested"),
    [
        ("auto", None, None),
        ("none", "none", "none"),
        ("any", "required", "required"),
        ("Read", {"type": "function", "name": "Read"}, {"type": "function", "function": {"name": "Read"}}),
    ],
)
def test_a_choice_of_tools(choice: str, flat: object, nested: object) -> None:
    request = ask(user("Hi"), model="gpt-4.1", tools=(READ,), tool_choice=choice)
    assert encode_responses(request).get("tool_choice") == flat
    assert encode_chat(request, OPENAI).get("tool_choice") == nested
    assert "tool_choice" not in encode_responses(replace(request, tools=()))
    mistral = quirks_of("api.mistral.ai", "compatible")
    assert encode_chat(replace(request, tool_choice="any"), mistral)["tool_choice"] == "any"


CLOSED = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


def test_a_schema_is_strict_where_the_vendor_can_enforce_it_word_for_word() -> None:
    strict = {**CLOSED, "additionalProperties": False}
    request = ask(user("Hi"), model="gpt-4.1", response_schema=CLOSED)
    form = {"name": "reply", "schema": strict, "strict": True}
    assert encode_responses(request)["text"] == {"format": {"type": "json_schema", **form}}
    schema = {"type": "json_schema", "json_schema": form}
    assert encode_chat(request, OPENAI)["response_format"] == schema
    assert encode_chat(request, DEEPSEEK)["response_format"] == {"type": "json_object"}
    assert "response_format" not in encode_chat(request, replace(PLAIN, structured="none"))
    older = replace(PLAIN, structured="json_object_schema")
    assert encode_chat(request, older)["response_format"] == {"type": "json_object", "schema": strict}
    loose = {**CLOSED, "required": []}
    wanted = encode_responses(replace(request, response_schema=loose))["text"]["format"]
    assert (wanted["schema"], wanted["strict"]) == (loose, False)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"type": "string"}},
        {**CLOSED, "additionalProperties": {"type": "string"}},
        {"type": "object"},
        {**CLOSED, "properties": {"a": {}}},
        {**CLOSED, "properties": {"a": {"type": "string", "format": "uri"}}},
        {**CLOSED, "properties": {"a": {"allOf": [{"type": "string"}]}}},
        {**CLOSED, "properties": {"a": {"type": "array"}}},
        {**CLOSED, "properties": {"a": {"type": "object"}}},
    ],
)
def test_a_schema_that_cannot_be_enforced_is_not_strict(schema: Mapping[str, Any]) -> None:
    assert strict_schema(schema) is None


def test_nested_schemas_are_closed_all_the_way_down() -> None:
    inner = {"type": ["object", "null"], "properties": {}, "required": []}
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": inner},
            "b": {"anyOf": [inner, {"$ref": "#/$defs/c"}]},
        },
        "required": ["b", "a"],
        "$defs": {"c": CLOSED},
    }
    made = strict_schema(schema)
    assert made is not None and str(made).count("'additionalProperties': False") == 4


def test_tool_schemas_become_acceptable_and_keep_the_rest() -> None:
    odd = {
        "type": "object",
        "anyOf": [{}],
        "properties": {
            "a": {"type": "array"},
            "b": {"type": ["array", "null"]},
            "enum": {"enum": [{"type": "array"}]},
        },
        "$defs": {"c": {"type": "array"}},
        "additionalProperties": False,
    }
    assert tool_schema(odd) == {
        "type": "object",
        "properties": {
            "a": {"type": "array", "items": {}},
            "b": {"type": ["array", "null"], "items": {}},
            "enum": {"enum": [{"type": "array"}]},
        },
        "$defs": {"c": {"type": "array", "items": {}}},
        "additionalProperties": False,
    }
    assert tool_schema({}) == {"type": "object", "properties": {}}


def test_what_an_operator_adds_goes_into_the_body_but_not_in_place_of_the_history() -> None:
    extra = {"seed": 7, "max_tokens": 5, "messages": [], "input": [], "model": "x", "stream": False}
    body = encode_chat(ask(user("Hi"), model="m", extra=extra), PLAIN)
    assert (body["seed"], body["max_tokens"], body["model"], body["stream"]) == (7, 5, "m", True)
    assert body["messages"]
    assert encode_responses(ask(user("Hi"), extra=extra))["input"]


def test_a_cache_key_is_sent_where_it_is_known_and_wanted() -> None:
    assert encode_responses(ask(user("Hi")), cache_key="k")["prompt_cache_key"] == "k"
    assert encode_chat(ask(user("Hi")), OPENAI, cache_key="k")["prompt_cache_key"] == "k"
    assert "prompt_cache_key" not in encode_responses(ask(user("Hi"), cache=False), cache_key="k")
    assert "prompt_cache_key" not in encode_chat(ask(user("Hi")), PLAIN, cache_key="k")


def test_without_one_a_conversation_has_its_own_key_for_as_long_as_it_goes_on() -> None:
    def keys(*messages: Message) -> set[str]:
        request = ask(system("Be brief."), *messages)
        return {encode(request)["prompt_cache_key"] for encode in (encode_responses, _chat)}

    def _chat(request: CompletionRequest) -> dict[str, Any]:
        return encode_chat(request, OPENAI)

    begun = keys(user("Hi"))
    assert begun == keys(user("Hi"), assistant("Hello"), user("Go on"))
    assert begun.isdisjoint(keys(user("Ho")))
    assert all(len(key) <= 64 for key in begun)


def turns(count: int) -> list[Message]:
    messages = [system("You are careful."), user("Begin.")]
    for turn in range(count):
        call = ToolUseBlock(id=f"call_{turn}", name="Read", input={"path": f"{turn}.txt", "z": 1, "a": 2})
        messages.append(said(reasoning(f"rs_{turn}"), TextBlock(text="Hm."), phase("commentary"), call))
        messages.append(heard(result(f"call_{turn}", TextBlock(text=f"content of {turn} \u2028"))))
    return messages


@pytest.mark.parametrize("encoder", [ResponsesEncoder(), ChatEncoder(OPENAI), ChatEncoder(DEEPSEEK)])
def test_over_30_turns_each_body_begins_with_the_one_before(encoder: Encoder) -> None:
    messages = turns(30)
    previous = b""
    for count in range(2, len(messages) + 1, 2):
        body = encoder.body(ask(*messages[:count], tools=(READ,))).join()
        again = type(encoder)() if isinstance(encoder, ResponsesEncoder) else encoder
        assert body == again.body(ask(*messages[:count], tools=(READ,))).join()
        assert body.startswith(previous.removesuffix(b"]}"))
        previous = body
    assert previous.count(b"content of") == 30


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
    for encoder in (ResponsesEncoder(), ChatEncoder(OPENAI)):
        first = encoder.body(ask(*messages)).join()
        reads = Counted.reads
        for _ in range(5):
            assert encoder.body(ask(*messages)).join() == first
        assert Counted.reads == reads > 0


ODD_TOOLS = (
    READ,
    ToolSpec(name="mcp.a/b c", description=" ", input_schema={"anyOf": [{"type": "object"}]}),
    ToolSpec(name="Read", description="twice", input_schema={}),
)


@settings(max_examples=examples(30))
@given(
    strategies.histories(),
    st.sampled_from(["gpt-5.5", "gpt-6.2-sol", "gpt-4.1", "o3", "test-1"]),
    st.sampled_from([None, 0, 2000]),
    st.sampled_from(["auto", "none", "any", "Read"]),
)
def test_every_repaired_history_is_accepted_by_strict_servers(
    history: tuple[Message, ...], model: str, thinking_tokens: int | None, tool_choice: str
) -> None:
    messages = repair(history, TargetModel(family="openai", model=model))
    request = ask(
        *messages, model=model, tools=ODD_TOOLS, tool_choice=tool_choice, thinking_tokens=thinking_tokens
    )
    try:
        body = encode_responses(replace(request, temperature=0.5))
    except InvalidRequest as error:
        assert "no message" in error.message
        return
    strict_responses.check_body(body)
    if model != "gpt-6.2-sol":
        strict_chat.check_body(encode_chat(request, OPENAI))
    for quirks, server in (
        (PLAIN, strict_chat.COMPATIBLE),
        (quirks_of("api.mistral.ai", "compatible"), strict_chat.MISTRAL),
    ):
        strict_chat.check_body(encode_chat(replace(request, model="m"), quirks), server)


def test_foreign_thinking_is_never_sent() -> None:
    message = Message(
        role="assistant",
        content=(
            ThinkingBlock(text="t", signature="s"),
            RedactedThinkingBlock(data="d"),
            TextBlock(text="x"),
        ),
        family="anthropic",
        model="claude",
    )
    items = encode_responses(ask(user("Hi"), message, user("u")))["input"]
    assert items[1] == {"type": "message", "role": "assistant", "content": "x"}
    assert encode_chat(ask(user("Hi"), message), DEEPSEEK)["messages"][1] == {
        "role": "assistant",
        "content": "x",
    }
    assert encode_chat(ask(user("Hi"), assistant("x")), PLAIN)["messages"][1]["content"] == "x"


def test_a_proxy_is_taken_for_the_server_that_it_stands_before() -> None:
    mistral = quirks_of("api.mistral.ai", "compatible")
    assert quirks_of("proxy.example", "compatible", "like=api.mistral.ai") == mistral
    changed = quirks_of("proxy.example", "compatible", "id_chars=12, like=api.mistral.ai")
    assert changed == replace(mistral, id_chars=12, said=frozenset({"id_chars"}))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ("structured=jsonschema", "the quirk structured cannot be 'jsonschema'"),
        ("any_word=", "the quirk any_word cannot be ''"),
        ("system_role=root", "the quirk system_role cannot be 'root'"),
        ("said=x", "the quirk 'said=x' is not known"),
        ("effort=yes", "the quirk 'effort=yes' is not known"),
    ],
)
def test_a_quirk_that_is_none_is_refused_by_its_name(changes: str, message: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        quirks_of("", "compatible", changes)
    assert caught.value.message == message


def test_what_an_operator_says_of_a_server_no_family_of_models_changes() -> None:
    plain = quirks_of("", "compatible", "effort=true")
    overridden = quirks_of("", "compatible", "assistant_after_tool=false")
    models = ("mistral-large", "qwen3")
    assert [for_model(plain, model).assistant_after_tool for model in models] == [True, False]
    assert [for_model(overridden, model).assistant_after_tool for model in models] == [False, False]
