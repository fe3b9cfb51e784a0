"""A provider whose models may write calls as text: these are taken for calls, and a person is told once."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from anyio import get_cancelled_exc_class

from caliban_provider.errors import ProviderError
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.spoken_calls import SpokenCallReader
from caliban_provider.stream import StreamEvent
from caliban_provider.wrapped import WrappedProvider

OPEN_FAMILY = re.compile(
    r"qwen|qwq|llama|mi[sx]tral|ministral|codestral|devstral|deepseek|glm|kimi|gemma|phi-?\d|granite|hermes"
    r"|gpt-oss|falcon|command-r|smollm|olmo|nemotron|\.gguf$"
)
"""Names of models that anybody may serve, with whatever template."""


class SpokenCallsProvider(WrappedProvider):
    """`inner`, with calls that its models write as text taken for calls; `report` is told of each model once.

    With `always` any model may do so, else those of an open family. Attributes that a provider need not have
    are those of `inner`.
    """

    def __init__(self, inner: Provider, report: Callable[[str], None], *, always: bool = False) -> None:
        super().__init__(inner)
        self._report = report
        self._always = always
        self._told: set[str] = set()

    @asynccontextmanager
    async def stream(self, request: CompletionRequest) -> AsyncIterator[AsyncIterator[StreamEvent]]:
        """Ask for one reply; see `Provider.stream`."""
        async with self._inner.stream(request) as events:
            if request.tools and (self._always or OPEN_FAMILY.search(request.model.lower())):
                yield _Events(events, SpokenCallReader(request.tools), lambda: self._tell(request.model))
            else:
                yield events

    def _tell(self, model: str) -> None:
        if model not in self._told:
            self._told.add(model)
            self._report(f"{model} wrote a tool call as text, which was taken for the call")


class _Events:
    """The events of one reply, read for calls in its text."""

    def __init__(
        self, events: AsyncIterator[StreamEvent], reader: SpokenCallReader, tell: Callable[[], None]
    ) -> None:
        self._events = events
        self._reader = reader
        self._tell = tell
        self._ready: deque[StreamEvent] = deque()
        self._ended: BaseException | None = None

    def __aiter__(self) -> _Events:
        return self

    async def __anext__(self) -> StreamEvent:
        while not self._ready:
            if self._ended is not None:
                raise self._ended
            before = self._reader.taken
            try:
                event = await anext(self._events)
            except (ProviderError, StopAsyncIteration, get_cancelled_exc_class()) as error:
                # What is held is given on first, then the end, a cancellation too: who is cut off keeps
                # what has come so far.
                self._ended = error
                self._ready.extend(self._reader.flush())
                continue
            self._ready.extend(self._reader.feed(event))
            if self._reader.taken > before:
                self._tell()
        return self._ready.popleft()
