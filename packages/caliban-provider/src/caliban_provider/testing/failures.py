"""Checks of what an adapter makes of bad answers."""

from __future__ import annotations

import socket
from collections.abc import Mapping

from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    InvalidRequest,
    ModelUnavailable,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
    ServerError,
    StreamIdle,
    StreamInterrupted,
)
from caliban_provider.stream import MessageStop, StreamEvent, TextDelta
from caliban_provider.testing.contract import LIMIT_S, ask
from caliban_provider.testing.exchange import Close, Exchange, Hang, Reset, Send, answer
from caliban_provider.testing.vendor import KEY, Vendor, VendorCheck, failure_of

_SHORT_S = 0.2

_STATUSES: Mapping[int, type[ProviderError]] = {
    400: InvalidRequest,
    401: AuthenticationError,
    404: ModelUnavailable,
    429: RateLimited,
    500: ServerError,
    529: Overloaded,
}


async def _failure(
    vendor: Vendor, *, first_byte_s: float = LIMIT_S, idle_s: float = LIMIT_S
) -> tuple[ProviderError, tuple[StreamEvent, ...]]:
    async with vendor.provider(first_byte_s=first_byte_s, idle_s=idle_s) as provider:
        error, events = await failure_of(provider, ask("Go on.", model=vendor.wire.model))
    assert not any(isinstance(event, MessageStop) for event in events), (
        "a failed reply was given out as whole"
    )
    message = str(error)
    assert KEY not in message, f"the key is in the message: {message}"
    assert error.message and error.message.isprintable(), f"the message is not one clean line: {message!r}"
    return error, events


def _is(error: ProviderError, *kinds: type[ProviderError]) -> None:
    wanted = " or ".join(kind.__name__ for kind in kinds)
    assert isinstance(error, kinds), f"{wanted} was expected, not {type(error).__name__}: {error}"


async def _statuses(vendor: Vendor) -> None:
    for status, kind in _STATUSES.items():
        vendor.refuses(status)
        error, events = await _failure(vendor)
        _is(error, kind)
        assert error.status == status and not events
        assert error.retryable is (status in (429, 500, 529))


async def _told_waits(vendor: Vendor) -> None:
    for headers, wait_s in (({"retry_after": "7"}, 7.0), ({"retry_after_ms": "700"}, 0.7)):
        vendor.refuses(429, **headers)
        error, _ = await _failure(vendor)
        _is(error, RateLimited)
        assert error.retry_after_s == wait_s, f"the told wait is {error.retry_after_s}, not {wait_s}"


async def _odd_refusals(vendor: Vendor) -> None:
    page = b"<html><head><title>502</title></head><body>\x1b[31mBad gateway\x00</body></html>"
    for body in (b"", page, b"\xff\xfe\x00", b'{"error": null}', b"[]", f"wrong key {KEY}".encode()):
        vendor.says(answer(502, body))
        error, _ = await _failure(vendor)
        _is(error, ServerError)


async def _redirect(vendor: Vendor) -> None:
    vendor.says(answer(307, b"", location=f"{vendor.server.url}/elsewhere"))
    await _failure(vendor)
    assert len(vendor.server.requests) == 1, "the redirect was followed, and the key with it"


async def _in_stream(vendor: Vendor) -> None:
    event = vendor.wire.overloaded()
    assert event is not None
    vendor.says(vendor.exchange([*_begun(vendor), event]))
    error, events = await _failure(vendor)
    _is(error, Overloaded)
    assert error.retryable
    assert any(isinstance(event, TextDelta) for event in events), "what came before the error is lost"


