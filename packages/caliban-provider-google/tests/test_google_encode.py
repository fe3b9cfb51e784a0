"""The request body, member by member and part by part."""

from __future__ import annotations

import base64
from typing import Any

import pytest

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
from caliban_provider.memo import Memo
from caliban_provider.request import CompletionRequest
from caliban_provider_google.encode import Encoder, encode
from caliban_provider_google.models import facts
from caliban_provider_google.names import is_made, made_id, wire_name
from caliban_provider_google.parts import UNSIGNED
from caliban_provider_google.testing.strict import check_body

MODEL = "gemini-3.8-flash"
READ = ToolSpec(
    name="Read",
    description="Read a file.",
    input_schema={"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
)


def ask(*messages: Message, **members: Any) -> CompletionRequest:
    members = {"model": MODEL, "max_tokens": 4096, **members}
    return CompletionRequest(messages=messages, **members)


def body(*messages: Message, **members: Any) -> dict[str, Any]:
    request = ask(*messages, **members)
    made = encode(request)
    check_body(made, facts(request.model))
    return made


def said(*blocks: Block, model: str | None = MODEL, family: str | None = "google") -> Message:
    return Message(role="assistant", content=blocks, family=family, model=model)


def heard(*blocks: Block) -> Message:
    return Message(role="user", content=blocks)


def result(id: str, *parts: TextBlock | ImageBlock, is_error: bool = False) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id=id, content=parts, is_error=is_error)


def state(**data: Any) -> OpaqueBlock:
    return OpaqueBlock(family="google", data=data)


def model_parts(*messages: Message, **members: Any) -> list[dict[str, Any]]:
    contents = body(*messages, **members)["contents"]
    return [part for content in contents if content["role"] == "model" for part in content["parts"]]


def test_a_whole_body_has_the_members_of_the_wire_in_a_fixed_order() -> None:
    made = body(
        system("Be brief."),
        user("What does a.txt say?"),
        said(
            TextBlock(text="I look."),
            state(thoughtSignature="U0lH", on="functionCall"),
            ToolUseBlock(id="id_1", name="Read", input={"path": "a.txt"}),
        ),
        heard(result("id_1", TextBlock(text="alpha"))),
        tools=(READ,),
        tool_choice="none",
    )
    assert list(made) == ["generationConfig", "toolConfig", "tools", "systemInstruction", "contents"]
    parameters = {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}, "required": ["path"]}
    assert made == {
        "generationConfig": {"maxOutputTokens": 4096},
        "toolConfig": {"functionCallingConfig": {"mode": "NONE"}},
        "tools": [
            {
                "functionDeclarations": [
                    {"name": "Read", "description": "Read a file.", "parameters": parameters}
                ]
            }
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "What does a.txt say?"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I look."},
                    {
                        "functionCall": {"id": "id_1", "name": "Read", "args": {"path": "a.txt"}},
                        "thoughtSignature": "U0lH",
                    },
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"id": "id_1", "name": "Read", "response": {"output": "alpha"}}}
                ],
            },
        ],
    }


def test_signatures_go_back_on_the_very_same_part() -> None:
    reply = said(
        ThinkingBlock(text="hm", signature="U0lHMQ=="),
        TextBlock(text="plain"),
        state(thoughtSignature="U0lHMg==", on="text"),
        TextBlock(text="signed"),
        state(part={"text": "\n", "thoughtSignature": "U0lHMw=="}),
        TextBlock(text="\n"),
        TextBlock(text="after"),
        state(part={"executableCode": {"language": "PYTHON", "code": "1"}}),
        state(part={"text": "", "thoughtSignature": "U0lHNA=="}),
    )
    assert model_parts(user("u"), reply, user("v")) == [
        {"text": "hm", "thought": True, "thoughtSignature": "U0lHMQ=="},
        {"text": "plain"},
        {"text": "signed", "thoughtSignature": "U0lHMg=="},
        {"text": "\n", "thoughtSignature": "U0lHMw=="},
        {"text": "after"},
        {"executableCode": {"language": "PYTHON", "code": "1"}},
        {"text": "", "thoughtSignature": "U0lHNA=="},
    ]


