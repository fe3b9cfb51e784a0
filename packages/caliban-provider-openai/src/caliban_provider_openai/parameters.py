"""How a request's wishes meet what its model takes, for both interfaces.

A wish that the model would refuse is weakened or left out, never an error: a session goes on when its model
changes. What is left out when is a table in the README.
"""

from __future__ import annotations

from typing import Any, Final

from caliban_provider.request import CompletionRequest
from caliban_provider_openai.models import Level, ModelFacts
from caliban_provider_openai.schema import strict_schema

_ORDER: tuple[Level, ...] = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_LEAST: Final = "none"
_MAX_TEMPERATURE = 2.0

SCHEMA_NAME = "reply"
"""What a reply's schema is called on the wire, which wants a name."""


def output_tokens(request: CompletionRequest, row: ModelFacts) -> int:
    """The bound on the reply, at most what the model can write."""
    limit = row.max_output_tokens
    return request.max_tokens if limit is None else min(request.max_tokens, limit)


def effort(request: CompletionRequest, row: ModelFacts) -> Level | None:
    """The highest level on offer that is not above the wanted one; no thinking is the lowest there is."""
    if not row.efforts:
        return None
    if request.thinking_tokens is not None and request.thinking_tokens <= 0:
        return row.efforts[0]
    if request.effort is None:
        return None
    wanted = _ORDER.index(request.effort)
    fitting = [level for level in row.efforts if _ORDER.index(level) <= wanted and level != _LEAST]
    return fitting[-1] if fitting else None


def temperature(request: CompletionRequest, row: ModelFacts) -> float | None:
    """The temperature, where the model samples."""
    if request.temperature is None or not row.sampling:
        return None
    return min(max(request.temperature, 0.0), _MAX_TEMPERATURE)


def reply_format(request: CompletionRequest) -> dict[str, Any] | None:
    """The reply's schema with its name; strict where the vendor can enforce all of it."""
    schema = request.response_schema
    if schema is None:
        return None
    strict = strict_schema(schema)
    return {
        "name": SCHEMA_NAME,
        "schema": dict(schema) if strict is None else strict,
        "strict": strict is not None,
    }
