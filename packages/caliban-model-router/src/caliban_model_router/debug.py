"""What the router would do with a request, as a value and as text: `caliban router debug`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from caliban_model_router.config import RouterConfig
from caliban_model_router.effort import ABOVE, LEVELS, level_of
from caliban_model_router.requirements import Requirements
from caliban_model_router.route import Purpose, Route
from caliban_model_router.select import CapabilitiesOf, select
from caliban_provider.request import Effort


class Candidate(Struct, frozen=True, kw_only=True):
    """One route in the list of candidates: whether it is kept, why, and the state it is in."""

    route: Route
    kept: bool
    reason: str
    state: str


class RouteExplanation(Struct, frozen=True, kw_only=True):
    """What became of a request of `purpose`: kept routes in the order they are tried, then the others.

    `level` is the effort on the first route, `efforts` that of each kept route and its knob for each level.
    """

    purpose: Purpose
    required: Requirements
    rows: tuple[Candidate, ...]
    level: Effort
    efforts: tuple[tuple[Route, Effort, tuple[tuple[Effort, str], ...]], ...]


def explain(
    config: RouterConfig,
    purpose: Purpose,
    required: Requirements,
    *,
    capabilities_of: CapabilitiesOf,
    effort: Effort | None = None,
    states: Mapping[str, str] | None = None,
) -> RouteExplanation:
    """How a request that needs `required` would go.

    `states` are those of live routes by id; a new process has none.
    """
    selection = select(config, purpose, required, capabilities_of)
    known = states or {}

    def row(route: Route, *, kept: bool, reason: str) -> Candidate:
        fresh = "closed" if route.breaker is not None else "no breaker"
        return Candidate(route=route, kept=kept, reason=reason, state=known.get(route.id, fresh))

    kept = (
        row(route, kept=True, reason="first choice" if number == 1 else f"fallback {number - 1}")
        for number, route in enumerate(selection.chain, 1)
    )
    dropped = (row(entry.route, kept=False, reason=entry.reason) for entry in selection.dropped)
    first = selection.chain[0] if selection.chain else config.routes_for(purpose)[0]
    return RouteExplanation(
        purpose=purpose,
        required=required,
        rows=(*kept, *dropped),
        level=level_of(effort, first),
        efforts=tuple((route, level_of(effort, route), _efforts(route)) for route in selection.chain),
    )


def render(explanation: RouteExplanation, *, effort_table: bool = False) -> str:
    """The explanation for a terminal, one route a line: `+` is kept, `-` is dropped."""
    lines = [
        f"purpose {explanation.purpose}, needs {_needs(explanation.required)}, effort {explanation.level}"
    ]
    width = max(len(row.route.id) for row in explanation.rows)
    labels = max(len(row.route.label) for row in explanation.rows)
    # Only the first choice is raced, and only where there is another route to race it with.
    raced = explanation.rows[0].route if sum(row.kept for row in explanation.rows) > 1 else None
    for row in explanation.rows:
        mark = "+" if row.kept else "-"
        lines.append(
            f"{mark} {row.route.id:{width}}  {row.route.label:{labels}}  {row.reason}  [{row.state}]"
            f"{_hedge(row.route) if row.route is raced else ''}"
        )
    if not explanation.efforts:
        lines.append("no route can answer such a request")
    for route, own, efforts in explanation.efforts:
        shown = efforts if effort_table else [(level, knob) for level, knob in efforts if level == own]
        lines += [f"effort {level}: {knob}  ({route.id})" for level, knob in shown]
    return "\n".join(lines) + "\n"


def _efforts(route: Route) -> tuple[tuple[Effort, str], ...]:
    """What each level is on `route`, as its map writes it; a level that is not mapped is sent as it is."""
    mapped = {**route.effort_map}
    for level in ABOVE if "high" in mapped else ():
        mapped.setdefault(level, mapped["high"])
    return tuple((level, mapped.get(level, f"effort={level}")) for level in LEVELS)


def _needs(required: Requirements) -> str:
    words = [name for name in ("vision", "documents", "thinking") if getattr(required, name)]
    if required.tool_use != "none":
        words.append(f"tool use ({required.tool_use})")
    if required.context_tokens:
        words.append(f"{required.context_tokens:,} tokens")
    return ", ".join(words) or "nothing special"


def _hedge(route: Route) -> str:
    return f"  hedged after {route.hedge.after_ms} ms" if route.hedge is not None else ""
