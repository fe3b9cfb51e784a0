"""Windows that a server tells in its list of models, for models that no table knows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

import anyio
from msgspec.structs import replace

from caliban_common.estimate import tokens
from caliban_provider.capabilities import Capabilities
from caliban_provider.errors import ProviderError
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.wrapped import WrappedCall, WrappedProvider

ASKED_S = 3.0
"""How long a conversation waits, once, for the list of models."""

LEAST_TOKENS = 1000
"""A shorter conversation fits every window."""


class ToldProvider(WrappedProvider):
    """`inner`, with the windows of its own list of models where it knows none.

    The list is asked for once, before a request for such a model that goes on with a conversation of
    `LEAST_TOKENS`: one question needs no window. A server without a list, or with one that tells no window,
    is not asked again.
    """

    def __init__(self, inner: Provider) -> None:
        super().__init__(inner)
        self._windows: dict[str, int] = {}
        self._asked = False

    def capabilities(self, model: str) -> Capabilities:
        """What `model` can do, as the provider knows, with the window that the server told."""
        known = self._inner.capabilities(model)
        window = self._windows.get(model)
        if window is None or known.context_tokens is not None:
            return known
        return replace(known, context_tokens=window)

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        call = self._inner.stream(request)
        if self._asked or self._inner.capabilities(request.model).context_tokens is not None:
            return call
        return _Informed(call, self) if _goes_on(request) else call

    async def learn(self) -> None:
        """Ask the server for its list, once; whatever it says instead of one is no news."""
        if self._asked:
            return
        self._asked = True
        with anyio.move_on_after(ASKED_S):
            try:
                listed = await self._inner.list_models()
            except ProviderError:
                return
            windows = {info.id: info.capabilities.context_tokens for info in listed}
            self._windows = {model: window for model, window in windows.items() if window}


def _goes_on(request: CompletionRequest) -> bool:
    """Whether the model has answered before, in a conversation that may grow too long."""
    has_answered = any(message.role == "assistant" for message in request.messages)
    return has_answered and tokens(request.messages) >= LEAST_TOKENS


class _Informed(WrappedCall):
    """A call that is made once the list of models was asked for."""

    __slots__ = ("_told",)

    def __init__(
        self, call: AbstractAsyncContextManager[AsyncIterator[StreamEvent]], provider: ToldProvider
    ) -> None:
        super().__init__(call)
        self._told = provider

    async def __aenter__(self) -> AsyncIterator[StreamEvent]:
        await self._told.learn()
        return await self._call.__aenter__()