def test_a_signature_whose_part_is_gone_goes_nowhere_else() -> None:
    calls = (ToolUseBlock(id="id_1", name="Read", input={}),)
    reply = said(state(thoughtSignature="U0lH", on="text"), *calls)
    (part,) = model_parts(user("u"), reply, heard(result("id_1")))
    assert part["thoughtSignature"] == UNSIGNED
    reply = said(state(thoughtSignature="U0lH", on="functionCall"), TextBlock(text="t"))
    assert model_parts(user("u"), reply, user("v")) == [{"text": "t"}]


def test_another_model_gets_neither_signatures_nor_ids_and_a_placeholder_where_it_wants_one() -> None:
    reply = said(
        ThinkingBlock(text="hm", signature="c2ln"),
        RedactedThinkingBlock(data="d"),
        state(part={"text": "", "thoughtSignature": "U0lH"}),
        state(thoughtSignature="U0lH", on="functionCall"),
        ToolUseBlock(id="id_1", name="Read", input={}),
        ToolUseBlock(id="id_2", name="Read", input={"path": "b"}),
    )
    history = (user("u"), reply, heard(result("id_1"), result("id_2")))
    bare = [
        {"functionCall": {"name": "Read", "args": {}}},
        {"functionCall": {"name": "Read", "args": {"path": "b"}}},
    ]
    assert model_parts(*history, model="gemini-3.7-flash") == [
        {**bare[0], "thoughtSignature": UNSIGNED},
        bare[1],
    ]
    assert model_parts(*history, model="gemini-2.5-flash") == bare
    assert (
        body(*history, model="gemini-2.5-flash")["contents"][2]["parts"]
        == [{"functionResponse": {"name": "Read", "response": {"output": "(no output)"}}}] * 2
    )


def test_a_snapshot_is_the_same_model() -> None:
    reply = said(ThinkingBlock(text="hm", signature="c2ln"), TextBlock(text="t"), model=f"{MODEL}-001")
    assert len(model_parts(user("u"), reply, user("v"))) == 2


def test_of_parallel_calls_only_the_first_carries_the_signature() -> None:
    reply = said(
        state(thoughtSignature="U0lH", on="functionCall"),
        ToolUseBlock(id="a", name="Read", input={}),
        ToolUseBlock(id="b", name="Read", input={}),
    )
    parts = model_parts(user("u"), reply, heard(result("a"), result("b")))
    assert [part.get("thoughtSignature") for part in parts] == ["U0lH", None]


def test_made_ids_stay_here_and_results_follow_the_order_of_the_calls() -> None:
    ids = (made_id("r/1", 0), made_id("r/1", 1))
    assert ids == ("gemini_call_r_1_0", "gemini_call_r_1_1") and all(map(is_made, ids))
    assert made_id("", 0) == "gemini_call_0" and not is_made("call_1")
    reply = said(*(ToolUseBlock(id=id, name="Read", input={}) for id in ids))
    made = body(user("u"), reply, heard(result(ids[0], TextBlock(text="1")), result(ids[1])))
    assert "gemini_call" not in str(made)
    assert made["contents"][2]["parts"][0]["functionResponse"]["response"] == {"output": "1"}


def test_results_come_first_in_one_content_with_their_images_after_them() -> None:
    png = ImageBlock.of(media_type="image/png", data="iVBORw0KGgo=")
    reply = said(*(ToolUseBlock(id=id, name="Read", input={}) for id in "ab"))
    answers = (
        result("a", png),
        result("b", TextBlock(text="x"), TextBlock(text="y"), is_error=True),
        TextBlock(text="and"),
    )
    parts = body(user("u"), reply, heard(*answers), user("more"))["contents"][2]["parts"]
    assert parts == [
        {
            "functionResponse": {
                "id": "a",
                "name": "Read",
                "response": {"output": "(the image follows)"},
            }
        },
        {"functionResponse": {"id": "b", "name": "Read", "response": {"error": "x\ny"}}},
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}},
        {"text": "and"},
        {"text": "more"},
    ]


