"""A provider around others that have a fixed key each: keys are fetched, pass, and are renewed when refused.

No adapter knows of it: for another key another provider is made, and the old one is closed once nobody uses
it any more.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
from msgspec import Struct

from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.credential import CredentialCache, Fetch
from caliban_provider.error_body import masked
from caliban_provider.errors import AuthenticationError, ProviderError
from caliban_provider.provider import Provider, make_ready
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import StreamEvent

PLACEHOLDER = "unset"
"""The key of the provider that is asked for facts only; nothing is ever sent with it."""

CLOSE_S = 1.0
"""How long the closing of a provider may take whose key was replaced."""


class KeyedProvider:
    """The provider that `make` makes of a key, with the key that `fetch` gives at the time.

    A key is fetched before the first call, again when it has passed, and at once when a call is refused
    before its first event; then the call is made a second time, if the key is another. Any number of tasks of
    one event loop share one fetch. `make` must open no connection; what it raises for any key is raised here.
    What `fetch` raises reaches whoever makes the call. No error holds the key.

    Facts need no key, unless `make` looks at keys so closely that it refuses `PLACEHOLDER`: then they are
    known once there is one. Attributes that a provider need not have are those of the provider of the current
    key.
    """

    def __init__(
        self, make: Callable[[str], Provider], fetch: Fetch[str], *, clock: Callable[[], float] = time.time
    ) -> None:
        self._make = make
        self._keys: CredentialCache[str] = CredentialCache(fetch, every_s=0, least_s=0, clock=clock)
        self._facts: Provider | None = None
        with suppress(AuthenticationError):
            self._facts = make(PLACEHOLDER)
        self._current: _Inner | None = None
        self._replaced: list[_Inner] = []

    @property
    def name(self) -> str:
        """The name of the provider."""
        return self._at_hand.name

    @property
    def family(self) -> str:
        """The family of the provider."""
        return self._at_hand.family

    def capabilities(self, model: str) -> Capabilities:
        """Those of the provider."""
        return self._at_hand.capabilities(model)

    async def ready(self) -> None:
        """Fetch the first key ahead. Raises `ProviderError` where there is none, or none that will do."""
        await self._keys.ready()
        async with self._using() as inner:
            await make_ready(inner.provider)

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`. Entering waits for its first event."""
        async with AsyncExitStack() as stack:
            await self._keys.ready()
            yield await self._keys.ask(partial(self._begun, stack, request))

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models on offer."""
        await self._keys.ready()
        return await self._keys.ask(self._listed)

    async def aclose(self) -> None:
        """Close every provider that was made."""
        inners = (*self._replaced, self._current)
        self._current = None
        self._replaced.clear()
        async with AsyncExitStack() as stack:
            for provider in (self._facts, *(inner.provider for inner in inners if inner is not None)):
                if provider is not None:
                    stack.push_async_callback(provider.aclose)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._at_hand, name)

    @property
    def _at_hand(self) -> Provider:
        if self._current is not None:
            return self._current.provider
        if self._facts is None:
            self._facts = self._make(PLACEHOLDER)
        return self._facts

    async def _begun(self, stack: AsyncExitStack, request: CompletionRequest) -> _Events:
        """The events of a call, which `stack` ends; one that fails before its first event ends here."""
        async with AsyncExitStack() as attempt:
            inner = await attempt.enter_async_context(self._using())
            stream = await attempt.enter_async_context(inner.provider.stream(request))
            events = _Events(stream, inner.key)
            await events.begin()
            await stack.enter_async_context(attempt.pop_all())
            return events

    async def _listed(self) -> tuple[ModelInfo, ...]:
        async with self._using() as inner:
            return await inner.provider.list_models()

    @asynccontextmanager
    async def _using(self) -> AsyncIterator[_Inner]:
        """The provider of the key at hand, kept open meanwhile."""
        key = self._keys.value or ""
        try:
            inner = self._inner(key)
            inner.calls += 1
            try:
                await self._close_idle()
                yield inner
            finally:
                inner.calls -= 1
                await self._close_idle()
        except ProviderError as error:
            _mask(error, key)
            raise

    def _inner(self, key: str) -> _Inner:
        if self._current is not None and self._current.key == key:
            return self._current
        made = _Inner(key, self._make(key))
        if self._current is not None:
            self._replaced.append(self._current)
        self._current = made
        return made

    async def _close_idle(self) -> None:
        """Close the providers of earlier keys that nobody uses; whether that works is of no interest."""
        for inner in [inner for inner in self._replaced if not inner.calls]:
            self._replaced.remove(inner)
            with anyio.move_on_after(CLOSE_S, shield=True), suppress(ProviderError, OSError):
                await inner.provider.aclose()


class _Inner(Struct):
    """A provider with a fixed key, and how many calls it is at."""

    key: str
    provider: Provider
    calls: int = 0


class _Events:
    """The events of one call. The first is read ahead, for a refusal may stand in its place."""

    __slots__ = ("_first", "_key", "_next")

    def __init__(self, events: AsyncIterator[StreamEvent], key: str) -> None:
        self._next = events.__aiter__().__anext__
        self._key = key
        self._first: StreamEvent | None = None

    async def begin(self) -> None:
        """Wait for the first event. Raises `ProviderError`."""
        with suppress(StopAsyncIteration):
            self._first = await self._next()

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        if self._first is not None:
            first, self._first = self._first, None
            return first
        try:
            return await self._next()
        except ProviderError as error:
            _mask(error, self._key)
            raise


def _mask(error: ProviderError, key: str) -> None:
    """Take `key` out of the words of `error`, should somebody have repeated it."""
    error.message = masked(error.message, (key,))
    error.hint = None if error.hint is None else masked(error.hint, (key,))
    error.args = (error.message,)