def _begun(vendor: Vendor) -> list[bytes]:
    """A reply's pieces without the later half: its text has begun."""
    pieces = vendor.body("first second third fourth")
    return pieces[: (len(pieces) + 1) // 2]


async def _ends_early(vendor: Vendor) -> None:
    """The answer ends well as HTTP, but not as a reply: after any event but the last few."""
    pieces = _begun(vendor)
    for size in range(len(pieces) + 1):
        vendor.says(vendor.exchange(pieces[:size]))
        error, _ = await _failure(vendor)
        _is(error, StreamInterrupted)


async def _cut(vendor: Vendor) -> None:
    for step in (Close(), Reset()):
        vendor.says(vendor.exchange(_begun(vendor), step))
        error, _ = await _failure(vendor)
        _is(error, StreamInterrupted)


async def _cut_in_an_event(vendor: Vendor) -> None:
    """Without a length, only the broken event itself shows that the rest is missing."""
    body = b"".join(_begun(vendor))
    vendor.says(vendor.exchange([body[:-9]], chunked=False))
    error, _ = await _failure(vendor)
    _is(error, StreamInterrupted)


async def _garbage(vendor: Vendor) -> None:
    bodies = (
        b"<html>not the API</html>",
        b"data: {not json\n\n",
        b"\x00\xff" * 99,
        b"data: []\n\n",
        b"data: 7\n\n",
    )
    for body in bodies:
        vendor.says(vendor.exchange([body]))
        error, events = await _failure(vendor)
        _is(error, BadResponse, StreamInterrupted)
        assert not events, f"{body!r} was taken for {events}"


async def _no_http(vendor: Vendor) -> None:
    vendor.says(Exchange(steps=(Send(b"SSH-2.0-OpenSSH_9.9\r\n"),), raw=True))
    error, _ = await _failure(vendor)
    _is(error, BadResponse, NetworkError)


async def _silence(vendor: Vendor) -> None:
    vendor.says(vendor.exchange([b"".join(_begun(vendor))], Hang()))
    error, events = await _failure(vendor, idle_s=_SHORT_S)
    _is(error, StreamIdle)
    assert events, "what came before the silence is lost"


async def _silence_from_the_start(vendor: Vendor) -> None:
    no_head = Exchange(steps=(Hang(),), raw=True)
    for silent in (vendor.exchange([], Hang()), no_head):
        vendor.says(silent)
        error, _ = await _failure(vendor, first_byte_s=_SHORT_S)
        _is(error, StreamIdle)


async def _nobody_there(vendor: Vendor) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with vendor.provider(url=f"http://127.0.0.1:{port}") as provider:
        error, _ = await failure_of(provider, ask("Go on.", model=vendor.wire.model))
    _is(error, NetworkError)
    assert f"127.0.0.1:{port}" in error.message, f"the message does not say where: {error.message}"


async def _afterwards(vendor: Vendor) -> None:
    """A failure leaves the provider usable."""
    vendor.says(vendor.exchange(_begun(vendor), Reset()), vendor.exchange(vendor.body("Hello")))
    async with vendor.provider() as provider:
        request = ask("Go on.", model=vendor.wire.model)
        await failure_of(provider, request)
        async with provider.stream(request) as events:
            texts = [event.text async for event in events if isinstance(event, TextDelta)]
    assert "".join(texts) == "Hello"


ALWAYS: Mapping[str, VendorCheck] = {
    "error statuses are told apart": _statuses,
    "the wait that a server asks for is kept": _told_waits,
    "a refusal may have any body": _odd_refusals,
    "redirects are not followed": _redirect,
    "a reply that ends without its end was interrupted": _ends_early,
    "a broken connection interrupts": _cut,
    "a reply cut inside an event was interrupted": _cut_in_an_event,
    "bytes of another format are refused": _garbage,
    "a server of another protocol is refused": _no_http,
    "silence after the first event ends": _silence,
    "silence from the start ends": _silence_from_the_start,
    "a closed port is a network error that says where": _nobody_there,
    "the reply after a failure is whole": _afterwards,
}
IN_STREAM: Mapping[str, VendorCheck] = {"an error inside the stream is told apart": _in_stream}
