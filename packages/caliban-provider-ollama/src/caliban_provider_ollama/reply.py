"""One reply on its way in: chunks of bytes become stream events as they are asked for."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator

from caliban_provider.errors import BadResponse, ProviderError, StreamInterrupted
from caliban_provider.http import HttpResponse
from caliban_provider.ndjson import NDJSONDecoder
from caliban_provider.stream import StreamEvent
from caliban_provider.watchdog import watched
from caliban_provider_ollama.decode import Decoder


class Reply:
    """The events of one answer, in order; what was decoded before a failure comes before the failure.

    Nothing is awaited while decoded events are left. After the reply's last event nothing more is read.
    """

    def __init__(self, answer: HttpResponse, decoder: Decoder, *, first_byte_s: float, idle_s: float) -> None:
        self._chunks = watched(answer.chunks(), first_byte_s=first_byte_s, idle_s=idle_s)
        self._lines = NDJSONDecoder()
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
            chunk = await anext(self._chunks, None)
        except StreamInterrupted as error:
            self._end(error)
        except ProviderError as error:
            self._failure = error
        else:
            if chunk is None:
                self._end(None)
                return
            try:
                self._take(self._lines.feed(chunk))
            except ProviderError as error:
                self._failure = error

    def _take(self, lines: list[bytes]) -> None:
        feed = self._decoder.feed
        ready = self._ready
        for line in lines:
            ready.extend(feed(line))

    def _end(self, cut: ProviderError | None) -> None:
        """The body has ended, by itself or not: its last line may be cut, or lack its line end only."""
        self._ended = True
        try:
            self._take(self._lines.close())
        except BadResponse as error:
            cut = cut or (None if self._decoder.started else error)
        except ProviderError as error:
            self._failure = error
            return
        try:
            self._decoder.finish()
        except ProviderError as error:
            self._failure = cut or error
