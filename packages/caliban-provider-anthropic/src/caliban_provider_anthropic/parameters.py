"""The small members of a request's body: how a request's wishes meet what its model takes.

A wish that the model would refuse is weakened or left out, never an error: a session goes on when its model
changes. What is left out when is a table in the README.
"""

from __future__ import annotations

from typing import Any

from caliban_provider.request import CompletionRequest, Effort, nearest_effort
from caliban_provider_anthropic.models import ModelFacts
from caliban_provider_anthropic.names import wire_name
from caliban_provider_anthropic.schema import reply_schema

MIN_THINKING_TOKENS = 1024
"""The smallest thinking budget that the wire takes."""

_NEVER_OFF: tuple[Effort, ...] = ("xhigh", "max")
"""The efforts at which the vendor refuses to switch reasoning off."""


def parameters(request: CompletionRequest, row: ModelFacts, *, may_budget: bool) -> dict[str, Any]:
    """The members beside `tools`, `system` and `messages`, in the order in which they are sent.

    `may_budget` says whether the history allows a thinking budget: the vendor refuses one in the middle of a
    tool loop that was begun without.
    """
    limit = row.max_output_tokens
    max_tokens = request.max_tokens if limit is None else min(request.max_tokens, limit)
    out: dict[str, Any] = {"model": request.model, "max_tokens": max_tokens, "stream": True}
    choice = _tool_choice(request, row)
    forced = choice is not None and choice["type"] in ("any", "tool")
    effort = _effort(request.effort, row)
    if forced:
        thinking = _thinking_off(row, effort)
    elif row.thinking == "budget" and not may_budget:
        thinking = None
    else:
        thinking = _thinking(request, row, max_tokens, effort)
    if thinking is not None:
        out["thinking"] = thinking
    config = _output_config(request, row, effort)
    if config:
        out["output_config"] = config
    reasons = thinking is not None and thinking["type"] in ("enabled", "adaptive")
    if request.temperature is not None and row.sampling and not reasons:
        out["temperature"] = min(max(request.temperature, 0.0), 1.0)
    if choice is not None:
        out["tool_choice"] = choice
    return out


def _thinking(
    request: CompletionRequest, row: ModelFacts, max_tokens: int, effort: Effort | None
) -> dict[str, Any] | None:
    wanted = request.thinking_tokens
    if wanted is None or row.thinking == "none":
        return None
    if wanted <= 0:
        return _thinking_off(row, effort)
    if row.thinking == "budget":
        if max_tokens <= MIN_THINKING_TOKENS:
            return None
        budget = min(max(wanted, MIN_THINKING_TOKENS), max_tokens - 1)
        return {"type": "enabled", "budget_tokens": budget}
    return {"type": "adaptive", "display": "summarized"} if row.hides_thinking else {"type": "adaptive"}


def _thinking_off(row: ModelFacts, effort: Effort | None) -> dict[str, Any] | None:
    """At the highest efforts reasoning stays as it is."""
    return None if row.thinking_off is None or effort in _NEVER_OFF else {"type": row.thinking_off}


def _effort(wanted: Effort | None, row: ModelFacts) -> Effort | None:
    """The highest level on offer that is not above the wanted one."""
    return None if wanted is None else nearest_effort(wanted, row.efforts)


def _output_config(request: CompletionRequest, row: ModelFacts, effort: Effort | None) -> dict[str, Any]:
    config: dict[str, Any] = {}
    if effort is not None:
        config["effort"] = effort
    if request.response_schema is not None and row.structured_output:
        schema = reply_schema(request.response_schema)
        if schema is not None:
            config["format"] = {"type": "json_schema", "schema": schema}
    return config


def _tool_choice(request: CompletionRequest, row: ModelFacts) -> dict[str, Any] | None:
    match request.tool_choice:
        case "auto":
            return None
        case _ if not request.tools:
            return None
        case "none":
            return {"type": "none"}
        case _ if not row.forced_tools:
            return None
        case "any":
            return {"type": "any"}
        case name:
            return {"type": "tool", "name": wire_name(name)}
