"""Real reports of users of such tools, by their numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from caliban_common.codec import message_from_json, message_to_json
from caliban_common.history import TargetModel, repair
from caliban_common.message import Message, TextBlock, ToolResultBlock, ToolUseBlock, user
from caliban_common.tool import ToolSpec
from caliban_provider.assemble import Assembler
from caliban_provider.errors import Overloaded, RateLimited, StreamInterrupted
from caliban_provider.provider import ProviderOptions
from caliban_provider.request import CompletionRequest
from caliban_provider.testing.exchange import Exchange, Send
from caliban_provider.testing.loopback import LoopbackServer
from caliban_provider_google.factory import GoogleFactory
from caliban_provider_google.parts import UNSIGNED
from caliban_provider_google.testing import wire
from caliban_provider_google.testing.strict import StrictValidator

pytestmark = pytest.mark.anyio

BASH = ToolSpec(
    name="Bash",
    description="Run.",
    input_schema={"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
)
EVIL = "你好世界 🌍 ✅ \u2028x\u0085y"


def ask(*messages: Message, model: str = wire.MODEL, **members: Any) -> CompletionRequest:
    repaired = repair(messages or (user("Hi"),), TargetModel(family="google", model=model))
    members = {"tools": (BASH,), **members}
    return CompletionRequest(model=model, messages=repaired, max_tokens=4000, **members)


async def folded(server: LoopbackServer, *requests: CompletionRequest) -> list[Assembler]:
    provider = GoogleFactory(environ={}).create(ProviderOptions(api_key="k", base_url=server.url))
    out = []
    try:
        for request in requests:
            assembler = Assembler()
            async with provider.stream(request) as events:
                async for event in events:
                    assembler.add(event)
            assert assembler.complete
            out.append(assembler)
    finally:
        await provider.aclose()
    return out


def said(assembler: Assembler, model: str = wire.MODEL) -> Message:
    """The reply after a session was saved and resumed."""
    message = assembler.message("google", model)
    return message_from_json(json.loads(json.dumps(message_to_json(message))))


def answered(reply: Message, text: str = "done") -> Message:
    return Message(
        role="user",
        content=tuple(
            ToolResultBlock(tool_use_id=call.id, content=(TextBlock(text=text),)) for call in reply.tool_uses
        ),
    )


async def test_b061_text_cut_inside_characters_and_line_ends_arrives_whole() -> None:
    data = b"".join(wire.reply(wire.text(EVIL)))
    halves = [half for line in data.split(b"\n") for half in (line, b"\n")][:-1]
    streams = ([data], [data.replace(b"\r\n", b"\n")], halves)
    exchanges = [
        Exchange(headers={"content-type": "text/event-stream"}, steps=tuple(map(Send, pieces)))
        for pieces in streams
    ]
    with LoopbackServer([wire.exchange(wire.text(EVIL), bytewise=True), *exchanges]) as server:
        replies = await folded(server, *[ask()] * 4)
    assert [said(reply).text for reply in replies] == [EVIL] * 4


@pytest.mark.parametrize(
    "items", [(wire.text("Hel", "lo", "!"),), (wire.call("Bash", {"command": "x"}), wire.text("x", "y"))]
)
async def test_b062_an_overload_inside_a_good_stream_is_told_apart_and_the_next_attempt_is_whole(
    items: tuple[wire.Item, ...],
) -> None:
    overload = wire.event(wire.error(503, "UNAVAILABLE", "The model is overloaded."))
    with LoopbackServer(
        [wire.broken(*items, after=2, end=overload), wire.exchange(wire.text("Hello"))]
    ) as server:
        with pytest.raises(Overloaded) as raised:
            await folded(server, ask())
        assert raised.value.retryable
        (reply,) = await folded(server, ask())
    assert said(reply).text == "Hello"


@pytest.mark.parametrize(
    ("details", "message", "told_s"),
    [
        ({"retry_delay": "3s"}, "Resource exhausted.", 3.0),
        ({"retry_delay": "0.7s"}, "Resource exhausted.", 0.7),
        ({}, "Please retry in 2.5s.", 2.5),
        ({"retry_delay": "86400s"}, "Come back tomorrow.", 86400.0),
    ],
)
async def test_b064_the_wait_is_found_in_the_details_and_in_the_words(
    details: dict[str, str], message: str, told_s: float
) -> None:
    exchange = wire.failure(429, "RESOURCE_EXHAUSTED", message, **details)
    with LoopbackServer([exchange]) as server, pytest.raises(RateLimited) as raised:
        await folded(server, ask())
    assert raised.value.retry_after_s == told_s and raised.value.retryable


@pytest.mark.parametrize(
    ("chunk", "stop", "detail"),
    [
        (
            {
                "candidates": [
                    {"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Bad: print("}
                ]
            },
            "malformed_call",
            "MALFORMED_FUNCTION_CALL: Bad: print(",
        ),
        ({"candidates": [{"finishReason": "STOP"}]}, "end_turn", None),
        (
            {"promptFeedback": {"blockReason": "SAFETY", "blockReasonMessage": "No."}},
            "content_filter",
            "the prompt was blocked: SAFETY: No.",
        ),
        (
            {"candidates": [], "promptFeedback": {"blockReason": "OTHER"}},
            "content_filter",
            "the prompt was blocked: OTHER",
        ),
        ({"candidates": [{"content": {"role": "model"}, "finishReason": "FOO"}]}, "other", "FOO"),
    ],
)
async def test_b073_a_candidate_without_content_ends_in_a_reason_and_an_empty_reply(
    chunk: dict[str, Any], stop: str, detail: str | None
) -> None:
    with LoopbackServer([wire.raw(chunk)]) as server:
        (reply,) = await folded(server, ask())
    assert (reply.stop_reason, reply.detail, said(reply).content) == (stop, detail, ())


async def test_b073_no_candidate_at_all_is_an_interruption_that_can_be_retried() -> None:
    with LoopbackServer([wire.raw({"candidates": []}), wire.exchange()]) as server:
        with pytest.raises(StreamInterrupted) as raised:
            await folded(server, ask())
        assert raised.value.retryable
        (reply,) = await folded(server, ask())
    assert said(reply).content == ()


@pytest.mark.parametrize("ids", [("id_1", "id_2"), (None, None)])
async def test_b074_signatures_come_back_on_their_parts_after_a_resume(ids: tuple[str | None, ...]) -> None:
    items = (
        wire.thinking("hm", signature="VGhvdWdodA=="),
        wire.text("I look.", signature="VGV4dA=="),
        wire.together(
            wire.call("Bash", {"command": "a"}, id=ids[0], signature="VFM="),
            wire.call("Bash", {"command": "b"}, id=ids[1]),
        ),
        wire.text("", signature="TGFzdA=="),
    )
    signed = [part for item in items for event in item for part in event if "thoughtSignature" in part]
    strict = StrictValidator(signed=signed)
    exchanges = [wire.exchange(*items), *[wire.exchange(wire.text("Done."))] * 2]
    with LoopbackServer(exchanges, validator=strict) as server:
        (first,) = await folded(server, ask())
        reply = said(first)
        assert len({call.id for call in reply.tool_uses}) == 2
        history = (user("Hi"), reply, answered(reply))
        (second,) = await folded(server, ask(*history))
        await folded(server, ask(*history, said(second), user("And?")))
        assert not server.refused
        before, after = (request.json["contents"] for request in server.requests[1:])
    assert after[: len(before)] == before
    answers = [part["functionResponse"] for part in before[2]["parts"]]
    assert [answer.get("id") for answer in answers] == list(ids)


async def test_b074_another_model_is_sent_no_signature_that_is_not_its_own() -> None:
    items = (wire.call("Bash", {"command": "a"}, id="id_1", signature="VFM="),)
    done = wire.exchange(wire.text("Done."))
    with LoopbackServer([wire.exchange(*items), done, done], validator=StrictValidator()) as server:
        (first,) = await folded(server, ask())
        history = (user("Hi"), said(first), answered(said(first)))
        await folded(server, ask(*history, model="gemini-2.5-pro"), ask(*history, model="gemini-4-argon"))
        assert not server.refused
        old, new = (request.json["contents"][1]["parts"] for request in server.requests[1:])
    call = {"functionCall": {"name": "Bash", "args": {"command": "a"}}}
    assert (old, new) == ([call], [{**call, "thoughtSignature": UNSIGNED}])


async def test_b075_schemas_of_strangers_are_made_acceptable() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "filter": {"$ref": "#/$defs/Filter"},
            "maybe": {"anyOf": [{"type": "string", "format": "uri"}, {"type": "null"}]},
            "either": {"type": ["string", "null"], "pattern": "^(?=a)"},
            "kind": {"const": "x"},
            "count": {"type": "integer", "exclusiveMinimum": 0},
            "list": {"type": "array"},
        },
        "required": ["filter", "nowhere"],
        "$defs": {
            "Filter": {
                "type": "object",
                "properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/Filter"}}},
            }
        },
    }
    odd = ToolSpec(name="mcp__a__b", description="Odd.", input_schema=schema)
    with LoopbackServer([wire.exchange(wire.text("ok"))], validator=StrictValidator()) as server:
        await folded(server, ask(tools=(odd, BASH)))
        assert not server.refused
        declared = server.requests[0].json["tools"][0]["functionDeclarations"]
    assert declared[1]["parameters"] == {
        "type": "OBJECT",
        "properties": {"command": {"type": "STRING"}},
        "required": ["command"],
    }
    assert declared[0]["parameters"]["properties"]["maybe"] == {"type": "STRING", "nullable": True}


async def test_b084_ids_of_any_vendor_are_accepted_and_consistent() -> None:
    ids = ("functions.Read:0", "call_" + "x" * 60, "a b/c", "", "functions.Read:0", "fine_1")
    messages = [user("Hi")]
    for family in ("openai", "google"):
        for id in ids:
            call = ToolUseBlock(id=id, name="Bash", input={"command": "ls"})
            reply = Message(role="assistant", content=(call,), family=family, model=wire.MODEL)
            messages += [reply, answered(reply)]
    with LoopbackServer([wire.exchange(wire.text("ok"))], validator=StrictValidator()) as server:
        await folded(server, ask(*messages))
        assert not server.refused


async def test_b086_blank_blocks_never_poison_a_session() -> None:
    call = ToolUseBlock(id="t", name="Bash", input={"command": "true"})
    history = (
        user(""),
        user("Hi"),
        Message(role="assistant", content=(TextBlock(text=" \n"), call)),
        Message(role="user", content=(ToolResultBlock(tool_use_id="t", content=()), TextBlock(text=""))),
        Message(role="assistant", content=(TextBlock(text=""),)),
        user("\u2003 \n"),
        Message(role="assistant", content=()),
        user("Well?"),
    )
    plain = CompletionRequest(model=wire.MODEL, messages=history, max_tokens=100)
    exchanges = [wire.exchange(wire.text("ok"))] * 2
    with LoopbackServer(exchanges, validator=StrictValidator()) as server:
        await folded(server, ask(*history), plain)
        assert not server.refused
