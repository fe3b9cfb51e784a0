"""What the tables say of models and servers, and how a name finds its row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import InvalidRequest
from caliban_provider_openai import models
from caliban_provider_openai.models import TABLE, capabilities, facts
from caliban_provider_openai.names import IdRule, wire_name
from caliban_provider_openai.quirks import Quirks, quirks_of


@pytest.mark.parametrize(
    ("model", "prefix"),
    [
        ("gpt-5.5", "gpt-5.5"),
        ("gpt-5.5-2026-04-23", "gpt-5.5"),
        ("openai/gpt-5.4-mini", "gpt-5.4-mini"),
        ("GPT-4o-mini", "gpt-4o"),
        ("gpt-5-mini", "gpt-5"),
        ("o3-pro", "o3"),
        ("gpt-oss-20b", "gpt-oss"),
        ("gpt-9", "gpt-"),
        ("gpt-5.7-sol", "gpt-"),
        ("gpt-5.6", "gpt-5.6"),
        ("gpt-5.7", "gpt-"),
        ("gpt-5.3-chat-latest", "gpt-5.3-chat"),
        ("gpt-5.5-pro-2026-04-23", "gpt-5.5-pro"),
        ("gpt-4-turbo-2024-04-09", "gpt-4-turbo"),
        ("gpt-4-0613", "gpt-4"),
        ("gpt-4.1-nano", "gpt-4.1"),
        ("o30", ""),
        ("llama3.1", ""),
        ("", ""),
    ],
)
def test_a_name_finds_the_longest_row_that_fits(model: str, prefix: str) -> None:
    assert facts(model).prefix == prefix


def test_every_row_is_found_by_its_own_name_and_efforts_rise() -> None:
    order = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    for row in TABLE:
        assert facts(row.prefix) is row
        assert list(row.efforts) == sorted(row.efforts, key=order.index)
        assert bool(row.efforts) is row.reasons
    assert models.AS_OF == "2026-11-27"


LONG, SHORT = 1_050_000, 400_000
ALWAYS = ("low", "medium", "high", "xhigh")
ANY = ("none", *ALWAYS)
VENDOR = {
    # model: window, output, efforts, whether Chat Completions takes tools beside reasoning
    "gpt-6.2-astra": (LONG, 128_000, ALWAYS, False),
    "gpt-6.2-sol": (LONG, 128_000, ALWAYS, False),
    "gpt-6.1-sol": (LONG, 128_000, ALWAYS, False),
    "gpt-6.1-terra": (LONG, 128_000, ANY, False),
    "gpt-6-astra": (LONG, 128_000, ALWAYS, False),
    "gpt-6-sol": (LONG, 128_000, ANY, False),
    "gpt-6-luna": (LONG, 128_000, ANY, False),
    "gpt-5.6-sol": (LONG, 128_000, ANY, False),
    "gpt-5.6-terra": (LONG, 128_000, ANY, False),
    "gpt-5.6-luna": (LONG, 128_000, ANY, False),
    "gpt-5.5": (1_000_000, 128_000, ANY, False),
    "gpt-5.4": (LONG, 128_000, ANY, False),
    "gpt-5.4-mini": (SHORT, 128_000, ANY, False),
    "gpt-5.4-nano": (SHORT, 128_000, ANY, False),
    "gpt-5.3-codex": (SHORT, 128_000, ALWAYS, True),
    "gpt-5.3-chat-latest": (128_000, 16_384, (), True),
    "gpt-5.2": (SHORT, 128_000, ANY, True),
    "gpt-5.1": (SHORT, 128_000, ("none", "low", "medium", "high"), True),
    "gpt-5": (SHORT, 128_000, ("minimal", "low", "medium", "high"), True),
    "gpt-5-pro": (SHORT, 128_000, ("high",), True),
    "o3": (200_000, 100_000, ("low", "medium", "high"), True),
    "gpt-4.1": (1_000_000, 32_768, (), True),
    "gpt-4o": (128_000, 16_384, (), True),
    "gpt-4-turbo": (128_000, 4096, (), True),
    "gpt-4": (8192, 4096, (), True),
}


@pytest.mark.parametrize("model", VENDOR)
def test_a_row_says_what_the_vendor_says(model: str) -> None:
    row = facts(model)
    columns = (row.context_tokens, row.max_output_tokens, row.efforts, row.chat_tools)
    assert columns == VENDOR[model]


def test_capabilities_come_from_the_row() -> None:
    assert capabilities("gpt-5.5") == Capabilities(
        context_tokens=1_000_000,
        input_tokens=922_000,
        max_output_tokens=128_000,
        vision=True,
        documents=True,
        image_bytes=15_000_000,
        stills_only=True,
        document_bytes=24_000_000,
        thinking=True,
        efforts=("low", "medium", "high", "xhigh"),
        prompt_cache=True,
        structured_output=True,
    )
    assert capabilities("qwen3").context_tokens is None
    limits = {name: capabilities(name).prompt_tokens for name in ("gpt-5.6", "gpt-5.2", "o3", "gpt-9")}
    assert limits == {"gpt-5.6": 922_000, "gpt-5.2": 272_000, "o3": 200_000, "gpt-9": None}


@pytest.mark.parametrize(
    ("host", "kind", "expected"),
    [
        ("api.openai.com", "openai", ("max_completion_tokens", "developer", 40, False, "")),
        ("", "azure", ("max_completion_tokens", "developer", 40, False, "")),
        ("127.0.0.1", "compatible", ("max_tokens", "system", 40, False, "")),
        ("api.mistral.ai", "compatible", ("max_tokens", "system", 9, True, "")),
        ("api.deepseek.com", "compatible", ("max_tokens", "system", 40, False, "reasoning_content")),
        ("openrouter.ai", "compatible", ("max_tokens", "system", 40, False, "reasoning")),
        ("notmistral.ai", "compatible", ("max_tokens", "system", 40, False, "")),
    ],
)
def test_a_host_has_its_quirks(host: str, kind: str, expected: tuple[object, ...]) -> None:
    row = quirks_of(host, kind)  # type: ignore[arg-type]
    columns = (row.max_tokens_field, row.system_role, row.id_chars, row.id_exact, row.reasoning_field)
    assert columns == expected


def test_an_operator_may_change_quirks() -> None:
    changed = quirks_of("", "compatible", "stream_options=false, id_chars=64 reasoning_field=reasoning")
    given = {"stream_options": False, "id_chars": 64, "reasoning_field": "reasoning"}
    assert changed == Quirks(**given, said=frozenset(given))
    for wrong in ("nonsense", "stream_options=perhaps", "id_chars=many", "weather=blue"):
        with pytest.raises(InvalidRequest, match="is not known"):
            quirks_of("", "compatible", wrong)


RULES = (IdRule(chars=40), IdRule(chars=64), IdRule(chars=9, exact=True), IdRule(chars=64, extra=".:"))


@given(st.text(), st.text(), st.sampled_from(RULES))
def test_ids_fit_the_rule_stay_different_and_do_not_change_twice(one: str, other: str, rule: IdRule) -> None:
    made = rule.apply(one)
    assert 1 <= len(made) <= rule.chars and made.isascii()
    assert all(char.isalnum() or char in f"_-{rule.extra}" for char in made)
    assert not rule.exact or (len(made) == rule.chars and made.isalnum())
    assert rule.apply(made) == made
    if one and other:
        assert (rule.apply(other) == made) is (one == other)


def test_fine_ids_and_names_stay_as_they_are() -> None:
    assert IdRule(chars=40).apply("call_abc-1") == "call_abc-1"
    assert IdRule(chars=9, exact=True).apply("a1B2c3D4e") == "a1B2c3D4e"
    assert IdRule(chars=64, extra=".:").apply("functions.Read:0") == "functions.Read:0"
    assert wire_name("mcp__server__tool") == "mcp__server__tool"
    assert wire_name("mcp.server.tool").startswith("mcp_server_tool_")
    assert len(wire_name("x" * 100)) == 64


@pytest.mark.parametrize(
    ("model", "vision", "thinking"),
    [
        ("anthropic/claude-opus-5", True, True),
        ("google/gemini-3.8-flash", True, True),
        ("qwen/qwen2.5-vl-72b", True, False),
        ("deepseek/deepseek-chat", None, True),
        ("nobody/knows-it", None, False),
    ],
)
def test_a_family_is_known_wherever_it_is_served(model: str, vision: bool | None, thinking: bool) -> None:
    known = capabilities(model)
    assert (known.vision, known.thinking) == (vision, thinking)
