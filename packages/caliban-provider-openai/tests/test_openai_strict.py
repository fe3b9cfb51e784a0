"""The strict servers refuse what the vendors refuse."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from caliban_provider.testing.exchange import Request
from caliban_provider_openai.testing import responses, strict_chat, strict_responses
from caliban_provider_openai.testing.refusal import Refused
from caliban_provider_openai.testing.strict_chat import (
    COMPATIBLE,
    DEEPSEEK,
    MISTRAL,
    OPENAI,
    Server,
    StrictChat,
)
from caliban_provider_openai.testing.strict_responses import StrictResponses

Change = Callable[[dict[str, Any]], Any]

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}


def chat_body() -> dict[str, Any]:
    call = {"id": "call_1", "type": "function", "function": {"name": "Read", "arguments": "{}"}}
    return {
        "model": "gpt-4.1",
        "max_completion_tokens": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [{"type": "function", "function": {"name": "Read", "parameters": dict(SCHEMA)}}],
        "messages": [
            {"role": "developer", "content": "s"},
            {"role": "user", "content": [{"type": "text", "text": "u"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "r"},
        ],
    }


def responses_body() -> dict[str, Any]:
    return {
        "model": "gpt-5.5",
        "store": False,
        "stream": True,
        "max_output_tokens": 100,
        "include": ["reasoning.encrypted_content"],
        "tools": [{"type": "function", "name": "Read", "parameters": dict(SCHEMA), "strict": False}],
        "input": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "u"}]},
            dict(REASONING),
            {"type": "function_call", "call_id": "call_1", "name": "Read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "call_1", "output": "r"},
        ],
    }


def test_good_bodies_pass() -> None:
    strict_chat.check_body(chat_body())
    strict_responses.check_body(responses_body())


CHAT: tuple[tuple[str, Change], ...] = (
    ("Unrecognized", lambda b: b.update(surprise=1)),
    ("model", lambda b: b.update(model="")),
    ("max_completion_tokens", lambda b: b.update(max_completion_tokens=0)),
    ("too short", lambda b: b.update(tools=[])),
    ("name", lambda b: b["tools"][0]["function"].update(name="a b")),
    ("missing properties", lambda b: b["tools"][0]["function"].update(parameters={"type": "object"})),
    ("top level", lambda b: b["tools"][0]["function"].update(parameters={**SCHEMA, "anyOf": []})),
    (
        "missing items",
        lambda b: b["tools"][0]["function"].update(
            parameters={"type": "object", "properties": {"a": {"type": "array"}}}
        ),
    ),
    ("wrong keys", lambda b: b["tools"].append({"type": "function", "name": "x"})),
    ("unique", lambda b: b["tools"].append(b["tools"][0])),
    ("tool_choice", lambda b: b.update(tool_choice="any")),
    ("no such tool", lambda b: b.update(tool_choice={"type": "function", "function": {"name": "X"}})),
    ("'messages'", lambda b: b.update(messages=[])),
    ("role", lambda b: b["messages"][0].update(role="robot")),
    ("Extra inputs", lambda b: b["messages"][1].update(reasoning_content="x")),
    ("non-empty", lambda b: b["messages"][1].update(content=" ")),
    ("empty array", lambda b: b["messages"][1].update(content=[])),
    ("unexpected part", lambda b: b["messages"][1].update(content=[{"type": "thinking"}])),
    ("content or tool_calls", lambda b: b["messages"][2].pop("tool_calls")),
    ("empty array", lambda b: b["messages"][2].update(tool_calls=[], content="x")),
    ("tool_calls.id", lambda b: b["messages"][2]["tool_calls"][0].update(id="a b")),
    ("tool_calls.id", lambda b: b["messages"][2]["tool_calls"][0].update(id="x" * 41)),
    ("not JSON", lambda b: b["messages"][2]["tool_calls"][0]["function"].update(arguments="{")),
    ("must be followed", lambda b: b["messages"].pop()),
    ("preceding message", lambda b: b["messages"].pop(2)),
    ("must be followed", lambda b: b["messages"].insert(3, {"role": "user", "content": "u"})),
    ("preceding message", lambda b: b["messages"].append(b["messages"][3])),
    ("max_tokens", lambda b: b.update(model="o3", max_tokens=5)),
    ("temperature", lambda b: b.update(model="o3", temperature=1)),
    ("responses", lambda b: b.update(model="gpt-5.5")),
    ("reasoning_effort", lambda b: b.update(reasoning_effort="high")),
    ("stream_options", lambda b: b.update(stream=False)),
)


@pytest.mark.parametrize(("words", "change"), CHAT)
def test_chat_completions_refuses(words: str, change: Change) -> None:
    body = chat_body()
    change(body)
    with pytest.raises(Refused) as raised:
        strict_chat.check_body(body)
    assert words in raised.value.message


@pytest.mark.parametrize(
    ("server", "words"),
    [(COMPATIBLE, "max_completion_tokens"), (MISTRAL, "max_completion_tokens"), (DEEPSEEK, "max_completion")],
)
def test_other_servers_refuse_what_only_the_vendor_knows(server: Server, words: str) -> None:
    body = chat_body()
    with pytest.raises(Refused, match=words):
        strict_chat.check_body(body, server)
    del body["max_completion_tokens"], body["stream_options"]
    with pytest.raises(Refused, match="role"):
        strict_chat.check_body(body, server)
    body["messages"][0]["role"] = "system"
    if server is COMPATIBLE:
        strict_chat.check_body(body, server)
    else:
        with pytest.raises(Refused, match=r"tool_calls.id|reasoning_content"):
            strict_chat.check_body(body, server)


RESPONSES: tuple[tuple[str, Change], ...] = (
    ("Unknown parameter", lambda b: b.update(messages=[])),
    ("model", lambda b: b.pop("model")),
    ("minimum", lambda b: b.update(max_output_tokens=15)),
    ("too large", lambda b: b.update(max_output_tokens=10**7)),
    ("temperature", lambda b: b.update(temperature=1)),
    ("reasoning.effort", lambda b: b.update(reasoning={"effort": "minimal"})),
    ("unknown parameter", lambda b: b.update(reasoning={"depth": 1})),
    ("not supported", lambda b: b.update(model="gpt-4.1", reasoning={"effort": "low"})),
    ("Encrypted content", lambda b: b.update(model="gpt-4.1")),
    ("strict", lambda b: b["tools"][0].pop("strict")),
    ("additionalProperties", lambda b: b["tools"][0].update(strict=True)),
    ("Unknown parameter", lambda b: b["tools"][0].update(function={})),
    ("tool_choice", lambda b: b.update(tool_choice="any")),
    ("Tool choice", lambda b: b.update(tool_choice={"type": "function", "name": "X"})),
    ("text.format", lambda b: b.update(text={"format": {"type": "json_schema", "schema": SCHEMA}})),
    (
        "additionalProperties",
        lambda b: b.update(
            text={"format": {"type": "json_schema", "name": "n", "schema": SCHEMA, "strict": True}}
        ),
    ),
    ("instructions", lambda b: b.update(instructions="")),
    ("'input'", lambda b: b.update(input=[])),
    ("type", lambda b: b["input"].append({"type": "phase"})),
    ("Unknown parameter", lambda b: b["input"][2].update(surprise=1)),
    ("role", lambda b: b["input"][0].update(role="tool")),
    ("phase", lambda b: b["input"][0].update(phase="commentary")),
    ("non-empty", lambda b: b["input"][0].update(content=[{"type": "input_text", "text": " "}])),
    ("assistant's", lambda b: b["input"][0].update(content=[{"type": "output_text", "text": "x"}])),
    ("call_id", lambda b: b["input"][2].update(call_id="a b")),
    ("not JSON", lambda b: b["input"][2].update(arguments="{")),
    ("not found", lambda b: b["input"][1].pop("encrypted_content")),
    ("summary", lambda b: b["input"][1].pop("summary")),
    ("required following item", lambda b: b["input"].append(dict(REASONING))),
    ("required following item", lambda b: b["input"].insert(0, dict(REASONING))),
    ("No tool output", lambda b: b["input"].pop()),
    ("No tool call", lambda b: b["input"].pop(2) and b["input"].pop(1)),
    ("Several outputs", lambda b: b["input"].append(b["input"][3])),
    ("Duplicate", lambda b: b["input"].append(b["input"][2])),
)


@pytest.mark.parametrize(("words", "change"), RESPONSES)
def test_responses_refuses(words: str, change: Change) -> None:
    body = responses_body()
    change(body)
    with pytest.raises(Refused) as raised:
        strict_responses.check_body(body)
    assert words in raised.value.message


def request(body: Any, path: str, key: str = "k", method: str = "POST") -> Request:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    return Request(method=method, path=path, headers=headers, body=data, connection=1)


def test_keys_addresses_and_bodies_are_checked_before_the_rest() -> None:
    for validator, path, body in (
        (StrictChat(OPENAI, key="k"), "/v1/chat/completions", chat_body()),
        (StrictResponses(key="k"), "/v1/responses", responses_body()),
    ):
        assert validator(request(body, path)) is None
        assert validator(request(b"", "/v1/models", method="GET")) is None
        refusals = [
            validator(request(body, path, key="other")),
            validator(request(body, "/v1/elsewhere")),
            validator(request(b"{", path)),
            validator(request(b'{"temperature": NaN}', path)),
            validator(request([], path)),
        ]
        assert [refusal and refusal[0] for refusal in refusals] == [401, 404, 400, 400, 400]
    assert StrictChat(COMPATIBLE)(request(b"", "/v1/models", key="", method="GET")) is None


def test_reasoning_must_be_what_was_written() -> None:
    written = responses.Written(whole=REASONING, start=REASONING)
    body = responses_body()
    assert StrictResponses(written=[written], must_replay=True)(request(body, "/v1/responses")) is None
    refusal = StrictResponses(written=[])(request(body, "/v1/responses"))
    assert refusal is not None and b"could not be verified" in refusal[1]
    del body["input"][1]
    refusal = StrictResponses(written=[written], must_replay=True)(request(body, "/v1/responses"))
    assert refusal is not None and b"is missing" in refusal[1]
