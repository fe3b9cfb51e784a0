"""From a request to the body for the runtime."""

from __future__ import annotations

import base64
from types import MappingProxyType
from typing import Any

import pytest

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
    assistant,
    system,
    user,
)
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.request import CompletionRequest
from caliban_provider_local.calls import form_schema, form_words
from caliban_provider_local.encode import encode
from caliban_provider_local.model import LocalModel, find_model
from caliban_provider_local.options import LocalOptions

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
READ = ToolSpec(name="Read", description="Read a file.", input_schema=SCHEMA)
LIST = ToolSpec(name="List", description="List files.", input_schema={"type": "object"})
CALL = ToolUseBlock(id="c1", name="Read", input={"path": "a"})
RESULT = ToolResultBlock(tool_use_id="c1", content=(TextBlock(text="alpha"),))
HISTORY = (
    system("Be brief."),
    user("What is in a?"),
    Message(role="assistant", content=(TextBlock(text="I look."), CALL)),
    Message(role="user", content=(RESULT, TextBlock(text="Go on."))),
)


def model_of(name: str, **options: Any) -> LocalModel:
    return find_model(name, LocalOptions(threads=1, **options))


def ask(*messages: Message, **members: Any) -> CompletionRequest:
    return CompletionRequest(model="m", messages=messages or (user("Hi"),), max_tokens=9, **members)


def schema_of(body: dict[str, Any]) -> Any:
    assert body["response_format"]["type"] == "json_schema"
    return body["response_format"]["json_schema"]["schema"]


def test_a_plain_request_to_a_small_model_is_asked_cautiously(small_model: str) -> None:
    encoded = encode(ask(system("Be brief."), user("Hi")), model_of(small_model))
    assert encoded.body == {
        "max_tokens": 9,
        "cache_prompt": True,
        "temperature": 0.2,
        "repeat_penalty": 1.1,
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_progress": True,
    }
    assert encoded.reply_form == "plain"


def test_a_large_model_keeps_its_own_sampling(large_model: str) -> None:
    body = encode(ask(), model_of(large_model)).body
    assert "temperature" not in body and "repeat_penalty" not in body


def test_what_the_request_says_wins_over_defaults(small_model: str) -> None:
    request = ask(temperature=0.9, extra={"top_k": 3, "repeat_penalty": 1.0, "stream": False, "messages": []})
    body = encode(request, model_of(small_model), seed=5).body
    assert (body["temperature"], body["top_k"], body["repeat_penalty"], body["seed"]) == (0.9, 3, 1.0, 5)
    assert body["stream"] is True and body["messages"] == [{"role": "user", "content": "Hi"}]


def test_a_response_schema_becomes_a_response_format(small_model: str) -> None:
    encoded = encode(ask(response_schema=SCHEMA), model_of(small_model))
    assert schema_of(encoded.body) == SCHEMA
    assert "repeat_penalty" not in encoded.body
    assert encoded.reply_form == "plain"


def test_a_small_model_is_offered_no_tools_unless_a_call_is_wanted(small_model: str) -> None:
    model = model_of(small_model)
    plain = encode(ask(tools=(READ, LIST)), model)
    assert plain.reply_form == "plain" and not {"tools", "response_format"} & set(plain.body)
    named = encode(ask(tools=(READ, LIST), tool_choice="List"), model)
    assert (named.reply_form, schema_of(named.body)) == ("form", form_schema([LIST], answer=False))
    either = encode(ask(tools=(READ, LIST), tool_choice="any"), model)
    assert schema_of(either.body) == form_schema([READ, LIST], answer=False)


def test_a_choice_of_none_offers_nothing_to_anybody(native_model: str) -> None:
    encoded = encode(ask(tools=(READ,), tool_choice="none"), model_of(native_model))
    assert encoded.reply_form == "plain" and "tools" not in encoded.body


@pytest.mark.parametrize(("tools", "choice"), [((READ,), "Write"), ((), "any"), ((), "Read")])
def test_a_choice_that_is_not_on_offer_is_refused(small_model: str, tools: Any, choice: str) -> None:
    with pytest.raises(InvalidRequest, match=f"tool choice is '{choice}'"):
        encode(ask(tools=tools, tool_choice=choice), model_of(small_model))


def test_a_large_model_without_tools_in_its_template_chooses_by_our_form(large_model: str) -> None:
    encoded = encode(ask(*HISTORY, tools=(READ,)), model_of(large_model))
    assert (encoded.reply_form, schema_of(encoded.body)) == ("form", form_schema([READ], answer=True))
    assert encoded.body["messages"] == [
        {"role": "system", "content": f"Be brief.\n\n{form_words([READ], answer=True)}"},
        {"role": "user", "content": "What is in a?"},
        {"role": "assistant", "content": 'I look.\n{"tool": "Read", "arguments": {"path":"a"}}'},
        {"role": "user", "content": "Result of Read:\nalpha\nGo on."},
    ]


