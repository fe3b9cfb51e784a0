"""The router behind a run: it stands before the providers of its routes, with the money in view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal

from msgspec import Struct

from caliban.compose.choice import is_strict
from caliban.compose.costs import RunCosts
from caliban.compose.masked import MaskedProvider
from caliban.compose.resolved import ResolvedModel
from caliban.compose.routes import CLASSIFIER, FALLBACK_ID, SUB_AGENTS, SUMMARIES, Routing
from caliban.errors import ConfigError
from caliban_agent_core.compact.summarize import Summarizer
from caliban_agent_core.ports import Compactor
from caliban_common.event import Warned
from caliban_common.mask import Masker
from caliban_common.usage import Usage
from caliban_model_router import (
    BudgetLimits,
    Route,
    RouterBudget,
    RouterConfigError,
    RouterOptions,
    RouterProvider,
    Switch,
)
from caliban_provider.provider import Provider


class RouterContext(Struct, frozen=True, kw_only=True):
    """What a router works in: the money, who hears of switches, what the environment says, the secrets."""

    costs: RunCosts
    on_warning: Callable[[Warned], None]
    environ: Mapping[str, str]
    masker: Masker


def routed_model(
    routing: Routing, providers: Mapping[str, Provider], context: RouterContext
) -> ResolvedModel:
    """The router for a run, with the `providers` that it can reach. Raises `ConfigError`."""
    try:
        router = RouterProvider(
            routing.reachable,
            providers,
            RouterOptions(
                on_switch=lambda switch: context.on_warning(_warned(switch)),
                budget=_budget(context.costs),
                strict=is_strict(context.environ),
            ),
        )
    except RouterConfigError as error:
        raise ConfigError(f"{routing.source}: {error.message}", hint=error.hint) from error
    # What a session remembers and frames show: the model that is asked first, by its provider's name.
    return ResolvedModel(
        provider=router,
        model=router.model,
        name=routing.first.provider,
        fallback=_fallback(routing),
        compactor=_compactor(router, context.masker),
        child=lambda model: _child(router, routing, context.masker, model),
        classifier=lambda: _classifier(router, routing),
    )


def _classifier(router: RouterProvider, routing: Routing) -> ResolvedModel:
    """What judges calls: the routes for that, or else those of the main loop."""
    view = router.for_purpose(CLASSIFIER)
    return ResolvedModel(provider=view, model=view.model, name=routing.first.provider)


def _child(router: RouterProvider, routing: Routing, masker: Masker, model: str | None) -> ResolvedModel:
    """What one sub-agent asks: the routes for them, or else those of the main loop."""
    view = router.for_purpose(SUB_AGENTS, model=model)
    return ResolvedModel(
        provider=view,
        model=view.model,
        name=routing.first.provider,
        compactor=_compactor(router, masker),
    )


def _fallback(routing: Routing) -> str | None:
    """The model of the flag or the setting `fallback_model`."""
    routes = (route for route in routing.config.routes if route.id == FALLBACK_ID)
    return next((f"{route.provider}/{route.model}" for route in routes), None)


def _compactor(router: RouterProvider, masker: Masker) -> Compactor | None:
    """Who writes summaries, where routes say that it is not the model at work; no secret reaches it."""
    if all(route.purpose != SUMMARIES for route in router.config.routes):
        return None
    view = router.for_purpose(SUMMARIES)
    return Summarizer(MaskedProvider(view, masker), view.model)


def _budget(costs: RunCosts) -> RouterBudget | None:
    """What the router saves by, once the run has a limit. Nobody is there to be asked for more."""
    account = costs.account
    if account is None or account.budget.limit_usd is None:
        return None
    limit_usd = account.budget.limit_usd

    def price(route: Route, usage: Usage) -> Decimal | None:
        return account.estimate(route.provider, route.model, usage)

    soft_usd = limit_usd * account.budget.soft_ratio
    return RouterBudget(
        limits=BudgetLimits(limit_usd=limit_usd, soft_usd=soft_usd, ask_usd=limit_usd),
        spent_usd=lambda: account.budget.spent_usd,
        price=price,
    )


def _warned(switch: Switch) -> Warned:
    return Warned(
        subtype="model_switch",
        message=switch.message,
        details={
            "purpose": switch.purpose,
            "from": switch.source.label,
            "to": switch.target.label,
            "category": switch.category,
        },
    )
