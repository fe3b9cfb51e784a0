"""The plain part of a provider around another, and of a call around its call: what they leave as it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
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


class WrappedCall:
    """The events of `call`, once it is entered; a subclass changes how it is entered, left, or gives events.

    `_next` gives the next event of the call itself.
    """

    __slots__ = ("_call", "_next")

    def __init__(self, call: AbstractAsyncContextManager[AsyncIterator[StreamEvent]]) -> None:
        self._call = call

    async def __aenter__(self) -> AsyncIterator[StreamEvent]:
        events = await self._call.__aenter__()
        self._next = events.__aiter__().__anext__
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return await self._call.__aexit__(kind, error, traceback)

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        return await self._next()
