"""One reply on its way in: chunks of bytes become stream events as they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator

from caliban_provider.errors import BadResponse, ProviderError, StreamInterrupted
from caliban_provider.http import HttpResponse
from caliban_provider.sse import SSEDecoder, SSEEvent
from caliban_provider.stream import StreamEvent
from caliban_provider.watchdog import watched
from caliban_provider_openai.service import Decoder

_REQUEST_IDS = ("x-request-id", "apim-request-id")


class Reply:
    """The events of one answer, in order; what was decoded before a failure comes before the failure.

    Nothing is awaited while decoded events are left. After the reply's last event nothing more is read.
    """

    def __init__(self, answer: HttpResponse, decoder: Decoder, *, first_byte_s: float, idle_s: float) -> None:
        named = (answer.headers.get(name) for name in _REQUEST_IDS)
        self._request_id = next((id for id in named if id), None)
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
            if self._ended or self._decoder.stopped:
                raise StopAsyncIteration
            await self._fill()
        return self._ready.popleft()

    async def _fill(self) -> None:
        try:
            chunk = await anext(self._chunks)
        except StopAsyncIteration:
            self._end(None)
        except StreamInterrupted as error:
            self._end(error)
        except ProviderError as error:
            self._fail(error)
        else:
            try:
                self._take(self._sse.feed(chunk))
            except ProviderError as error:
                self._fail(error)

    def _take(self, events: list[SSEEvent]) -> None:
        feed = self._decoder.feed
        ready = self._ready
        for event in events:
            ready.extend(feed(event))

    def _end(self, cut: ProviderError | None) -> None:
        """The body has ended, by itself or not: its last event may be cut, or lack its blank line only."""
        self._ended = True
        try:
            self._take(self._sse.close())
        except BadResponse:
            pass  # a cut event: `finish` says whether the reply is complete
        except ProviderError as error:
            self._fail(error)
            return
        try:
            self._ready.extend(self._decoder.finish())
        except ProviderError as error:
            self._fail(cut or error)

    def _fail(self, error: ProviderError) -> None:
        error.request_id = error.request_id or self._request_id
        self._failure = error