def test_images_and_documents_travel_by_value_or_are_said_in_words() -> None:
    plain = base64.b64encode(b"hi").decode()
    parts = body(
        heard(
            ImageBlock.of(media_type="image/gif", data="R0lG"),
            ImageBlock(source=UrlSource(url="https://example.org/a.png", media_type="image/png")),
            DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERg==")),
            DocumentBlock(source=Base64Source(media_type="text/plain", data=plain), title="a.txt"),
            DocumentBlock(source=Base64Source(media_type="application/zip", data="UEs=")),
        )
    )["contents"][0]["parts"]
    assert parts == [
        {"text": "[an image of type 'image/gif' that this model cannot see]"},
        {"fileData": {"mimeType": "image/png", "fileUri": "https://example.org/a.png"}},
        {"inlineData": {"mimeType": "application/pdf", "data": "JVBERg=="}},
        {"text": "a.txt:\nhi"},
        {"text": "[a document of type 'application/zip' that this model cannot read]"},
    ]


def test_blank_text_is_never_sent_and_an_empty_history_is_refused() -> None:
    made = body(user(" "), user("u"), said(TextBlock(text="\n")), user("v"))
    assert made["contents"] == [{"role": "user", "parts": [{"text": "u"}, {"text": "v"}]}]
    with pytest.raises(InvalidRequest):
        encode(ask(system("s"), user(" \n")))


def test_a_history_begins_and_ends_with_the_user() -> None:
    roles = [content["role"] for content in body(assistant("a"))["contents"]]
    assert roles == ["user", "model", "user"]


def test_tool_names_that_the_wire_refuses_are_mapped() -> None:
    specs = tuple(
        ToolSpec(name=name, description="", input_schema={}) for name in ("a b", "9x", "x" * 70, "ok.1-_")
    )
    made = Encoder().body(ask(user("u"), tools=specs, tool_choice="a b"))
    assert set(made.names.values()) == {"a b", "9x", "x" * 70}
    checked = body(user("u"), tools=specs, tool_choice="a b")
    allowed = checked["toolConfig"]["functionCallingConfig"]["allowedFunctionNames"]
    assert allowed == [wire_name("a b")] and wire_name("ok.1-_") == "ok.1-_"


def test_lone_surrogates_and_numbers_that_are_no_json_give_way() -> None:
    call = ToolUseBlock(id="a", name="Read", input={"x": float("nan"), "y": "\ud800"})
    parts = model_parts(user("u\ud800"), said(call), heard(result("a")))
    assert parts[0]["functionCall"]["args"] == {"x": None, "y": "\ufffd"}


def test_extra_members_go_into_the_body_as_they_are() -> None:
    made = body(
        user("u"),
        extra={"safetySettings": [], "generationConfig": {"seed": 3}, "contents": [], "store": True},
    )
    assert made["safetySettings"] == [] and made["store"] is True
    assert made["generationConfig"] == {"maxOutputTokens": 4096, "seed": 3}
    assert made["contents"] == [{"role": "user", "parts": [{"text": "u"}]}]


def test_over_30_turns_each_body_begins_with_the_one_before_and_messages_are_serialised_once() -> None:
    encoder = Encoder()
    history: list[Message] = [system("s"), user("u")]
    last = b""
    for turn in range(30):
        made = encoder.body(ask(*history, tools=(READ,))).join()
        assert (
            made.startswith(last.removesuffix(b"]}"))
            and made == Encoder().body(ask(*history, tools=(READ,))).join()
        )
        last = made
        reply = said(
            TextBlock(text=f"turn {turn}"),
            state(thoughtSignature="U0lH", on="functionCall"),
            ToolUseBlock(id=f"id_{turn}", name="Read", input={"path": str(turn)}),
        )
        history += [reply, heard(result(f"id_{turn}", TextBlock(text="x" * turn)))]


def test_one_user_message_after_other_calls_is_serialised_anew() -> None:
    encoder = Encoder()
    answers = heard(result("a"))
    for name in ("Read", "Bash"):
        reply = said(ToolUseBlock(id="a", name=name, input={}))
        made = encoder.body(ask(user("u"), reply, answers)).join()
        assert made.count(f'"name":"{name}"'.encode()) == 2


def test_the_memo_forgets_what_is_not_asked_for() -> None:
    memo: Memo[int] = Memo(max_bytes=10)
    owners = [object() for _ in range(6)]
    for number, owner in enumerate(owners):
        memo.put(owner, number, 6)
        assert memo.get(owners[0]) == 0
    assert memo.get(owners[5]) == 5 and memo.get(owners[1]) is None
    assert memo.get(owners[0], "other") is None
