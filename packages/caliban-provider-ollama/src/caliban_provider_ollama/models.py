"""What a server tells of its models, and what is guessed while it has not been asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from caliban_provider.capabilities import Capabilities
from caliban_provider.json_fields import strings
from caliban_provider.request import Effort

FAMILY = "ollama"
"""Whose blocks this wire carries; none of them is signed."""

LINE = "a line of the answer"
FOREIGN = "Check the base URL: is this an Ollama server?"

_LEVELS_ONLY = ("gpt-oss",)

LEVELS: tuple[Effort, ...] = ("low", "medium", "high")
"""What models take that want a depth of reasoning."""


class ModelFacts(Struct, frozen=True, kw_only=True):
    """What `/api/show` tells of one model; `None` is not known.

    `context_tokens` is the window that it was trained for. `levels` says that it takes a depth of reasoning
    instead of yes or no, and cannot be kept from it.
    """

    context_tokens: int | None = None
    tools: bool | None = None
    vision: bool | None = None
    thinking: bool | None = None
    levels: bool = False


def facts_from(model: str, shown: Mapping[str, Any]) -> ModelFacts:
    """The facts in an answer of `/api/show`; servers of old tell no capabilities."""
    abilities = strings(shown, "capabilities")
    info = shown.get("model_info")
    return ModelFacts(
        context_tokens=_context(info) if isinstance(info, dict) else None,
        tools="tools" in abilities if abilities else None,
        vision="vision" in abilities if abilities else None,
        thinking="thinking" in abilities if abilities else None,
        levels=takes_levels(model),
    )


def takes_levels(model: str) -> bool:
    """Whether `model` is known to take levels of reasoning only."""
    return model.rsplit("/", 1)[-1].startswith(_LEVELS_ONLY)


def capabilities(facts: ModelFacts | None) -> Capabilities:
    """What a model can do; one that is not known is taken for one that calls tools."""
    known = facts or ModelFacts()
    return Capabilities(
        context_tokens=known.context_tokens,
        tools=known.tools is not False,
        vision=known.vision,
        documents=False,
        thinking=known.thinking is True,
        efforts=LEVELS if known.levels else None,
        structured_output=True,
    )


def _context(info: Mapping[str, Any]) -> int | None:
    """The window, under the name of the model's architecture: `llama.context_length`."""
    own = info.get(f"{info.get('general.architecture')}.context_length")
    others = [value for key, value in info.items() if key.endswith(".context_length")]
    for value in (own, *others):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None
