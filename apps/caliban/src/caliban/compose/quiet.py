"""The model of a run that asks none: its facts alone, and no key is needed for them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from msgspec.structs import replace

from caliban.compose.catalog import find_provider, provider_tables
from caliban.compose.choice import ModelInputs, choose_model
from caliban.compose.costs import RunCosts
from caliban.compose.model import resolve_model
from caliban.compose.provider import make_provider
from caliban.compose.resolved import ResolvedModel
from caliban_common.errors import CalibanError
from caliban_common.event import Warned
from caliban_drive.notice import Report
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import ProviderError
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.wrapped import WrappedProvider


class SilentProvider:
    """`provider` for its facts alone: it is never asked, and so needs no key."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.name: str = provider.name
        self.family: str = provider.family

    def capabilities(self, model: str) -> Capabilities:
        """Those of the provider."""
        return self._provider.capabilities(model)

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Nothing is asked."""
        raise ProviderError("nothing is sent from here")

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """Nothing is asked."""
        return ()

    async def aclose(self) -> None:
        """Close the provider."""
        await self._provider.aclose()


class UnreadyProvider(WrappedProvider):
    """`inner`, which a run does not make ready: a model in this process is not loaded."""

    ready = None


def silent_model(inputs: ModelInputs, costs: object, on_warning: object, tell: Report) -> ResolvedModel:
    """The model that a run would ask first; no program for its key is run."""
    choice = choose_model(inputs.wanted, inputs.settings)
    entry = find_provider(choice.provider, provider_tables(inputs.settings)).at(inputs.options.base_url)
    keys = dict.fromkeys(entry.key_variables, "none")
    host = replace(inputs.host, environ={**inputs.host.environ, **keys})
    provider = make_provider(entry, replace(inputs, host=host), tell)
    return ResolvedModel(
        provider=SilentProvider(provider), model=choice.model or entry.default_model, name=entry.name
    )


def idle_model(
    inputs: ModelInputs, costs: RunCosts, on_warning: Callable[[Warned], None], tell: Report
) -> ResolvedModel:
    """The model of a run that will probably ask none: hooks may. Without a key it is a silent one."""
    notices: list[Any] = []
    try:
        model = resolve_model(inputs, costs, on_warning, notices.append)
    except CalibanError:
        return silent_model(inputs, costs, on_warning, notices.append)
    return replace(model, provider=UnreadyProvider(model.provider))
