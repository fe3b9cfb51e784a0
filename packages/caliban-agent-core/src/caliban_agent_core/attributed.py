"""A provider whose every call is made in the name of one agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from msgspec.structs import replace

from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent


class AttributedProvider:
    """`inner`, asked in the name of `agent`: its ledger, wherever that stands, knows whose money it is.

    It is not closed with the agent: `inner` belongs to who made it.
    """

    def __init__(self, inner: Provider, agent: str) -> None:
        self._inner = inner
        self._agent = agent

    @property
    def name(self) -> str:
        """The name of the provider."""
        return self._inner.name

    @property
    def family(self) -> str:
        """The family of the provider."""
        return self._inner.family

    def capabilities(self, model: str) -> Capabilities:
        """Those of the provider."""
        return self._inner.capabilities(model)

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        return self._inner.stream(replace(request, agent=self._agent))

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models on offer."""
        return await self._inner.list_models()

    async def aclose(self) -> None:
        """Nothing to do."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)
