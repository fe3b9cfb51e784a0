"""What an agent is given: the router as a provider, for one purpose."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.estimate import Estimator
from caliban_common.history import TargetModel
from caliban_model_router.attempt import Attempt
from caliban_model_router.breaker import Ticket
from caliban_model_router.budget import BudgetQuestion, RouterBudget, estimated, plan, saved_effort
from caliban_model_router.config import RouterConfig
from caliban_model_router.dispatch import Ports, RouteAttempts, in_turn
from caliban_model_router.errors import BudgetExhausted, NoCandidate
from caliban_model_router.health import Health
from caliban_model_router.hedge import raced
from caliban_model_router.requirements import Requirements, needs_of, shows_pictures
from caliban_model_router.route import Purpose, Route
from caliban_model_router.select import Selection, select
from caliban_model_router.switch import Outcome, Switch
from caliban_model_router.translate import Translator, adapt
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent

_CENT, _PART = Decimal("0.01"), Decimal("0.0001")


class Shared(Struct, frozen=True, kw_only=True):
    """What all views of one router have in common."""

    providers: Mapping[str, Provider]
    health: Mapping[str, Health]
    on_switch: Callable[[Switch], None]
    budget: RouterBudget | None
    strict: bool

    def capabilities_of(self, route: Route) -> Capabilities:
        """What the model of `route` can do."""
        return self.providers[route.provider].capabilities(route.model)


class RouterView:
    """A provider whose every request goes the ways of one purpose; made by `RouterProvider.for_purpose`.

    `model` is what to give the agent: that of the purpose's first route. The model that a request names is
    not looked at. The history is to come with all that was signed by whomever: each route gets its own. A
    view is for one agent at a time: it remembers which route answered last.
    """

    name = "router"
    family = ""

    def __init__(self, config: RouterConfig, purpose: Purpose, shared: Shared) -> None:
        self._config = config
        self._purpose: Purpose = purpose
        self._shared = shared
        self._first = self._turned_to = self._answered = config.routes_for(purpose)[0]
        self._known = {self._first.id}
        self._translators: dict[str, Translator] = {}
        self._saving: str | None = None
        self._estimator = Estimator()

    @property
    def model(self) -> str:
        """The model of the purpose's first route."""
        return self._first.model

    @property
    def route(self) -> Route:
        """The route that answered last, or is the first to be asked."""
        return self._answered

    def capabilities(self, model: str) -> Capabilities:
        """What the first route's model can do, and what some route can: see pictures, read documents.

        Where none can, that is not known here: each request is judged for itself. Structured output counts
        only where every route has it; `model` is not looked at.
        """
        routes = self._config.routes_for(self._purpose)
        able = [self._shared.capabilities_of(route) for route in routes]
        return replace(
            able[0],
            vision=any(each.vision for each in able) or None,
            documents=any(each.documents for each in able) or None,
            structured_output=all(each.structured_output for each in able),
        )

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `caliban_provider.provider.Provider.stream`.

        Besides what providers raise: `NoCandidate`, `RoutesResting`, `FallbackExhausted`, `NoRouteFits`,
        `BudgetExhausted`. What was raised after content may be asked for again, and another route answers.
        """
        required = needs_of(request, self._estimator)
        selection = self._selected(request, required)
        if not selection.chain:
            raise _no_candidate(self._purpose, selection)
        chain, request = await self._within_budget(request, required, selection.chain)
        dispatch = RouteAttempts(chain, self._health, self._ports(request, selection))
        hedge = chain[0].hedge
        way = in_turn(dispatch) if hedge is None or len(chain) == 1 else raced(dispatch, hedge)
        async with way as events:
            yield events

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models of the routes of the purpose."""
        routes = {route.model: route for route in self._config.routes_for(self._purpose)}
        return tuple(
            ModelInfo(id=id, display_name=route.label, capabilities=self._shared.capabilities_of(route))
            for id, route in routes.items()
        )

    async def aclose(self) -> None:
        """Nothing to do: the router owns the providers."""

    def _selected(self, request: CompletionRequest, required: Requirements) -> Selection:
        """The routes that can do it all; if none can and that is allowed, those that see no pictures too."""
        selection = select(self._config, self._purpose, required, self._shared.capabilities_of)
        if selection.chain or (self._shared.strict and shows_pictures(request)):
            return selection
        # What a model cannot see its provider says in words.
        blind = replace(required, vision=False, documents=False)
        return select(self._config, self._purpose, blind, self._shared.capabilities_of)

    def _health(self, route: Route) -> Health:
        return self._shared.health[route.id]

    def _ports(self, request: CompletionRequest, selection: Selection) -> Ports:
        return Ports(
            make=lambda route, ticket: self._attempt(route, ticket, request),
            window=lambda route: self._shared.capabilities_of(route).prompt_tokens,
            turn_to=lambda route, reason, category: self._turn_to(route, reason, category, selection),
            ended=self._ended,
        )

    def _attempt(self, route: Route, ticket: Ticket, request: CompletionRequest) -> Attempt:
        provider = self._shared.providers[route.provider]
        adapted = adapt(
            request,
            route,
            self._shared.capabilities_of(route),
            self._translator(route, provider).messages(request.messages),
            is_home=route.provider == self._first.provider,
            is_new=route.id not in self._known,
        )
        return Attempt(route, ticket, provider, adapted)

    def _translator(self, route: Route, provider: Provider) -> Translator:
        if route.id not in self._translators:
            able = self._shared.capabilities_of(route)
            self._translators[route.id] = Translator(
                TargetModel(
                    family=provider.family,
                    model=route.model,
                    sees_images=able.vision is not False,
                    reads_pdf=able.documents is not False,
                )
            )
        return self._translators[route.id]

    def _ended(self, attempt: Attempt, outcome: Outcome) -> None:
        if outcome in ("answered", "left"):
            self._answered = attempt.route
            self._known.add(attempt.route.id)

    def _turn_to(self, route: Route, reason: str, category: str, selection: Selection) -> None:
        """Tell of a switch, if it is one; without a `reason` it lies in what the last route is up to."""
        source, self._turned_to = self._turned_to, route
        if route.id == source.id:
            return
        if not reason:
            reason, category = self._why_not(source, selection)
        self._tell(source, route, reason, category)

    def _why_not(self, route: Route, selection: Selection) -> tuple[str, str]:
        dropped = next((entry for entry in selection.dropped if entry.route.id == route.id), None)
        if dropped is not None:
            return dropped.reason, dropped.category
        if self._saving is not None:
            return self._saving, "budget"
        health = self._health(route)
        if health.is_resting or health.wait_s > 0:
            return health.why_not, "resting"
        return "it is the first choice again", "recovered"

    def _tell(self, source: Route, target: Route, reason: str, category: str) -> None:
        self._shared.on_switch(
            Switch(purpose=self._purpose, source=source, target=target, reason=reason, category=category)
        )

    async def _within_budget(
        self, request: CompletionRequest, required: Requirements, chain: tuple[Route, ...]
    ) -> tuple[tuple[Route, ...], CompletionRequest]:
        budget = self._shared.budget
        if budget is None:
            return chain, request
        spent_usd, limits = budget.spent_usd(), budget.limits
        reserved = min(request.max_tokens, budget.reserve_tokens or request.max_tokens)
        sizes = {"prompt_tokens": required.context_tokens, "max_tokens": reserved}
        costs = tuple(estimated(budget.price, route, **sizes) for route in chain)
        planned = plan(limits, spent_usd, chain, costs)
        spent, limit = _usd(spent_usd), _usd(limits.limit_usd)
        spent_of_limit = f"{spent} of {limit} are spent"
        if planned.verdict == "stop":
            raise BudgetExhausted(f"the budget of {limit} is used up: {spent} is spent")
        if planned.verdict == "ask" and budget.ask is not None:
            question = BudgetQuestion(
                route=planned.chain[0],
                spent_usd=spent_usd,
                estimate_usd=planned.estimate_usd,
                limit_usd=limits.limit_usd,
            )
            if not await budget.ask(question):
                raise BudgetExhausted(f"{spent_of_limit}, and the next call was not allowed")
        was_saving = self._saving is not None
        self._saving = None if planned.verdict == "proceed" else spent_of_limit
        if self._saving is not None and planned.chain[0].id == chain[0].id:
            thinks = self._shared.capabilities_of(chain[0]).thinking
            effort = saved_effort(request, chain[0]) if thinks else None
            if effort is not None:
                if not was_saving:
                    self._tell(chain[0], chain[0], f"{spent_of_limit}: effort is now {effort}", "budget")
                request = replace(request, effort=effort)
        return planned.chain, request


def _usd(amount: Decimal) -> str:
    """An amount in cents, or with two digits more where these tell it from another."""
    exact = amount.quantize(_PART)
    cents = amount.quantize(_CENT)
    return f"${cents if cents == exact else exact}"


def _no_candidate(purpose: Purpose, selection: Selection) -> NoCandidate:
    reasons = "; ".join(f"{entry.route.id}: {entry.reason}" for entry in selection.dropped)
    return NoCandidate(
        f"no route for {purpose} can answer this request: {reasons}",
        hint="add a route for this purpose whose model can do what the request needs",
    ).with_remedy("route_for_purpose")
