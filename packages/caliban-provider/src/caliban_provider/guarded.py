"""A wall around a provider of somebody else's: what it does wrong is said in its name, and ends there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import Any

import anyio

from caliban_common.errors import CalibanError
from caliban_common.usage import MAX_TOKENS, Usage
from caliban_provider import error_body
from caliban_provider.capabilities import Capabilities, ModelInfo
from caliban_provider.errors import ProviderError, StreamIdle
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import MessageDelta, MessageStart, StreamEvent

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "thinking_tokens",
)


class GuardedProvider:
    """`inner`, called `called` and brought by `package`; a whole reply may take `total_s`, if that is given.

    Whatever `inner` raises that is no error of this program's, and whatever it gives out that is not of the
    interface, is a `ProviderError` that names the package. Attributes that a provider need not have are those
    of `inner`.
    """

    def __init__(self, inner: Provider, *, called: str, package: str, total_s: float | None = None) -> None:
        self._inner = inner
        self._called = called
        self._package = package
        self._total_s = total_s

    @property
    def name(self) -> str:
        """The name of the provider."""
        return str(self._inner.name)

    @property
    def family(self) -> str:
        """The family of the provider."""
        return str(self._inner.family)

    def capabilities(self, model: str) -> Capabilities:
        """Those of the provider. Raises `ProviderError` where it cannot say."""
        with self._walled("cannot say what its models can do"):
            reported = self._inner.capabilities(model)
        if not isinstance(reported, Capabilities):
            raise self._fault(f"says what its models can do by a {type(reported).__name__}")
        return reported

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        deadline = None if self._total_s is None else anyio.current_time() + self._total_s
        async with AsyncExitStack() as stack:
            with self._walled("failed"), self._in_time(deadline):
                events = await stack.enter_async_context(self._inner.stream(request))
                following = aiter(events)
            yield _Events(self, following, deadline)

    async def list_models(self) -> tuple[ModelInfo, ...]:
        """The models on offer."""
        with self._walled("cannot list its models"):
            return await self._inner.list_models()

    async def aclose(self) -> None:
        """Close the provider."""
        await self._inner.aclose()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    @contextmanager
    def _walled(self, what: str) -> Iterator[None]:
        try:
            yield
        except (CalibanError, StopAsyncIteration):
            raise
        except (Exception, SystemExit) as error:
            import logging

            logging.getLogger(__name__).debug("the provider %r failed", self._called, exc_info=error)
            raise self._fault(f"{what}: {type(error).__name__}: {error}") from error

    @contextmanager
    def _in_time(self, deadline: float | None) -> Iterator[None]:
        """Raises `StreamIdle` when the deadline passes within."""
        if deadline is None:
            yield
            return
        with anyio.CancelScope(deadline=deadline) as scope:
            yield
        if scope.cancelled_caught:
            raise StreamIdle(
                f"the reply was not complete within {self._total_s:g} s",
                idle_s=self._total_s or 0.0,
                hint=f"allow more time: total_s in [provider.{self._called}]",
            )

    def _checked(self, event: object) -> StreamEvent:
        """`event`, if it is one of the interface. Raises `ProviderError`."""
        if not isinstance(event, StreamEvent):
            raise self._fault(f"gives out a {type(event).__name__} where an event of a reply belongs")
        usage: object = event.usage if isinstance(event, MessageStart | MessageDelta) else None
        if usage is not None and not (isinstance(usage, Usage) and all(_is_count(usage, n) for n in _COUNTS)):
            raise self._fault("counts tokens by something that is no usage")
        return event

    def _fault(self, what: str) -> ProviderError:
        return ProviderError(
            f"the provider {self._called!r} {error_body.clean(what)}",
            hint=f"this is a fault of the package {self._package}; choose another provider",
        ).with_remedy("other_provider", self._package)


class _Events:
    """The events of one call, each checked."""

    def __init__(
        self, guard: GuardedProvider, events: AsyncIterator[StreamEvent], deadline: float | None
    ) -> None:
        self._guard = guard
        self._events = events
        self._deadline = deadline

    def __aiter__(self) -> _Events:
        return self

    async def __anext__(self) -> StreamEvent:
        with self._guard._walled("failed"), self._guard._in_time(self._deadline):
            event = await anext(self._events)
        return self._guard._checked(event)


def _is_count(usage: Usage, name: str) -> bool:
    value: object = getattr(usage, name)
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKENS
