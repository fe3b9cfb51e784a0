"""One reply on its way in: chunks of bytes become stream events as they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator

import anyio

from caliban_provider.errors import BadResponse, ProviderError, StreamIdle, StreamInterrupted
from caliban_provider.http import HttpResponse
from caliban_provider.sse import SSEDecoder, SSEEvent
from caliban_provider.stream import StreamEvent
from caliban_provider.watchdog import watched
from caliban_provider_google.decode import Decoder

TRAIL_S = 10.0
"""How long at most a reply that has told its end is waited on: some servers tell it with every event."""


class Reply:
    """The events of one answer, in order; what was decoded before a failure comes before the failure.

    Nothing is awaited while decoded events are left. The stream's end ends the reply: a finish reason may be
    followed by counts.
    """

    def __init__(self, answer: HttpResponse, decoder: Decoder, *, first_byte_s: float, idle_s: float) -> None:
        self._chunks = watched(answer.chunks(), first_byte_s=first_byte_s, idle_s=idle_s)
        self._sse = SSEDecoder()
        self._decoder = decoder
        self._ready: deque[StreamEvent] = deque()
        self._failure: ProviderError | None = None
        self._ended = False

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        while not self._ready:
            if self._failure is not None:
                raise self._failure
            if self._ended:
                raise StopAsyncIteration
            await self._fill()
        return self._ready.popleft()

    async def _fill(self) -> None:
        try:
            chunk = await self._next_chunk()
        except (StreamInterrupted, StreamIdle) as error:
            self._end(error)
        except ProviderError as error:
            self._failure = error
        else:
            if chunk is None:
                self._end(None)
                return
            try:
                self._take(self._sse.feed(chunk))
            except ProviderError as error:
                self._failure = error

    async def _next_chunk(self) -> bytes | None:
        """The next piece of the body; `None` at its end, or when a finished reply has nothing to add."""
        if not self._decoder.finished:
            return await anext(self._chunks, None)
        with anyio.move_on_after(TRAIL_S):
            return await anext(self._chunks, None)
        return None

    def _take(self, events: list[SSEEvent]) -> None:
        feed = self._decoder.feed
        ready = self._ready
        for event in events:
            ready.extend(feed(event))

    def _end(self, cut: ProviderError | None) -> None:
        """The body has ended, by itself or not: its last event may be cut, or lack its blank line only."""
        if isinstance(cut, StreamIdle) and not self._decoder.finished:
            self._failure = cut
            return
        self._ended = True
        try:
            self._take(self._sse.close())
        except BadResponse:
            pass  # a cut event: `finish` says whether the reply is complete
        except ProviderError as error:
            self._failure = error
            return
        try:
            self._ready.extend(self._decoder.finish())
        except ProviderError as error:
            self._failure = cut or error
