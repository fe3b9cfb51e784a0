"""What servers hide in a reply and want back, and what families of models want of a history."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_common.message import Message, OpaqueBlock, TextBlock, ToolResultBlock, ToolUseBlock
from caliban_provider.assemble import Assembler
from caliban_provider.request import CompletionRequest
from caliban_provider.sse import SSEDecoder
from caliban_provider_openai.chat.decode import ChatDecoder
from caliban_provider_openai.chat.encode import encode
from caliban_provider_openai.quirks import quirks_of
from caliban_provider_openai.responses.encode import encode as encode_responses

PLAIN = quirks_of("", "compatible")
LONG_ID = "call_" + "S+/=" * 64
HI = Message(role="user", content=(TextBlock(text="hi"),))


def turn(id: str, *kept: OpaqueBlock, model: str = "gemini") -> tuple[Message, Message]:
    call = ToolUseBlock(id=id, name="Read", input={"path": "a"})
    result = ToolResultBlock(tool_use_id=id, content=(TextBlock(text="x"),))
    return (
        Message(role="assistant", content=(call, *kept), family="openai", model=model),
        Message(role="user", content=(result,)),
    )


def request(*messages: Message, model: str = "gemini", **options: Any) -> CompletionRequest:
    return CompletionRequest(model=model, messages=messages, max_tokens=100, **options)


def test_an_id_goes_back_unchanged_to_the_model_that_issued_it_and_to_no_other() -> None:
    history = (HI, *turn(LONG_ID))
    messages = encode(request(*history), PLAIN)["messages"]
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == LONG_ID
    other = encode(request(*history, model="qwen"), PLAIN)["messages"]
    assert other[1]["tool_calls"][0]["id"] == other[2]["tool_call_id"] != LONG_ID
    assert len(other[2]["tool_call_id"]) <= 40
    items = encode_responses(request(*history))["input"]
    assert items[1]["call_id"] == items[2]["call_id"] == LONG_ID


def _folded(*deltas: dict[str, Any]) -> Message:
    import json

    chunks = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    decoder, assembler = ChatDecoder(model="gemini"), Assembler()
    for chunk in chunks:
        data = json.dumps({"id": "c", "model": "gemini", **chunk}).encode()
        for event in SSEDecoder().feed(b"data: " + data + b"\n\n"):
            for made in decoder.feed(event):
                assembler.add(made)
    for made in decoder.finish():
        assembler.add(made)
    return assembler.message("openai", "gemini")


def test_what_a_router_seals_and_a_signature_beside_a_call_come_back_as_they_were() -> None:
    signature = {"google": {"thought_signature": "c2ln"}}
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    sealed = {"type": "reasoning.encrypted", "data": "xyz", "id": "r", "format": "g", "index": 1}
    reply = _folded(
        {"reasoning_details": [{"type": "reasoning.text", "text": "Hm", "index": 0}], "reasoning": "Hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "m.", "index": 0, "signature": "s"}]},
        {"reasoning_details": [sealed]},
        {"tool_calls": [{**call, "extra_content": signature}]},
    )
    result = Message(
        role="user", content=(ToolResultBlock(tool_use_id="c1", content=(TextBlock(text="x"),)),)
    )
    sent = encode(request(HI, reply, result), PLAIN)["messages"][1]
    assert sent["reasoning_details"] == [
        {"type": "reasoning.text", "text": "Hmm.", "index": 0, "signature": "s"},
        sealed,
    ]
    assert sent["tool_calls"][0]["extra_content"] == signature
    stranger = encode(request(HI, reply, result, model="qwen"), PLAIN)["messages"][1]
    assert "reasoning_details" not in stranger and "extra_content" not in stranger["tool_calls"][0]


@pytest.mark.parametrize("host", ["mistral.ai", "integrate.api.nvidia.com", ""])
@pytest.mark.parametrize("model", ["devstral-2", "mistralai/mistral-large", "Mixtral-8x7B"])
def test_a_family_has_its_order_of_roles_wherever_it_is_served(host: str, model: str) -> None:
    history = (HI, *turn("c12345678", model=model), HI)
    roles = [
        item["role"]
        for item in encode(request(*history, model=model), quirks_of(host, "compatible"))["messages"]
    ]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    other = encode(request(*history, model="qwen"), quirks_of(host, "compatible"))["messages"]
    assert [item["role"] for item in other] == ["user", "assistant", "tool", "user"]


def test_a_foreign_server_of_responses_gets_no_key_for_a_cache_that_it_may_not_know() -> None:
    assert "prompt_cache_key" not in encode_responses(request(HI), quirks=PLAIN)
    assert "prompt_cache_key" in encode_responses(request(HI), quirks=quirks_of("", "openai"))
    assert encode_responses(request(HI), quirks=PLAIN, cache_key="mine")["prompt_cache_key"] == "mine"
