"""What is known of Claude models: data with a date, and how a name finds its row.

Windows and output limits: the vendor's models pages; thinking, sampling, prefill and forced tools: its
migration guides; effort levels: its effort page; smallest cacheable prefix: its prompt caching page;
retirements: its deprecations page and the table in its client for Python.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from caliban_provider.capabilities import Capabilities, Retirement
from caliban_provider.request import EFFORTS, Effort

FAMILY = "anthropic"
"""Whose signed blocks this wire carries."""

AS_OF = "2026-11-27"
"""The day on which the table was true."""

ThinkingStyle: TypeAlias = Literal["none", "budget", "adaptive", "always"]
"""How reasoning is asked for: not at all, by a token budget, by leave, or it cannot be switched off."""

_FOUR_EFFORTS: tuple[Effort, ...] = ("low", "medium", "high", "max")


class ModelFacts(Struct, frozen=True, kw_only=True):
    """One row: what the models whose name begins with `prefix` accept.

    `thinking_off` is the `thinking.type` that switches reasoning off where the model reasons by default.
    `hides_thinking` says that the text of its reasoning comes only when `display` asks for it. `efforts` are
    in rising order. `min_cache_tokens` is the smallest prefix that the vendor caches.
    """

    prefix: str
    display_name: str
    context_tokens: int | None = 1_000_000
    max_output_tokens: int | None = 128_000
    thinking: ThinkingStyle = "adaptive"
    thinking_off: Literal["disabled", "between_tools"] | None = None
    hides_thinking: bool = True
    sampling: bool = False
    prefill: bool = False
    forced_tools: bool = True
    efforts: tuple[Effort, ...] = EFFORTS
    min_cache_tokens: int = 1024
    structured_output: bool = True
    documents: bool | None = True


_BUDGET = ModelFacts(
    prefix="",
    display_name="",
    context_tokens=200_000,
    max_output_tokens=64_000,
    thinking="budget",
    hides_thinking=False,
    sampling=True,
    prefill=True,
    efforts=(),
)
_GEN_4_6 = ModelFacts(prefix="", display_name="", hides_thinking=False, sampling=True, efforts=_FOUR_EFFORTS)
_GEN_5 = ModelFacts(prefix="", display_name="", thinking_off="disabled", min_cache_tokens=512)
_ALWAYS = ModelFacts(prefix="", display_name="", thinking="always", forced_tools=False, min_cache_tokens=512)

_UNKNOWN_CLAUDE = replace(_GEN_5, prefix="claude-", thinking_off=None)
_UNKNOWN = replace(
    _BUDGET, context_tokens=None, max_output_tokens=None, structured_output=False, documents=None
)

TABLE: tuple[ModelFacts, ...] = (
    replace(_ALWAYS, prefix="claude-fable-5", display_name="Claude Fable 5"),
    replace(_ALWAYS, prefix="claude-fable-5-1", display_name="Claude Fable 5.1"),
    replace(_ALWAYS, prefix="claude-fable-5-2", display_name="Claude Fable 5.2"),
    replace(_ALWAYS, prefix="claude-mythos", display_name="Claude Mythos"),
    replace(_ALWAYS, prefix="claude-opus-5-5", display_name="Claude Opus 5.5"),
    replace(
        _GEN_5,
        prefix="claude-sonnet-5-5",
        display_name="Claude Sonnet 5.5",
        thinking_off="between_tools",
        forced_tools=False,
    ),
    replace(_GEN_5, prefix="claude-haiku-5-5", display_name="Claude Haiku 5.5"),
    replace(_GEN_5, prefix="claude-opus-5", display_name="Claude Opus 5"),
    replace(_GEN_5, prefix="claude-sonnet-5", display_name="Claude Sonnet 5", min_cache_tokens=1024),
    ModelFacts(prefix="claude-opus-4-8", display_name="Claude Opus 4.8"),
    ModelFacts(prefix="claude-opus-4-7", display_name="Claude Opus 4.7", min_cache_tokens=2048),
    replace(_GEN_4_6, prefix="claude-opus-4-6", display_name="Claude Opus 4.6", min_cache_tokens=4096),
    replace(_GEN_4_6, prefix="claude-sonnet-4-6", display_name="Claude Sonnet 4.6"),
    replace(
        _BUDGET,
        prefix="claude-opus-4-5",
        display_name="Claude Opus 4.5",
        efforts=("low", "medium", "high"),
        min_cache_tokens=4096,
    ),
    replace(_BUDGET, prefix="claude-sonnet-4-5", display_name="Claude Sonnet 4.5"),
    replace(_BUDGET, prefix="claude-haiku-4-5", display_name="Claude Haiku 4.5", min_cache_tokens=4096),
    replace(_BUDGET, prefix="claude-opus-4-1", display_name="Claude Opus 4.1", max_output_tokens=32_000),
    replace(
        _BUDGET,
        prefix="claude-opus-4-2025",
        display_name="Claude Opus 4",
        max_output_tokens=32_000,
        structured_output=False,
    ),
    replace(_BUDGET, prefix="claude-sonnet-4-2025", display_name="Claude Sonnet 4", structured_output=False),
    replace(_BUDGET, prefix="claude-3-7", display_name="Claude Sonnet 3.7", structured_output=False),
    replace(
        _BUDGET,
        prefix="claude-3",
        display_name="Claude 3",
        max_output_tokens=4096,
        thinking="none",
        min_cache_tokens=2048,
        structured_output=False,
    ),
    replace(
        _BUDGET,
        prefix="claude-3-5",
        display_name="Claude 3.5",
        max_output_tokens=8192,
        thinking="none",
        min_cache_tokens=2048,
        structured_output=False,
    ),
)
"""One row per line of models; the longest prefix that fits wins."""

_BY_LENGTH = tuple(sorted(TABLE, key=lambda row: len(row.prefix), reverse=True))
_SNAPSHOT = re.compile(r"(?:[-@]\d{8}|-latest)?(?:-v\d+(?::\d+)?)?(?:\[1m\])?$")


def facts(model: str) -> ModelFacts:
    """The row of `model`; a Claude without one is taken for a new model, anything else for a simple one.

    Cloud spellings are understood: `us.anthropic.claude-opus-4-6-v1`, `claude-opus-4-5@20251101`.
    """
    name = _core(model)
    for row in _BY_LENGTH:
        if name.startswith(row.prefix):
            return row
    return _UNKNOWN_CLAUDE if name.startswith(_UNKNOWN_CLAUDE.prefix) else _UNKNOWN


RETIREMENTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "claude-opus-4-2025": ("2026-06-15", "claude-opus-4-8"),
        "claude-sonnet-4-2025": ("2026-06-15", "claude-sonnet-4-6"),
        "claude-mythos-preview": ("2026-06-30", ""),
        "claude-sonnet-4-5": ("2026-11-30", "claude-sonnet-5-5"),
        "claude-opus-4-5": ("2027-01-22", "claude-opus-5-5"),
    }
)
"""Beginning of a name -> the day on which the vendor retires it, and what to ask instead."""


def same_model(left: str | None, right: str | None) -> bool:
    """Whether two names mean one model: an alias and its dated snapshot do."""
    if left is None or right is None:
        return False
    return left == right or _SNAPSHOT.sub("", _core(left)) == _SNAPSHOT.sub("", _core(right))


def is_opaque(model: str) -> bool:
    """Whether a name says nothing of the model behind it: a cloud's resource name may."""
    return model.startswith("arn:") and "claude-" not in model


def capabilities(model: str) -> Capabilities:
    """What `model` can do, from its row."""
    row = facts(model)
    return Capabilities(
        context_tokens=row.context_tokens,
        max_output_tokens=row.max_output_tokens,
        vision=True,
        documents=row.documents,
        document_pages=600 if (row.context_tokens or 0) >= 1_000_000 else 100,
        thinking=row.thinking != "none",
        efforts=row.efforts,
        prompt_cache=True,
        structured_output=row.structured_output,
    )


def retirement(model: str) -> Retirement | None:
    """When the vendor retires `model`, where that is known; clouds have days of their own."""
    name = _core(model)
    for prefix, (day, successor) in RETIREMENTS.items():
        if name.startswith(prefix):
            return Retirement(on=day, successor=successor, as_of=AS_OF)
    return None


def _core(model: str) -> str:
    name = model.strip().lower()
    start = name.find("claude-")
    return name if start < 0 else name[start:].replace(".", "-")
