"""Which routes may answer a request, and in which order. Pure.

    routes of the purpose, as declared → what a route `requires` → what the request needs → its size
    → the first route's own `fallback`, if it names one, in place of the others

Breakers and rests are left to the moment of dispatch: they change between two attempts at one request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from msgspec import Struct

from caliban_model_router.config import RouterConfig
from caliban_model_router.requirements import Requirements, fits, missing_capabilities
from caliban_model_router.route import Purpose, Route
from caliban_provider.capabilities import Capabilities

CapabilitiesOf: TypeAlias = Callable[[Route], Capabilities]
"""What the model of a route can do."""


class Dropped(Struct, frozen=True, kw_only=True):
    """A route that cannot answer, and why; `category` as in `Switch`."""

    route: Route
    reason: str
    category: str


class Selection(Struct, frozen=True, kw_only=True):
    """The routes to try, best first, and those that are out."""

    chain: tuple[Route, ...]
    dropped: tuple[Dropped, ...]


def select(
    config: RouterConfig, purpose: Purpose, required: Requirements, capabilities_of: CapabilitiesOf
) -> Selection:
    """The chain for a request of `required`; empty where no route is able.

    Where the prompt seems too long for every able route, all of them stay: it is an estimate, and the
    provider's own refusal is what starts a compaction.
    """
    declared = config.routes_for(purpose)
    verdicts = {
        route.id: judge(route, required, capabilities_of(route)) for route in _reachable(config, declared)
    }
    fitting = _ordered(config, declared, {id for id, verdict in verdicts.items() if verdict is None})
    able = {id for id, verdict in verdicts.items() if verdict is None or verdict.category == "context"}
    chain = fitting or _ordered(config, declared, able)
    kept = {route.id for route in chain}
    out = (verdict for verdict in verdicts.values() if verdict is not None and verdict.route.id not in kept)
    unused = (
        Dropped(route=route, reason=f"not in the fallback list of {chain[0].id}", category="order")
        for route in declared
        if chain and route.id not in kept and verdicts[route.id] is None
    )
    return Selection(chain=chain, dropped=(*out, *unused))


def judge(route: Route, required: Requirements, capabilities: Capabilities) -> Dropped | None:
    """Why `route` cannot answer a request of `required`; `None` where it can."""
    if missing := missing_capabilities(route.requires, capabilities):
        reason = f"the route requires {_and(missing)}, which its model does not have"
        return Dropped(route=route, reason=reason, category="capability")
    if missing := missing_capabilities(required, capabilities):
        return Dropped(route=route, reason=f"its model does not have {_and(missing)}", category="capability")
    if not fits(required, capabilities):
        reason = (
            f"the prompt of about {required.context_tokens:,} tokens does not fit the window of "
            f"{capabilities.prompt_tokens:,}"
        )
        return Dropped(route=route, reason=reason, category="context")
    return None


def _ordered(config: RouterConfig, declared: tuple[Route, ...], able: set[str]) -> tuple[Route, ...]:
    kept = tuple(route for route in declared if route.id in able)
    if kept and kept[0].fallback is None:
        return kept
    by_id = {route.id: route for route in config.routes}
    if kept:
        wanted: Iterable[str] = (kept[0].id, *(kept[0].fallback or ()))
    else:
        wanted = (id for route in declared for id in route.fallback or ())
    return tuple(by_id[id] for id in dict.fromkeys(wanted) if id in able)


def _reachable(config: RouterConfig, declared: tuple[Route, ...]) -> tuple[Route, ...]:
    named = {id for route in declared for id in route.fallback or ()}
    own = {route.id for route in declared}
    return (*declared, *(route for route in config.routes if route.id in named - own))


def _and(words: tuple[str, ...]) -> str:
    return " and ".join(words)
