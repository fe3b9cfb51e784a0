"""The forms of the configuration's tables, one reader each; all raise `RouterConfigError`."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import cast

from msgspec import Struct, field

from caliban_model_router.breaker import BreakerLimits
from caliban_model_router.effort import LEVELS, MAPPED, read_knob
from caliban_model_router.requirements import Requirements, ToolNeed
from caliban_model_router.route import PURPOSES, REST_S, Hedge, Purpose, Route
from caliban_model_router.table import Table
from caliban_provider.request import Effort


class ProviderTable(Struct, frozen=True, kw_only=True):
    """A `[provider.NAME]` table: how the application should make the provider `name`.

    `kind` is the adapter where it is not `name` itself. `options` are what only the adapter knows, as texts.
    """

    name: str
    kind: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, str] = field(default_factory=dict)


def read_route(row: object, name: str, breaker: BreakerLimits | None, hedge: Hedge | None) -> Route:
    """A `[[router.route]]` table; `breaker` and `hedge` are those of the whole file."""
    table = Table(row, name)
    breaker_value = table.take("breaker")
    limits = _optional_breaker(breaker_value, name, breaker)
    provider, model = _named(table)
    route = Route(
        id=table.take_text("id") or "",
        purpose=cast("Purpose", table.take_choice("purpose", PURPOSES) or _missing(table, "purpose")),
        provider=provider,
        model=model,
        requires=_requires(table.take("requires"), f"{name}.requires"),
        fallback=table.take_texts("fallback"),
        hedge=_optional_hedge(table.take("hedge"), name, hedge),
        breaker=limits,
        rest_s=REST_S if breaker_value is not False and limits is None else 0.0,
        effort=cast("Effort | None", table.take_choice("effort", LEVELS)),
        effort_map=_effort_map(table.take("effort_map"), f"{name}.effort_map"),
    )
    table.end()
    return route


def _named(table: Table) -> tuple[str, str]:
    """Provider and model; without a provider of its own it stands before the model, with a slash between."""
    provider, model = table.take_text("provider"), table.need_text("model")
    if provider:
        return provider, model
    head, _, rest = model.partition("/")
    return (head, rest) if head and rest else (_missing(table, "provider"), model)


def _missing(table: Table, key: str) -> str:
    raise table.error(key, "is missing")


def _optional_breaker(value: object, name: str, given: BreakerLimits | None) -> BreakerLimits | None:
    if value is None:
        return given
    if isinstance(value, bool):
        return (given or BreakerLimits()) if value else None
    return read_breaker(value, f"{name}.breaker", given or BreakerLimits())


def _optional_hedge(value: object, name: str, given: Hedge | None) -> Hedge | None:
    if value is None:
        hedge = given
    elif isinstance(value, bool):
        hedge = (given or Hedge()) if value else None
    else:
        hedge = read_hedge(value, f"{name}.hedge", given or Hedge())
    return hedge if hedge is not None and hedge.max_hedges > 0 else None


def read_breaker(value: object, name: str, given: BreakerLimits) -> BreakerLimits:
    """A table of breaker limits; what it leaves out is taken from `given`."""
    table = Table(value, name)
    limits = BreakerLimits(
        failure_threshold=table.take_int("failure_threshold", given.failure_threshold, least=1),
        window_s=table.take_seconds("window_secs", given.window_s, least=1),
        cooldown_s=table.take_seconds("cooldown_secs", given.cooldown_s, least=1),
        half_open_probes=table.take_int("half_open_probes", given.half_open_probes, least=1),
    )
    table.end()
    return limits


def read_hedge(value: object, name: str, given: Hedge) -> Hedge:
    """A table of a hedge; what it leaves out is taken from `given`.

    The bound is called `max` in a route and `max_hedges` in `[router.hedge]`; each may be used in both.
    """
    table = Table(value, name)
    after_ms = table.take_int("hedge_after_ms", given.after_ms, least=0)
    bound = table.take_int("max_hedges", given.max_hedges, least=0)
    hedge = Hedge(after_ms=after_ms, max_hedges=table.take_int("max", bound, least=0))
    table.end()
    return hedge


def _requires(value: object, name: str) -> Requirements:
    if value is None:
        return Requirements()
    table = Table(value, name)
    vision, thinking = table.take_bool("vision", False), table.take_bool("thinking", False)
    documents = table.take_bool("documents", False)
    tools = table.take("tool_use")
    if isinstance(tools, bool) or tools is None:
        tools = "basic" if tools else "none"
    elif tools not in ("none", "basic", "parallel_calls"):
        raise table.error("tool_use", f"is true, false, none, basic or parallel_calls, not {tools!r:.60}")
    table.end()
    return Requirements(
        vision=vision, documents=documents, thinking=thinking, tool_use=cast("ToolNeed", tools)
    )


def _effort_map(value: object, name: str) -> dict[str, str]:
    if value is None:
        return {}
    table = Table(value, name)
    efforts = {level: text for level in MAPPED if (text := table.take_text(level)) is not None}
    table.end()
    for level, text in efforts.items():
        try:
            read_knob(text)
        except ValueError as error:
            raise table.error(level, str(error)) from error
    return efforts


def read_provider(value: object, name: str) -> ProviderTable:
    """A `[provider.NAME]` table."""
    table = Table(value, f"provider.{name}")
    kind, base_url, env = map(table.take_text, ("kind", "base_url", "api_key_env"))
    headers, options = (_texts(table.take(key), f"provider.{name}.{key}") for key in ("headers", "options"))
    table.end(hint=f"what only one provider knows stands in [provider.{name}.options]")
    return ProviderTable(
        name=name, kind=kind, base_url=base_url, api_key_env=env, headers=headers, options=options
    )


def _texts(value: object, name: str) -> dict[str, str]:
    """A table of texts, numbers, booleans and lists of texts, all as text."""
    table = Table({} if value is None else value, name)
    return {key: _text(table, key, item) for key, item in table.rest().items()}


def _text(table: Table, key: str, value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, date):  # TOML has them: a version is often one
        return value.isoformat()
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    raise table.error(key, "is a text, a number, a boolean or a list of texts")
