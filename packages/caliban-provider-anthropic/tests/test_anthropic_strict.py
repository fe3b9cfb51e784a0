"""The strict validator: it lets our requests pass, and refuses what the vendor refuses."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from extent_kit import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from caliban_common.history import TargetModel, repair
from caliban_common.message import Message, TextBlock, ThinkingBlock, user
from caliban_common.tool import ToolSpec
from caliban_provider.errors import InvalidRequest
from caliban_provider.request import CompletionRequest
from caliban_provider.testing import strategies
from caliban_provider.testing.exchange import Request
from caliban_provider_anthropic.encode import Encoder, body_bytes
from caliban_provider_anthropic.testing import wire
from caliban_provider_anthropic.testing.strict import StrictValidator

Body = dict[str, Any]
MARK = {"type": "ephemeral"}
HEADERS = {"content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01"}


def posted(body: Body | bytes, **headers: str) -> Request:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Request(
        method="POST", path="/v1/messages", headers={**HEADERS, **headers}, body=data, connection=1
    )


def refusal(body: Body | bytes, validator: StrictValidator | None = None) -> str | None:
    answer = (validator or StrictValidator())(posted(body))
    if answer is None:
        return None
    status, data = answer
    shaped = json.loads(data)
    assert status == 400 and shaped["type"] == "error"
    assert shaped["error"]["type"] == "invalid_request_error"
    return str(shaped["error"]["message"])


def good() -> Body:
    return {
        "model": "claude-haiku-4-5",
        "max_tokens": 4000,
        "stream": True,
        "thinking": {"type": "enabled", "budget_tokens": 2000},
        "tools": [{"name": "Read", "description": "d", "input_schema": {"type": "object"}}],
        "system": [{"type": "text", "text": "s", "cache_control": MARK}],
        "messages": [
            {"role": "user", "content": "u"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "abc", "signature": "SIG"},
                    {"type": "text", "text": "t"},
                    {"type": "tool_use", "id": "a", "name": "Read", "input": {}},
                    {"type": "tool_use", "id": "b", "name": "Read", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": "r"},
                    {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "r"}]},
                    {"type": "text", "text": "now", "cache_control": MARK},
                ],
            },
        ],
    }


def test_a_good_body_passes() -> None:
    assert refusal(good()) is None


def content(body: Body, message: int) -> list[Body]:
    blocks: list[Body] = body["messages"][message]["content"]
    return blocks


def put(*path: Any, value: Any) -> Callable[[Body], None]:
    def change(body: Body) -> None:
        target: Any = body
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = value

    return change


def drop(*path: Any) -> Callable[[Body], None]:
    def change(body: Body) -> None:
        target: Any = body
        for step in path[:-1]:
            target = target[step]
        del target[path[-1]]

    return change


def five_marks(body: Body) -> None:
    for block in content(body, 2):
        block["cache_control"] = MARK
    body["tools"][0]["cache_control"] = MARK


def add(message: int, block: Body) -> Callable[[Body], None]:
    return lambda body: content(body, message).append(block)


OBJECT = {"type": "object", "properties": {}}
CHANGES: list[tuple[str, Callable[[Body], None]]] = [
    ("Extra inputs", put("surprise", value=1)),
    ("max_tokens", put("max_tokens", value=0)),
    ("maximum allowed", put("max_tokens", value=64_001)),
    ("max_tokens", drop("max_tokens")),
    ("model", put("model", value="")),
    ("at least one message", put("messages", value=[])),
    ("first message must use", put("messages", value=[{"role": "assistant", "content": "a"}])),
    ("wrong keys", put("messages", 0, "id", value="m")),
    ("unexpected role", put("messages", 0, "role", value="tool")),
    ("non-empty content", put("messages", 0, "content", value=[])),
    ("must be non-empty", put("messages", 0, "content", value="")),
    ("non-whitespace", put("messages", 0, "content", value=" \n")),
    ("must be non-empty", put("system", 0, "text", value="")),
    ("non-whitespace", put("messages", 2, "content", 1, "content", 0, "text", value=" ")),
    ("content cannot be empty", put("messages", 2, "content", 1, "content", value=[])),
    (
        "type `text`",
        lambda body: content(body, 2)[0].update(
            is_error=True,
            content=[
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
                }
            ],
        ),
    ),
    ("without `tool_result`", drop("messages", 2, "content", 0)),
    ("without `tool_result`", drop("messages", 2)),
    ("unexpected `tool_use_id`", put("messages", 2, "content", 0, "tool_use_id", value="c")),
    ("several results", put("messages", 2, "content", 2, value={"type": "tool_result", "tool_use_id": "a"})),
    ("without `tool_result`", lambda body: content(body, 2).reverse()),
    ("must be unique", put("messages", 1, "content", 3, "id", value="a")),
    ("should match pattern", put("messages", 1, "content", 2, "id", value="functions.Read:0")),
    ("should match pattern", put("messages", 1, "content", 2, "id", value="x" * 65)),
    ("should match pattern", put("messages", 1, "content", 2, "name", value="a b")),
    ("valid dictionary", put("messages", 1, "content", 2, "input", value="{}")),
    ("Extra inputs", put("messages", 1, "content", 2, "raw_input", value="{}")),
    ("signature", put("messages", 1, "content", 0, "signature", value="")),
    ("signature", drop("messages", 1, "content", 0, "signature")),
    ("Expected `thinking`", drop("messages", 1, "content", 0)),
    ("only permitted in user", add(1, {"type": "image", "source": {}})),
    ("only permitted in assistant", add(2, {"type": "thinking", "thinking": "", "signature": "s"})),
    ("media_type", add(2, {"type": "image", "source": {"type": "base64", "media_type": "x", "data": ""}})),
    ("does not match any", add(2, {"type": "opaque", "data": {}})),
    ("at most 4|maximum of 4", five_marks),
    ("cache_control", put("system", 0, "cache_control", value={"type": "permanent"})),
    ("budget_tokens", put("thinking", "budget_tokens", value=1023)),
    ("budget_tokens", put("thinking", "budget_tokens", value=4000)),
    ("adaptive", put("thinking", value={"type": "adaptive"})),
    ("thinking", put("thinking", value={"type": "on"})),
    ("only be set to 1", put("temperature", value=0.5)),
    ("range", put("temperature", value=1.5)),
    ("effort", put("output_config", value={"effort": "low"})),
    (
        "additionalProperties",
        put("output_config", value={"format": {"type": "json_schema", "schema": OBJECT}}),
    ),
    ("should match pattern", put("tools", 0, "name", value="a.b")),
    ("required", put("tools", 0, "input_schema", value={})),
    ("top level", put("tools", 0, "input_schema", "anyOf", value=[{}])),
    ("must be unique", lambda body: body["tools"].append(body["tools"][0])),
    ("forces tool use", put("tool_choice", value={"type": "any"})),
    ("providing tools", lambda body: (body.pop("tools"), body.update(tool_choice={"type": "auto"}))[0]),
    ("prefill", lambda body: body["messages"].append({"role": "assistant", "content": "So"})),
]


@pytest.mark.parametrize(("message", "change"), CHANGES)
def test_a_bad_body_is_refused(message: str, change: Callable[[Body], None]) -> None:
    body = copy.deepcopy(good())
    change(body)
    reason = refusal(body)
    assert reason is not None
    assert any(part.lower() in reason.lower() for part in message.split("|")), reason


@pytest.mark.parametrize(
    ("model", "members", "message"),
    [
        ("claude-opus-4-7", {"temperature": 1}, "not supported"),
        ("claude-opus-4-7", {"thinking": {"type": "enabled", "budget_tokens": 2000}}, "not supported"),
        ("claude-opus-5-5", {"thinking": {"type": "disabled"}}, "not supported"),
        ("claude-sonnet-5-5", {"thinking": {"type": "disabled"}}, "between_tools"),
        ("claude-haiku-4-5", {"thinking": {"type": "between_tools"}}, "not supported"),
        ("claude-opus-5", {"thinking": {"type": "disabled"}, "output_config": {"effort": "max"}}, "effort"),
        ("claude-opus-4-5", {"output_config": {"effort": "max"}}, "max"),
        (
            "claude-opus-5-5",
            {"tools": [{"name": "R", "input_schema": OBJECT}], "tool_choice": {"type": "any"}},
            "forced",
        ),
        (
            "claude-haiku-4-5",
            {"tools": [{"name": "R", "input_schema": OBJECT}], "tool_choice": {"type": "tool", "name": "X"}},
            "not found",
        ),
    ],
)
def test_what_one_model_refuses_is_refused_for_it(model: str, members: Body, message: str) -> None:
    body = {"model": model, "max_tokens": 4000, "messages": [{"role": "user", "content": "u"}], **members}
    assert message in (refusal(body) or "")


def test_trailing_white_space_of_a_prefill_is_refused() -> None:
    body = good()
    del body["thinking"]
    body["messages"].append({"role": "assistant", "content": "So "})
    assert "trailing whitespace" in (refusal(body) or "")
    body["messages"][-1]["content"] = "So"
    assert refusal(body) is None


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"max_tokens":NaN}', b'{"a":"\\ud800"}', b"\xff"])
def test_what_is_no_json_is_refused(data: bytes) -> None:
    assert refusal(data)


def test_altered_and_unknown_reasoning_is_refused() -> None:
    signed = [wire.thinking("abc", signature="SIG"), wire.redacted("cipher")]
    body = good()
    assert refusal(body, StrictValidator(signed=signed)) is None
    assert "missing" in (refusal(body, StrictValidator(signed=signed, must_replay=True)) or "")
    content(body, 1)[0]["signature"] = "SIH"
    assert "Invalid `signature`" in (refusal(body, StrictValidator(signed=signed)) or "")
    content(body, 1)[0].update(signature="SIG", thinking="abd")
    assert "Invalid `signature`" in (refusal(body, StrictValidator(signed=signed)) or "")


def test_keys_paths_versions_and_models_are_checked() -> None:
    validator = StrictValidator(key="k", models=["claude-haiku-4-5"])
    request = posted(good())
    assert validator(request) is None

    def status(**changes: Any) -> int:
        members = {name: getattr(request, name) for name in ("method", "path", "headers", "body")}
        answer = validator(Request(**{**members, **changes}, connection=1))
        return 200 if answer is None else answer[0]

    assert status(headers={**HEADERS, "x-api-key": "other"}) == 401
    assert status(headers={"content-type": "application/json", "anthropic-version": "x"}) == 401
    bearer = {"content-type": "application/json", "anthropic-version": "x", "authorization": "Bearer k"}
    assert status(headers=bearer) == 200
    assert status(headers={"content-type": "application/json", "x-api-key": "k"}) == 400
    assert status(path="/v1/complete") == 404
    assert status(method="GET", path="/v1/models?limit=2", body=b"") == 200
    assert status(body=json.dumps({**good(), "model": "claude-9"}).encode()) == 404
    assert status(body=b" " * (32 * 1024 * 1024 + 1)) == 413


MODELS = [
    "claude-haiku-4-5",
    "claude-sonnet-4-6",
    "claude-opus-4-8",
    "claude-opus-5",
    "claude-opus-5-5",
    "glm-5",
]
READ = ToolSpec(name="Read", description="Read.", input_schema={"type": "object", "properties": {}})
TOOLS = (READ, ToolSpec(name="mcp__a.b", description="", input_schema={"anyOf": []}))


@st.composite
def requests(draw: st.DrawFn) -> CompletionRequest:
    model = draw(st.sampled_from(MODELS))
    history = draw(strategies.histories())
    own = draw(st.booleans())
    if own:
        history = tuple(
            Message(role=m.role, content=m.content, family="anthropic", model=model)
            if m.role == "assistant"
            else m
            for m in history
        )
    return CompletionRequest(
        model=model,
        messages=repair(history, TargetModel(family="anthropic", model=model)),
        max_tokens=draw(st.sampled_from([1, 1024, 4000, 200_000])),
        tools=draw(st.sampled_from([(), TOOLS])),
        tool_choice=draw(st.sampled_from(["auto", "none", "any", "mcp__a.b"])),
        temperature=draw(st.sampled_from([None, 0.0, 2.0])),
        thinking_tokens=draw(st.sampled_from([None, 0, 1, 3000])),
        effort=draw(st.sampled_from([None, "low", "max"])),
        response_schema=draw(st.sampled_from([None, {"type": "object", "properties": {}}])),
        cache=draw(st.booleans()),
    )


LAW = settings(max_examples=examples(80))


@LAW
@given(requests())
def test_no_repaired_history_makes_a_request_that_is_refused(request: CompletionRequest) -> None:
    try:
        body = body_bytes(request)
    except InvalidRequest:
        assume(False)
    assert refusal(body) is None, body.decode()


@settings(LAW, max_examples=examples(25))
@given(st.lists(requests(), min_size=2, max_size=4))
def test_an_encoder_that_remembers_says_what_one_that_does_not_says(asked: list[CompletionRequest]) -> None:
    encoder = Encoder(memo_bytes=2000)
    for request in asked + asked:
        try:
            expected = body_bytes(request)
        except InvalidRequest:
            continue
        assert encoder.body(request).join() == expected


def test_the_messages_of_a_switched_model_are_accepted() -> None:
    written = Message(
        role="assistant",
        content=(ThinkingBlock(text="a", signature="s"), TextBlock(text="b")),
        family="anthropic",
        model="claude-opus-4-6",
    )
    request = CompletionRequest(
        model="claude-haiku-4-5", messages=(user("a"), written, user("c")), max_tokens=9
    )
    assert refusal(body_bytes(request), StrictValidator(signed=[])) is None
