"""Many providers as one: routes by purpose, fallback, hedging, breakers, effort and budgets.

The values of breakers, selection and translation are imported from their modules.
"""

from caliban_model_router.budget import BudgetLimits, BudgetQuestion, RouterBudget
from caliban_model_router.config import (
    RouterConfig,
    direct,
    find_config,
    parse_config,
    read_config,
    router_config,
    with_overrides,
)
from caliban_model_router.errors import (
    BudgetExhausted,
    FallbackExhausted,
    NoCandidate,
    NoRouteFits,
    RouterConfigError,
    RoutesResting,
)
from caliban_model_router.provider import RouterOptions, RouterProvider
from caliban_model_router.requirements import Requirements
from caliban_model_router.route import PURPOSES, Purpose, Route
from caliban_model_router.schema import ProviderTable
from caliban_model_router.switch import Switch
from caliban_model_router.view import RouterView

__all__ = [
    "PURPOSES",
    "BudgetExhausted",
    "BudgetLimits",
    "BudgetQuestion",
    "FallbackExhausted",
    "NoCandidate",
    "NoRouteFits",
    "ProviderTable",
    "Purpose",
    "Requirements",
    "Route",
    "RouterBudget",
    "RouterConfig",
    "RouterConfigError",
    "RouterOptions",
    "RouterProvider",
    "RouterView",
    "RoutesResting",
    "Switch",
    "direct",
    "find_config",
    "parse_config",
    "read_config",
    "router_config",
    "with_overrides",
]
