"""A provider whose every call is asked for and settled with a ledger: retries, compaction and hedges too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType

from caliban_agent_core.ports import Ledger
from caliban_common.estimate import CHARS_PER_TOKEN, Estimator, text_size, tool_tokens
from caliban_common.event import Warned
from caliban_common.stop import Stop
from caliban_common.tool import ToolSpec
from caliban_common.usage import Usage
from caliban_provider.errors import BudgetSpent, ProviderError
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import (
    BlockStart,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)
from caliban_provider.wrapped import WrappedProvider

NOTHING = Usage()


class MeteredProvider(WrappedProvider):
    """`inner`, with `ledger` asked before each of its calls and told after it.

    Entering `stream` raises `BudgetSpent` when the ledger says no, before anything is sent. `agent` is in
    whose name is spent where a request does not say, empty for the main one; `on_warning` hears what the
    ledger has to say, and `on_error` sees each error of `inner`, and for which model, before it is raised. A
    call is priced by `name`, else by that of `inner`: of a router, meter the providers behind it and not the
    router. Attributes that a provider need not have are those of `inner`.
    """

    def __init__(
        self,
        inner: Provider,
        ledger: Ledger,
        *,
        agent: str = "",
        name: str = "",
        on_warning: Callable[[Warned], None] | None = None,
        on_error: Callable[[ProviderError, str], None] | None = None,
    ) -> None:
        super().__init__(inner)
        self._ledger = ledger
        self._agent = agent
        self._called = name or inner.name
        self._on_warning = on_warning
        self._on_error = on_error
        self._estimator = Estimator()
        self._tools: tuple[tuple[ToolSpec, ...], int] = ((), 0)

    def stream(self, request: CompletionRequest) -> AbstractAsyncContextManager[AsyncIterator[StreamEvent]]:
        """Ask for one reply, if the ledger lets it. Raises `ProviderError`, among them `BudgetSpent`."""
        return _MeteredStream(self, request)

    async def _begin(self, request: CompletionRequest) -> int:
        answer = await self._ledger.before_call(
            provider=self._called,
            model=request.model,
            prompt_tokens=self._estimator.tokens(request.messages) + self._tool_tokens(request.tools),
            max_tokens=request.max_tokens,
            agent=request.agent or self._agent,
        )
        if isinstance(answer, Stop):
            raise BudgetSpent(answer)
        return answer

    def _end(self, number: int, usage: Usage, seen_output_tokens: int) -> None:
        warning = self._ledger.after_call(number, usage, seen_output_tokens=seen_output_tokens)
        if warning is not None and self._on_warning is not None:
            self._on_warning(warning)

    def _see(self, error: ProviderError, model: str) -> None:
        if self._on_error is not None:
            self._on_error(error, model)

    def _tool_tokens(self, tools: tuple[ToolSpec, ...]) -> int:
        known, tokens = self._tools
        if known is not tools:
            tokens = tool_tokens(tools)
            self._tools = (tools, tokens)
        return tokens


class _MeteredStream:
    """One call, and the iterator over its events."""

    __slots__ = ("_call", "_complete", "_meter", "_next", "_number", "_request", "_size", "_usage")

    def __init__(self, meter: MeteredProvider, request: CompletionRequest) -> None:
        self._meter = meter
        self._request = request
        self._size = 0
        self._complete = False
        self._usage: Usage | None = None

    async def __aenter__(self) -> AsyncIterator[StreamEvent]:
        self._number = await self._meter._begin(self._request)
        entered = False
        try:
            self._call = self._meter._inner.stream(self._request)
            events = await self._call.__aenter__()
            self._next = events.__aiter__().__anext__
            entered = True
        except ProviderError as error:
            self._meter._see(error, self._request.model)
            raise
        finally:
            if not entered:
                self._meter._end(self._number, NOTHING, 0)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        try:
            return await self._call.__aexit__(kind, error, traceback)
        finally:
            usage = self._usage or NOTHING
            is_reported = self._complete and usage.output_tokens > 0
            seen = 0 if is_reported else -(-self._size // CHARS_PER_TOKEN)
            self._meter._end(self._number, usage, seen)

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        try:
            event = await self._next()
        except ProviderError as error:
            self._meter._see(error, self._request.model)
            raise
        kind = type(event)
        if kind is TextDelta or kind is ThinkingDelta:
            self._size += text_size(event.text)  # type: ignore[union-attr]
        elif kind is InputDelta:
            self._size += text_size(event.partial_json)  # type: ignore[union-attr]
        elif kind is BlockStart:
            self._size += text_size(event.text)  # type: ignore[union-attr]
        elif kind is MessageDelta or kind is MessageStart:
            self._usage = event.usage or self._usage  # type: ignore[union-attr]
            self._complete = self._complete or getattr(event, "stop_reason", None) is not None
        elif kind is MessageStop:
            self._complete = True
        return event
