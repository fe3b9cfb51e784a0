"""One reply on its way in: chunks of bytes become stream events as they are asked for.

An adapter brings two parts, both without a clock or a wire: a framing, which cuts bytes into pieces
(`sse.SSEDecoder`, `ndjson.NDJSONDecoder`, or a vendor's own), and a decoder, which says what they mean.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Generic, Protocol, TypeVar

import anyio
from msgspec import Struct

from caliban_provider.classify import request_id
from caliban_provider.errors import BadResponse, ProviderError, StreamIdle, StreamInterrupted
from caliban_provider.stream import StreamEvent
from caliban_provider.watchdog import watched

P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)
P_contra = TypeVar("P_contra", contravariant=True)


class ResponseBody(Protocol):
    """What a reply is read from, as `http.HttpResponse` is; `headers` have lower-case names."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises `ProviderError`: `StreamInterrupted` where it is cut."""
        ...


class RecordSplitter(Protocol[P_co]):
    """Cuts the bytes of one answer into pieces, wherever its chunks end. Raises `BadResponse`.

    A framing that gives out one piece after another gives what was complete before it raises.
    """

    def feed(self, chunk: bytes) -> Iterable[P_co]:
        """The pieces that `chunk` completes."""
        ...

    def close(self) -> Iterable[P_co]:
        """The piece that the end of the answer leaves open, if any: it may be cut anywhere."""
        ...


class WireDecoder(Protocol[P_contra]):
    """Takes the pieces of one reply and keeps what it needs to know of those before."""

    @property
    def stopped(self) -> bool:
        """Whether the reply has told its end; what comes after is passed over, or adds to it."""
        ...

    def feed(self, piece: P_contra) -> Iterable[StreamEvent]:
        """The stream events that `piece` means. Raises `ProviderError`, also what the vendor reports."""
        ...

    def finish(self, fault: BadResponse | None) -> Iterable[StreamEvent]:
        """Say that nothing more comes; gives what ends the reply, unless it was given before.

        Raises `StreamInterrupted` when the reply is not complete, or `fault` where that says more: what is
        wrong with the piece that the end of the answer left open.
        """
        ...


class StreamTimeouts(Struct, frozen=True, kw_only=True):
    """How long an answer may be silent: before its first chunk, between two, and once the reply is over.

    Some wires say something after the end that they have told, such as counts: `trail_s` is how long that is
    waited for. With 0 nothing is read any more.
    """

    first_byte_s: float
    idle_s: float
    trail_s: float = 0.0


class ReplyReader(Generic[P]):
    """The events of one answer, in order; what was decoded before a failure comes before the failure.

    Nothing is awaited while decoded events are left. It holds nothing open: who opened the answer closes it.
    A failure names the request as the answer's headers do.
    """

    def __init__(
        self,
        answer: ResponseBody,
        framing: RecordSplitter[P],
        decoder: WireDecoder[P],
        timeouts: StreamTimeouts,
    ) -> None:
        self._headers = answer.headers
        self._chunks = watched(answer.chunks(), first_byte_s=timeouts.first_byte_s, idle_s=timeouts.idle_s)
        self._framing = framing
        self._decoder = decoder
        self._feed = decoder.feed
        self._trail_s = timeouts.trail_s
        self._ready: deque[StreamEvent] = deque()
        self._failure: ProviderError | None = None
        self._ended = False

    def __aiter__(self) -> AsyncIterator[StreamEvent]:
        return self

    async def __anext__(self) -> StreamEvent:
        ready = self._ready
        while not ready:
            if self._failure is not None:
                raise self._failure
            if self._ended:
                raise StopAsyncIteration
            await self._fill()
        return ready.popleft()

    async def _fill(self) -> None:
        stopped = self._decoder.stopped
        if stopped and not self._trail_s:
            self._finish()
            return
        try:
            chunk = await (self._trailing() if stopped else anext(self._chunks))
        except StopAsyncIteration:
            self._close(None)
        except StreamInterrupted as error:
            self._close(error)
        except ProviderError as error:
            if stopped and isinstance(error, StreamIdle):
                self._close(error)
            else:
                self._fail(error)
        else:
            try:
                self._take(self._framing.feed(chunk))
            except ProviderError as error:
                self._fail(error)

    async def _trailing(self) -> bytes:
        """A chunk after the end of the reply; the answer counts as ended when none comes."""
        with anyio.move_on_after(self._trail_s):
            return await anext(self._chunks)
        raise StopAsyncIteration

    def _take(self, pieces: Iterable[P]) -> None:
        ready = self._ready
        feed = self._feed
        for piece in pieces:
            ready.extend(feed(piece))

    def _close(self, cut: ProviderError | None) -> None:
        """The body has ended, by itself or not: its last piece may be cut, or lack its end only."""
        fault: BadResponse | None = None
        try:
            self._take(self._framing.close())
        except BadResponse as error:
            fault = error
        except ProviderError as error:
            self._fail(error)
            return
        self._finish(cut, fault)

    def _finish(self, cut: ProviderError | None = None, fault: BadResponse | None = None) -> None:
        self._ended = True
        try:
            self._ready.extend(self._decoder.finish(fault))
        except ProviderError as error:
            self._fail(cut or error)

    def _fail(self, error: ProviderError) -> None:
        error.request_id = error.request_id or request_id(self._headers)
        self._failure = error
