"""The small members of a body: what the model is asked for beside the history, as far as it can give it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from caliban_provider.request import CompletionRequest, Effort
from caliban_provider_google.models import Level, ModelFacts
from caliban_provider_google.names import wire_name
from caliban_provider_google.schema import reply_schema

_LEVELS: tuple[Level, ...] = ("MINIMAL", "LOW", "MEDIUM", "HIGH")
_EFFORT_LEVELS: Mapping[Effort, Level] = MappingProxyType(
    {"low": "LOW", "medium": "MEDIUM", "high": "HIGH", "xhigh": "HIGH", "max": "HIGH"}
)
_EFFORT_TOKENS: Mapping[Effort, int] = MappingProxyType(
    {"low": 1024, "medium": 8192, "high": 24_576, "xhigh": 28_672, "max": 32_768}
)
_LOW_TOKENS = 4096
_MEDIUM_TOKENS = 16_384


def generation_config(request: CompletionRequest, row: ModelFacts) -> dict[str, Any]:
    """The body's `generationConfig`; a wish that the model does not take is weakened or left out."""
    limit = row.max_output_tokens
    out: dict[str, Any] = {
        "maxOutputTokens": request.max_tokens if limit is None else min(request.max_tokens, limit)
    }
    if request.temperature is not None and row.sampling:
        out["temperature"] = min(max(request.temperature, 0.0), 2.0)
    thinking = _thinking(request, row)
    if thinking is not None:
        out["thinkingConfig"] = thinking
    calls = bool(request.tools) and request.tool_choice != "none"
    if request.response_schema is not None and (row.schema_with_tools or not calls):
        out["responseMimeType"] = "application/json"
        out["responseSchema"] = reply_schema(request.response_schema)
    return out


def tool_config(request: CompletionRequest) -> dict[str, Any] | None:
    """The body's `toolConfig`; `None` where the model may choose, or has no tools."""
    if not request.tools or request.tool_choice == "auto":
        return None
    match request.tool_choice:
        case "none":
            choice: dict[str, Any] = {"mode": "NONE"}
        case "any":
            choice = {"mode": "ANY"}
        case name:
            choice = {"mode": "ANY", "allowedFunctionNames": [wire_name(name)]}
    return {"functionCallingConfig": choice}


def _thinking(request: CompletionRequest, row: ModelFacts) -> dict[str, Any] | None:
    """A budget or a level, never both; the reasoning is shown whenever it is asked for."""
    tokens, effort = request.thinking_tokens, request.effort
    if tokens is None and effort is None:
        return None
    off = tokens is not None and tokens <= 0
    if row.levels:
        return {"includeThoughts": not off, "thinkingLevel": _level(tokens, effort, row.levels)}
    if row.budget is None:
        return None
    low, high = row.budget
    if off and row.budget_off:
        return {"includeThoughts": False, "thinkingBudget": 0}
    wanted = tokens if tokens is not None else _EFFORT_TOKENS[effort] if effort is not None else low
    return {"includeThoughts": not off, "thinkingBudget": min(max(wanted, low), high)}


def _level(tokens: int | None, effort: Effort | None, levels: tuple[Level, ...]) -> Level:
    """The deepest level on offer that is not deeper than the wanted one, or else the least."""
    if tokens is not None and tokens <= 0:
        return levels[0]
    if effort is not None:
        wanted = _EFFORT_LEVELS[effort]
    elif tokens is None or tokens > _MEDIUM_TOKENS:
        wanted = "HIGH"
    else:
        wanted = "LOW" if tokens <= _LOW_TOKENS else "MEDIUM"
    fitting = [level for level in levels if _LEVELS.index(level) <= _LEVELS.index(wanted)]
    return fitting[-1] if fitting else levels[0]
