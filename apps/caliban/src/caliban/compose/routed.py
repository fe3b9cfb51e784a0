"""The router behind a run: the routes that it can come to, each provider metered, the money in view."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from caliban.compose.choice import ModelInputs
from caliban.compose.costs import RunCosts
from caliban.compose.provider import ResolvedModel, make_provider, placed, provider_table
from caliban.compose.routes import MAIN, Routing, table_of
from caliban.errors import ConfigError
from caliban_agent_core.compact.summarize import Summarizer
from caliban_agent_core.ports import Compactor
from caliban_common.event import Warned
from caliban_common.usage import Usage
from caliban_drive.notice import Report
from caliban_model_router import (
    BudgetLimits,
    Purpose,
    Route,
    RouterBudget,
    RouterConfig,
    RouterConfigError,
    RouterOptions,
    RouterProvider,
    Switch,
)
from caliban_provider.provider import Provider

STRICT = "CALIBAN_STRICT_ROUTING"
UNSET = ("0", "false", "no", "off")
"""What the variable says to let a request with pictures go to a model that sees none."""

SUMMARIES: Purpose = "summarization"
PURPOSES: tuple[Purpose, ...] = (MAIN, SUMMARIES)
"""What a run asks models for."""


class RouterContext(Struct, frozen=True, kw_only=True):
    """What a router works in: what goes around each provider, the money, and who hears of switches.

    `base_url` is where a flag says that the first route's provider is.
    """

    wrap: Callable[[str, Provider, str | None], Provider]
    costs: RunCosts
    on_warning: Callable[[Warned], None]
    base_url: str | None = None


def routed_model(
    routing: Routing, inputs: ModelInputs, around: RouterContext, report: Report
) -> ResolvedModel:
    """The router for a run. Only providers that it can reach are made. Raises as `build_provider`."""
    settings, environ = inputs.settings, inputs.environ
    config = _reachable(routing.config)
    first = config.routes_for(MAIN)[0].provider
    providers = {}
    for name in config.provider_names:
        made = table_of(name, config, settings) or provider_table(settings, name)
        if name == first:
            made = placed(made, name, around.base_url)
        provider = make_provider(name, inputs, made, report=report)[0]
        providers[name] = around.wrap(name, provider, made.get("base_url"))
    try:
        router = RouterProvider(
            config,
            providers,
            RouterOptions(
                on_switch=lambda switch: around.on_warning(_warned(switch)),
                budget=_budget(around.costs),
                strict=environ.get(STRICT, "").lower() not in UNSET,
            ),
        )
    except RouterConfigError as error:
        raise ConfigError(f"{routing.source}: {error.message}", hint=error.hint) from error
    # What a session remembers and frames show: the model that is asked first, by its provider's name.
    return ResolvedModel(provider=router, model=router.model, name=first, compactor=_compactor(router))


def _reachable(config: RouterConfig) -> RouterConfig:
    """The routes that a run can come to: nobody has to have the keys of the others."""
    routes = {route.id: route for route in config.routes}
    wanted = [route.id for purpose in PURPOSES for route in config.routes_for(purpose)]
    for id in wanted:
        wanted += [other for other in routes[id].fallback or () if other in routes and other not in wanted]
    purpose = routes[wanted[0]].purpose
    kept = tuple(route for route in config.routes if route.id in wanted)
    return replace(config, routes=kept, default_purpose=purpose)


def _compactor(router: RouterProvider) -> Compactor | None:
    """Who writes summaries, where routes say that it is not the model at work."""
    if all(route.purpose != SUMMARIES for route in router.config.routes):
        return None
    view = router.for_purpose(SUMMARIES)
    return Summarizer(view, view.model)


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
