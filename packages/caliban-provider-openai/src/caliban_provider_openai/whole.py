"""Replies that come whole: JSON in the place of a stream, as gateways give it that do not pass streams on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from caliban_provider.errors import BadResponse, ProviderError
from caliban_provider.json_fields import objects, parse
from caliban_provider.reader import WireDecoder
from caliban_provider.sse import MAX_EVENT_BYTES, SSEEvent
from caliban_provider.stream import StreamEvent


class WholeReply:
    """Takes the pieces of an answer of type `kind`, and gives the events that it amounts to at its end.

    `error_from` makes the error that a body tells of, if it tells one. Raises that, and `BadResponse` with
    `hint` for what is no reply.
    """

    def __init__(
        self, kind: str, error_from: Callable[[dict[str, Any]], ProviderError | None], *, hint: str
    ) -> None:
        self._kind = kind
        self._error_from = error_from
        self._hint = hint
        self._body = bytearray()

    def feed(self, chunk: bytes) -> tuple[SSEEvent, ...]:
        """Nothing yet: half a body says nothing."""
        self._body += chunk
        if len(self._body) > MAX_EVENT_BYTES:
            raise BadResponse(f"the answer is larger than {MAX_EVENT_BYTES} bytes", hint=self._hint)
        return ()

    def close(self) -> tuple[SSEEvent, ...]:
        """The reply."""
        body = bytes(self._body)
        try:
            value = parse(body)
        except BadResponse:
            value = {}
        error = self._error_from(value)
        if error is not None:
            raise error
        events = whole_events(value, body)
        if not events:
            raise BadResponse(
                f"the answer is of type {self._kind[:80]!r} and neither a stream of events nor a reply",
                hint=self._hint,
            )
        return events


class WholeDecoder:
    """`inner`, which takes a fault at the end of a stream for a cut: of what comes whole the end is all."""

    def __init__(self, inner: WireDecoder[SSEEvent]) -> None:
        self._inner = inner

    @property
    def stopped(self) -> bool:
        """Whether the reply has told its end."""
        return self._inner.stopped

    def feed(self, piece: SSEEvent) -> Iterable[StreamEvent]:
        """The stream events that `piece` means."""
        return self._inner.feed(piece)

    def finish(self, fault: BadResponse | None) -> Iterable[StreamEvent]:
        """Say that nothing more comes. Raises `fault`, `StreamInterrupted` for a reply of another kind."""
        if fault is not None:
            raise fault
        return self._inner.finish(None)


def whole_events(value: dict[str, Any], body: bytes) -> tuple[SSEEvent, ...]:
    """What the stream would have said of the reply in `body`, whose JSON is `value`; nothing if it is none.

    A completion reads as one chunk, with a message for a delta; a response stands in the last event of a
    stream as well.
    """
    if objects(value, "choices"):
        return (SSEEvent("message", body), SSEEvent("message", b"[DONE]"))
    if isinstance(value.get("output"), list):
        return (SSEEvent("response.completed", b'{"response":' + body + b"}"),)
    return ()
