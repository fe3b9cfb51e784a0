"""How a request's wishes meet what its model takes."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_common.message import (
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    user,
)
from caliban_common.tool import ToolSpec
from caliban_provider.request import CompletionRequest
from caliban_provider_anthropic.encode import encode

READ = ToolSpec(name="Read", description="Read a file.", input_schema={"type": "object"})
OLD, MIDDLE, NEW, ALWAYS = "claude-haiku-4-5", "claude-sonnet-4-6", "claude-opus-5", "claude-opus-5-5"


def members(model: str, *messages: Message, **wishes: Any) -> dict[str, Any]:
    request = CompletionRequest(
        model=model, messages=messages or (user("a"),), **{"max_tokens": 8000, **wishes}
    )
    body = encode(request)
    fixed = {"model", "stream", "messages", "tools", "system"}
    return {key: value for key, value in body.items() if key not in fixed}


@pytest.mark.parametrize(
    ("model", "tokens", "thinking"),
    [
        (OLD, 4000, {"type": "enabled", "budget_tokens": 4000}),
        (OLD, 10, {"type": "enabled", "budget_tokens": 1024}),
        (OLD, 100_000, {"type": "enabled", "budget_tokens": 7999}),
        (OLD, 0, None),
        (OLD, None, None),
        (MIDDLE, 4000, {"type": "adaptive"}),
        (MIDDLE, 0, None),
        (NEW, 4000, {"type": "adaptive", "display": "summarized"}),
        (NEW, 0, {"type": "disabled"}),
        (NEW, None, None),
        ("claude-sonnet-5-5", 0, {"type": "between_tools"}),
        (ALWAYS, 4000, {"type": "adaptive", "display": "summarized"}),
        (ALWAYS, 0, None),
        ("claude-3-5-haiku-20241022", 4000, None),
        ("glm-5", 4000, {"type": "enabled", "budget_tokens": 4000}),
    ],
)
def test_thinking_is_asked_for_in_the_models_own_way(
    model: str, tokens: int | None, thinking: dict[str, Any] | None
) -> None:
    assert members(model, thinking_tokens=tokens).get("thinking") == thinking


def test_a_reply_too_short_for_the_smallest_budget_has_none() -> None:
    assert "thinking" not in members(OLD, thinking_tokens=4000, max_tokens=1024)
    assert members(OLD, thinking_tokens=4000, max_tokens=1025)["thinking"]["budget_tokens"] == 1024


CALL = ToolUseBlock(id="t", name="Read", input={})
RESULT = Message(role="user", content=(ToolResultBlock(tool_use_id="t", content=(TextBlock(text="r"),)),))


def loop(*opening: ThinkingBlock, model: str = OLD) -> tuple[Message, ...]:
    call = Message(role="assistant", content=(*opening, CALL), family="anthropic", model=model)
    return (user("a"), call, RESULT)


def test_a_tool_loop_that_began_without_thinking_goes_on_without() -> None:
    signed = ThinkingBlock(text="hm", signature="s")
    assert "thinking" in members(OLD, *loop(signed), thinking_tokens=2000)
    assert "thinking" not in members(OLD, *loop(), thinking_tokens=2000)
    assert "thinking" not in members(OLD, *loop(signed, model="claude-opus-4-5"), thinking_tokens=2000)
    assert "thinking" not in members(OLD, *loop(), user("meanwhile"), thinking_tokens=2000)
    answered = Message(role="assistant", content=(TextBlock(text="Done."),))
    assert "thinking" in members(OLD, *loop(), answered, user("next"), thinking_tokens=2000)
    assert "thinking" in members(MIDDLE, *loop(), thinking_tokens=2000)


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        (MIDDLE, "low", "low"),
        (MIDDLE, "max", "max"),
        (MIDDLE, "xhigh", "high"),
        ("claude-opus-4-7", "xhigh", "xhigh"),
        ("claude-haiku-5-5", "max", "max"),
        ("claude-opus-4-5", "max", "high"),
        ("claude-opus-4-5", "medium", "medium"),
        (OLD, "high", None),
        ("glm-5", "high", None),
        (MIDDLE, None, None),
    ],
)
def test_effort_is_weakened_to_what_the_model_knows(model: str, effort: Any, sent: str | None) -> None:
    assert members(model, effort=effort).get("output_config", {}).get("effort") == sent


@pytest.mark.parametrize(
    ("model", "wishes", "sent"),
    [
        (OLD, {}, 0.7),
        (MIDDLE, {}, 0.7),
        (NEW, {}, None),
        (ALWAYS, {}, None),
        ("claude-opus-4-7", {}, None),
        ("claude-wonder-7", {}, None),
        ("glm-5", {}, 0.7),
        (OLD, {"temperature": 1.5}, 1.0),
        (OLD, {"thinking_tokens": 2000}, None),
        (MIDDLE, {"thinking_tokens": 2000}, None),
        (MIDDLE, {"thinking_tokens": 0}, 0.7),
    ],
)
def test_temperature_is_sent_where_the_model_samples_and_does_not_think(
    model: str, wishes: dict[str, Any], sent: float | None
) -> None:
    assert members(model, **{"temperature": 0.7, **wishes}).get("temperature") == sent


@pytest.mark.parametrize(
    ("model", "choice", "sent"),
    [
        (MIDDLE, "auto", None),
        (MIDDLE, "none", {"type": "none"}),
        (MIDDLE, "any", {"type": "any"}),
        (MIDDLE, "Read", {"type": "tool", "name": "Read"}),
        (ALWAYS, "none", {"type": "none"}),
        (ALWAYS, "any", None),
        ("claude-sonnet-5-5", "Read", None),
    ],
)
def test_tool_choice_is_mapped_and_dropped_where_it_cannot_be_forced(
    model: str, choice: str, sent: dict[str, str] | None
) -> None:
    assert members(model, tools=(READ,), tool_choice=choice).get("tool_choice") == sent


def test_tool_choice_without_tools_is_not_sent() -> None:
    assert "tool_choice" not in members(MIDDLE, tool_choice="any")


def test_a_forced_tool_switches_thinking_off() -> None:
    forced = {"tools": (READ,), "tool_choice": "any", "thinking_tokens": 2000}
    assert "thinking" not in members(MIDDLE, **forced)
    assert members(NEW, **forced)["thinking"] == {"type": "disabled"}
    assert "thinking" not in members(NEW, **forced, effort="max")
    assert "thinking" not in members(NEW, **forced, effort="xhigh")


def test_a_reply_schema_becomes_a_format() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer", "minimum": 1}},
        "required": ["n"],
    }
    assert members(MIDDLE, response_schema=schema, effort="low")["output_config"] == {
        "effort": "low",
        "format": {
            "type": "json_schema",
            "schema": {
                "type": "object",
                "properties": {"n": {"type": "integer"}},
                "additionalProperties": False,
                "required": ["n"],
            },
        },
    }
    assert "output_config" not in members("glm-5", response_schema=schema)
    assert "output_config" not in members(MIDDLE, response_schema={"type": "object"})


def test_max_tokens_is_bounded_by_the_model() -> None:
    assert members(OLD, max_tokens=100_000)["max_tokens"] == 64_000
    assert members(MIDDLE, max_tokens=100_000)["max_tokens"] == 100_000
    assert members("glm-5", max_tokens=500_000)["max_tokens"] == 500_000
