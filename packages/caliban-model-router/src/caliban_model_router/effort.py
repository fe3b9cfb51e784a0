"""How hard a model should think, in the words of the route's provider.

A route's `effort_map` gives a knob for a level:

    budget=8192        a thinking budget in tokens; 0 is no thinking; a model without budgets gets the level
    effort=high        another level: low, medium, high, xhigh, max; the bare level does too
    NAME=VALUE         a member of the request's body, VALUE as JSON where it is JSON

The request's own effort beats the route's; a thinking budget of the request beats every knob.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from caliban_model_router.route import Route
from caliban_provider.request import EFFORTS, CompletionRequest, Effort

LEVELS: Final[tuple[Effort, ...]] = EFFORTS
MAPPED: Final[tuple[str, ...]] = ("low", "medium", "high")
ABOVE: Final[tuple[Effort, ...]] = ("xhigh", "max")
"""Levels that a map does not have: what it says of `high` holds for them."""

DEFAULT: Final[Effort] = "medium"


class Knob(Struct, frozen=True, kw_only=True):
    """What a level means to a provider: any of a level, a thinking budget, members of the body."""

    effort: Effort | None = None
    thinking_tokens: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def read_knob(text: str) -> Knob:
    """The knob that `text` writes down. Raises `ValueError` with what is wrong."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals:
        name, value = "effort", name
    if name == "effort":
        if value not in LEVELS:
            raise ValueError(f"{value!r} is not one of {', '.join(LEVELS)}")
        return Knob(effort=value)
    if name == "budget":
        if not (value.isascii() and value.isdigit()) or len(value) > 9:
            raise ValueError(f"a budget is a number of tokens, not {value!r}")
        return Knob(thinking_tokens=int(value))
    if not name or not value:
        raise ValueError("a knob is written NAME=VALUE")
    return Knob(extra={name: _value(value)})


def level_of(effort: Effort | None, route: Route) -> Effort:
    """The level of a request that says `effort`, on `route`."""
    return effort or route.effort or DEFAULT


def knob_of(route: Route, level: Effort) -> Knob | None:
    """The knob of `route` for `level`; the map has none above high, so that stands for those."""
    text = route.effort_map.get("high" if level in ABOVE else level)
    return None if text is None else read_knob(text)


def with_effort(request: CompletionRequest, route: Route) -> CompletionRequest:
    """`request` with its effort in the words of `route`.

    Where neither says a level and the route maps none, nothing is sent: the vendor's own default holds.
    """
    level = level_of(request.effort, route)
    knob = knob_of(route, level)
    if knob is None:
        effort = request.effort or route.effort
        return request if effort == request.effort else replace(request, effort=effort)
    budget = request.thinking_tokens if request.thinking_tokens is not None else knob.thinking_tokens
    effort = knob.effort if knob.thinking_tokens is None else level if budget else None
    extra = {**request.extra, **knob.extra} if knob.extra else request.extra
    return replace(request, effort=effort, thinking_tokens=budget, extra=extra)


def lower(effort: Effort) -> Effort:
    """One level less; `low` stays."""
    return LEVELS[max(0, LEVELS.index(effort) - 1)]


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
