"""One call of one route: it has begun when its first content is there, and nothing is passed on before."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from msgspec.structs import replace

from caliban_model_router.breaker import Ticket
from caliban_model_router.route import Route
from caliban_model_router.switch import Outcome
from caliban_provider.errors import BadResponse
from caliban_provider.provider import Provider
from caliban_provider.request import CompletionRequest
from caliban_provider.stream import (
    BlockStart,
    InputDelta,
    MessageDelta,
    MessageStart,
    MessageStop,
    SignatureDelta,
    StreamEvent,
    TextDelta,
    ThinkingDelta,
)

EXPLAINED = ("max_tokens", "refusal", "content_filter", "pause_turn", "malformed_call")
"""Ends of a reply that say why there is nothing in it; a reader has an answer to each."""


class Attempt:
    """The stream of one call, from its first event on; iterate it inside `open`.

    `is_complete` says that the reply ended as it should. One that `must_answer` fails where its reply has
    nothing in it: another route may have something to say. The start of the stream says whose reply it is, so
    that what is signed in it finds its way back to the same model.
    """

    def __init__(self, route: Route, ticket: Ticket, provider: Provider, request: CompletionRequest) -> None:
        self.route = route
        self.ticket = ticket
        self.outcome: Outcome | None = None
        self.is_complete: bool = False
        self.must_answer = False
        self._provider = provider
        self._request = request
        self._head: deque[StreamEvent] = deque()
        self._events: AsyncIterator[StreamEvent] | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Attempt]:
        """Ask, and wait for the first content. Raises `ProviderError`, as the provider does."""
        async with self._provider.stream(self._request) as events:
            self._events = events
            async for event in events:
                if isinstance(event, MessageStart):
                    event = self._signed(event)
                elif not self._head:
                    self._head.append(self._signed(MessageStart()))
                self._head.append(event)
                if is_content(event):
                    break
            if self.must_answer and self._says_nothing():
                raise BadResponse("the model wrote nothing", hint="ask again, or try another model")
            yield self

    def _says_nothing(self) -> bool:
        """Whether the reply has ended without content, and for no reason that explains it."""
        stops = [event.stop_reason for event in self._head if isinstance(event, MessageDelta)]
        return isinstance(self._head[-1] if self._head else None, MessageStop) and not any(
            stop in EXPLAINED for stop in stops
        )

    def __aiter__(self) -> Attempt:
        return self

    async def __anext__(self) -> StreamEvent:
        assert self._events is not None, "an attempt is read inside `open`"
        if self._head:
            event = self._head.popleft()
        else:
            event = await self._events.__anext__()
        if type(event) is MessageStop:
            self.is_complete = True
        return event

    def _signed(self, start: MessageStart) -> MessageStart:
        return replace(start, family=self._provider.family, asked=self._request.model)


def is_content(event: StreamEvent) -> bool:
    """Whether a reader has something in hand with `event`, blank text aside, or all there is."""
    match event:
        case TextDelta(text=text):
            return bool(text.strip())
        case ThinkingDelta(text=text):
            return bool(text)
        case InputDelta(partial_json=text):
            return bool(text)
        case SignatureDelta() | MessageStop():
            return True
        case BlockStart():
            return bool(event.text.strip() or event.id or event.name or event.data or event.payload)
        case _:
            return False
