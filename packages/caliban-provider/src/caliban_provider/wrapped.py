"""The plain part of a provider around another: all that it leaves as it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent


class WrappedProvider:
    """`inner` as it is; a subclass changes what it is about.

    Attributes that a provider need not have are those of `inner`.
    """

    def __init__(self, inner: Provider) -> None:
        self._inner: Provider = inner

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
        return self._inner.stream(request)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models on offer."""
        return await self._inner.list_models()

    async def aclose(self) -> None:
        """Close the provider."""
        await self._inner.aclose()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)
