"""What becomes of a wish, model by model."""

from __future__ import annotations

from typing import Any

import pytest

from caliban_common.message import user
from caliban_common.tool import ToolSpec
from caliban_provider.capabilities import Capabilities, Retirement
from caliban_provider.request import CompletionRequest
from caliban_provider_google.encode import encode
from caliban_provider_google.models import AS_OF, TABLE, capabilities, facts
from caliban_provider_google.testing.strict import check_body

READ = ToolSpec(name="Read", description="", input_schema={})


def config(model: str, **members: Any) -> dict[str, Any]:
    members = {"max_tokens": 100, **members}
    body = encode(CompletionRequest(model=model, messages=(user("u"),), **members))
    check_body(body, facts(model))
    made: dict[str, Any] = body["generationConfig"]
    return made


@pytest.mark.parametrize(
    ("model", "wish", "thinking"),
    [
        ("gemini-3.8-flash", {}, None),
        ("gemini-3.8-flash", {"effort": "low"}, {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-3.8-flash", {"effort": "max"}, {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        ("gemini-3.8-flash", {"thinking_tokens": 0}, {"includeThoughts": False, "thinkingLevel": "MINIMAL"}),
        ("gemini-3.8-flash", {"thinking_tokens": 2000}, {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-3.8-flash", {"thinking_tokens": 9000}, {"includeThoughts": True, "thinkingLevel": "MEDIUM"}),
        ("gemini-3.8-flash", {"thinking_tokens": 32000}, {"includeThoughts": True, "thinkingLevel": "HIGH"}),
        (
            "gemini-3.8-flash",
            {"thinking_tokens": 2000, "effort": "high"},
            {"includeThoughts": True, "thinkingLevel": "HIGH"},
        ),
        ("gemini-3-pro-preview", {"effort": "medium"}, {"includeThoughts": True, "thinkingLevel": "LOW"}),
        ("gemini-4-argon", {"thinking_tokens": 0}, {"includeThoughts": False, "thinkingLevel": "LOW"}),
        ("gemini-2.5-flash", {"thinking_tokens": 0}, {"includeThoughts": False, "thinkingBudget": 0}),
        ("gemini-2.5-pro", {"thinking_tokens": 0}, {"includeThoughts": False, "thinkingBudget": 128}),
        ("gemini-2.5-flash", {"thinking_tokens": 99999}, {"includeThoughts": True, "thinkingBudget": 24576}),
        ("gemini-2.5-flash", {"thinking_tokens": 9}, {"includeThoughts": True, "thinkingBudget": 512}),
        ("gemini-2.5-pro", {"effort": "medium"}, {"includeThoughts": True, "thinkingBudget": 8192}),
        ("gemini-2.0-flash", {"thinking_tokens": 2000, "effort": "high"}, None),
        ("gemma-3", {"effort": "high"}, None),
    ],
)
def test_reasoning_is_a_level_or_a_budget(model: str, wish: dict[str, Any], thinking: Any) -> None:
    assert config(model, **wish).get("thinkingConfig") == thinking


def test_sampling_is_left_out_where_the_model_takes_none() -> None:
    assert "temperature" not in config("gemini-3.8-flash", temperature=0.5)
    assert config("gemini-2.5-pro", temperature=3.0)["temperature"] == 2.0


def test_the_length_is_at_most_what_the_model_writes() -> None:
    assert config("gemini-2.0-flash", max_tokens=99999)["maxOutputTokens"] == 8192
    assert config("gemma-3", max_tokens=99999)["maxOutputTokens"] == 99999


def test_a_reply_is_held_to_a_schema_where_tools_allow_it() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": False}
    wanted = {
        "maxOutputTokens": 100,
        "responseMimeType": "application/json",
        "responseSchema": {"type": "OBJECT", "properties": {"a": {"type": "STRING"}}},
    }
    plain = {"maxOutputTokens": 100}
    assert config("gemini-2.5-pro", response_schema=schema) == wanted
    assert config("gemini-2.5-pro", response_schema=schema, tools=(READ,)) == plain
    assert config("gemini-2.5-pro", response_schema=schema, tools=(READ,), tool_choice="none") == wanted
    assert config("gemini-3.8-flash", response_schema=schema, tools=(READ,)) == wanted


def test_a_model_is_known_by_its_longest_prefix_and_guessed_else() -> None:
    assert facts("models/gemini-3.5-flash-lite-001").display_name == "Gemini 3.5 Flash-Lite"
    assert facts("gemini-9-future").signs and facts("gemini-9-future").display_name == ""
    assert capabilities("gemini-3.8-flash") == Capabilities(
        context_tokens=1_000_000,
        max_output_tokens=65_536,
        vision=True,
        documents=True,
        image_types=("image/png", "image/jpeg", "image/webp"),
        image_bytes=14_000_000,
        document_bytes=14_000_000,
        document_pages=1000,
        thinking=True,
        efforts=("low", "medium", "high"),
        prompt_cache=True,
        structured_output=True,
    )
    retired = capabilities("models/gemini-2.0-flash").retirement
    assert retired == Retirement(on="2026-06-01", successor="gemini-3.8-flash", as_of=AS_OF)
    assert capabilities("something else").context_tokens is None
    assert len({row.prefix for row in TABLE}) == len(TABLE)