def test_without_a_system_message_the_words_stand_first(large_model: str) -> None:
    messages = encode(ask(tools=(READ,)), model_of(large_model)).body["messages"]
    assert messages[0] == {"role": "system", "content": form_words([READ], answer=True)}


def test_a_template_with_tools_gets_them_in_its_own_words(native_model: str) -> None:
    encoded = encode(ask(*HISTORY, tools=(READ,)), model_of(native_model))
    assert encoded.reply_form == "native"
    function = {"name": "Read", "description": "Read a file.", "parameters": SCHEMA}
    assert encoded.body["tools"] == [{"type": "function", "function": function}]
    call = {"id": "c1", "type": "function", "function": {"name": "Read", "arguments": '{"path": "a"}'}}
    assert encoded.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is in a?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "alpha"},
        {"role": "user", "content": "Go on."},
    ]


def test_tools_beside_a_response_schema_use_our_form_with_json_for_an_answer(native_model: str) -> None:
    encoded = encode(ask(tools=(READ,), response_schema=SCHEMA), model_of(native_model))
    assert encoded.reply_form == "raw_form"
    assert schema_of(encoded.body) == form_schema([READ], answer=True, answer_schema=SCHEMA)


def test_neighbours_of_one_role_become_one_message(small_model: str) -> None:
    body = encode(
        ask(user("a"), user("b"), assistant("c"), assistant("d"), user("e")), model_of(small_model)
    ).body
    assert body["messages"] == [
        {"role": "user", "content": "a\n\nb"},
        {"role": "assistant", "content": "c\n\nd"},
        {"role": "user", "content": "e"},
    ]


def test_what_a_reader_of_text_cannot_see_is_named(small_model: str) -> None:
    image = ImageBlock.of(media_type="image/png", data="AAAA")
    message = Message(
        role="user",
        content=(
            image,
            DocumentBlock(source=Base64Source(media_type="application/pdf", data="AAAA")),
            DocumentBlock(
                source=Base64Source(media_type="text/plain", data=base64.b64encode("hé".encode()).decode())
            ),
            DocumentBlock(source=Base64Source(media_type="text/plain", data="not base64")),
            ToolResultBlock(tool_use_id="gone", content=(image,), is_error=True),
            ToolResultBlock(tool_use_id="c1", content=()),
        ),
    )
    call = Message(role="assistant", content=(CALL,))
    text = encode(ask(call, message), model_of(small_model)).body["messages"][1]["content"]
    assert text.split("\n") == [
        "[image of type image/png: this model reads only text]",
        "[document of type application/pdf: this model reads only text]",
        "hé",
        "[document of type text/plain: this model reads only text]",
        "Result of the tool:",
        "error: [image of type image/png: this model reads only text]",
        "Result of Read:",
        "(nothing)",
    ]


def test_reasoning_and_other_families_state_are_left_out(small_model: str) -> None:
    blocks = (
        ThinkingBlock(text="hmm"),
        RedactedThinkingBlock(data="x"),
        OpaqueBlock(family="other", data={}),
    )
    body = encode(
        ask(user("a"), Message(role="assistant", content=blocks), user("b")), model_of(small_model)
    ).body
    assert body["messages"] == [{"role": "user", "content": "a\n\nb"}]


def test_the_body_is_plain_data_and_clean_text(large_model: str) -> None:
    tool = ToolSpec(
        name="T", description="\ud800", input_schema=MappingProxyType({"enum": ("a", "\udfff"), "n": 1})
    )
    request = ask(user("hi \ud83d there"), tools=(tool,), extra=MappingProxyType({"stop": ("x",)}))
    body = encode(request, model_of(large_model)).body
    assert body["messages"][1]["content"] == "hi \ufffd there"
    arguments = schema_of(body)["anyOf"][0]["properties"]["arguments"]
    assert arguments == {"type": "object", "enum": ["a", "\ufffd"], "n": 1}
    assert type(arguments) is dict and body["stop"] == ["x"]


@pytest.mark.parametrize("messages", [(system("Be brief."),), (user(""),)])
def test_a_history_with_nothing_to_answer_is_refused(small_model: str, messages: tuple[Message, ...]) -> None:
    with pytest.raises(InvalidRequest, match="nothing to answer"):
        encode(ask(*messages), model_of(small_model))
