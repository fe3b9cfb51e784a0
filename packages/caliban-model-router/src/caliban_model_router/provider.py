"""The router: many providers as one."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from msgspec import Struct
from msgspec.structs import replace

from caliban_model_router.budget import RouterBudget
from caliban_model_router.config import RouterConfig, check
from caliban_model_router.health import Health
from caliban_model_router.route import Purpose
from caliban_model_router.switch import Switch
from caliban_model_router.view import RouterView, Shared
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import ProviderError
from caliban_provider.provider import Provider, make_ready
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent


def _ignore(_: object) -> None:
    """Told, and forgotten."""


class RouterOptions(Struct, frozen=True, kw_only=True):
    """What a router tells its surroundings and what it goes by.

    `on_switch` is told every change of the route, between two steps of a stream: it must be quick. Without
    `strict` a request with pictures that no route can see is answered all the same, by a model that is told
    of them in words. `clock` gives seconds that never go back.
    """

    on_switch: Callable[[Switch], None] = _ignore
    budget: RouterBudget | None = None
    strict: bool = True
    clock: Callable[[], float] = time.monotonic


class RouterProvider:
    """Routes requests over `providers`, which it owns from now on, by the name that routes call them.

    It is itself the view of the default purpose; `for_purpose` gives the others. How routes are doing is
    known to all of them together. Raises `RouterConfigError` for a configuration that cannot work.
    """

    family = ""

    def __init__(
        self, config: RouterConfig, providers: Mapping[str, Provider], options: RouterOptions | None = None
    ) -> None:
        check(config, known=providers)
        given = options or RouterOptions()
        self.config = config
        self.health: dict[str, Health] = {route.id: Health(route, given.clock) for route in config.routes}
        self._shared = Shared(
            providers=dict(providers),
            health=self.health,
            on_switch=given.on_switch,
            budget=given.budget,
            strict=given.strict,
        )
        self._view = self.for_purpose(config.default_purpose)
        self.name: str = self._view.name

    def for_purpose(self, purpose: Purpose, *, model: str | None = None) -> RouterView:
        """A provider for requests of `purpose`, for one agent; `model` replaces that of the first route."""
        config = self.config
        if model is not None:
            first = config.routes_for(purpose)[0]
            pinned = replace(first, model=model)
            routes = tuple(pinned if route is first else route for route in config.routes)
            config = replace(config, routes=routes)
        return RouterView(config, purpose, self._shared)

    @property
    def model(self) -> str:
        """The model of the default purpose's first route: what to give an agent."""
        return self._view.model

    async def ready(self) -> None:
        """Let the default purpose's first route get what its first call needs; see `make_ready`."""
        first = self.config.routes_for(self.config.default_purpose)[0]
        await make_ready(self._shared.providers[first.provider])

    def capabilities(self, model: str) -> Capabilities:
        return self._view.capabilities(model)

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        return self._view.stream(request)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """What all providers offer; one that fails is left out, unless all do."""
        models: dict[str, ModelInfo] = {}
        failure: ProviderError | None = None
        for provider in self._distinct():
            try:
                models |= {info.id: info for info in await provider.list_models()}
            except ProviderError as error:
                failure = error
        if failure is not None and not models:
            raise failure
        return tuple(models.values())

    async def aclose(self) -> None:
        """Close every provider."""
        async with AsyncExitStack() as stack:
            for provider in self._distinct():
                stack.push_async_callback(provider.aclose)

    def _distinct(self) -> list[Provider]:
        return list({id(provider): provider for provider in self._shared.providers.values()}.values())
