"""A provider whose every call is made in the name of one agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager

from msgspec.structs import replace

from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent
from caliban_provider.wrapped import WrappedProvider


class AttributedProvider(WrappedProvider):
    """`inner`, asked in the name of `agent`: its ledger, wherever that stands, knows whose money it is.

    It is not closed with the agent: `inner` belongs to who made it.
    """

    def __init__(self, inner: Provider, agent: str) -> None:
        super().__init__(inner)
        self._agent = agent

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        return self._inner.stream(replace(request, agent=self._agent))

    async def aclose(self) -> None:
        """Nothing to do."""
