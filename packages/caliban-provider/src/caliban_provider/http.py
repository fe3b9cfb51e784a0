"""HTTP for the adapters: one door, whatever carries the bytes behind it.

A plain request (`plain_request`) goes over connections of our own (`connection`). What is not plain, or has a
proxy between, is left to the HTTP library (`httpx_client`): its own connections cost 14 µs for each chunk of
a body and lose the connection of an answer whose last bytes nobody waits for.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import anyio
from msgspec import Struct

from caliban_provider import faults, tls, unpack
from caliban_provider.address import is_address
from caliban_provider.connection import PORTS, HttpTimeouts, Origin, Pool
from caliban_provider.errors import BadResponse, InvalidRequest, ProviderError
from caliban_provider.httpx_client import HttpxClient, proxy_before
from caliban_provider.options import check_headers
from caliban_provider.plain_request import LOOPBACK, may_be_proxied, plain_request

_CLOSE_S = 2.0
_DRAIN_S = 0.05
_HEADERS: Mapping[str, str] = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "caliban"}


if TYPE_CHECKING:
    from caliban_provider.egress import EgressGuard


class _Opened(Protocol):
    """An answer that has begun, and an iterator over its body."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def __aiter__(self) -> AsyncIterator[bytes]: ...

    async def aclose(self) -> None: ...


class HttpResponse(Struct, frozen=True, kw_only=True):
    """The head of an answer; its body is read once, in pieces or whole. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    _body: AsyncIterator[bytes]

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, decompressed. Raises `StreamInterrupted`, `StreamIdle` or `BadResponse`."""
        return self._body

    async def read(self, max_bytes: int) -> bytes:
        """The body's first `max_bytes` bytes; raises as `chunks` does when it is cut before that."""
        pieces: list[bytes] = []
        size_bytes = 0
        async for chunk in self._body:
            pieces.append(chunk)
            size_bytes += len(chunk)
            if size_bytes >= max_bytes:
                break
        return b"".join(pieces)[:max_bytes]


class HttpClient:
    """Connections that stay open between requests; the first request opens the first one.

    `connect_s` bounds connecting, `read_s` the wait for the head and between two pieces of a body, `write_s`
    each write. Redirects are not followed and cookies not kept: a key never travels to another address.
    Proxies are taken from the environment, but never for a server on this machine. With a `guard` only those
    servers are asked that it lets through. One event loop uses a client.
    """

    def __init__(
        self,
        *,
        connect_s: float = 10.0,
        read_s: float = 300.0,
        write_s: float = 60.0,
        tls: ssl.SSLContext | None = None,
        guard: EgressGuard | None = None,
    ) -> None:
        self._limits = HttpTimeouts(connect_s=connect_s, read_s=read_s, write_s=write_s)
        self._tls = tls
        self._guard = guard
        self._pool = Pool(self._limits, self._context, None if guard is None else guard.addresses)
        self._httpx = HttpxClient(self._limits, self._pool, _HEADERS, self._context)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[HttpResponse]:
        """Send a request and give the answer's head, whatever its status; leaving ends the request.

        Raises `NetworkError`, `StreamIdle`, `BadResponse` or `InvalidRequest`.
        """
        _check(url, headers)
        answer = await self._begun(method, url, headers, body)
        pieces = _unpacked(answer, _host(url))
        try:
            yield HttpResponse(status=answer.status, headers=answer.headers, _body=pieces)
            await _drain(pieces)
        finally:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await answer.aclose()

    async def aclose(self) -> None:
        """Close every connection; may be called twice."""
        await self._httpx.aclose()
        await self._pool.aclose()

    async def _begun(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> _Opened:
        host = _host(url)
        if self._guard is not None:
            await _check_egress(self._guard, url)
        request = plain_request(method, url, headers, body, defaults=_HEADERS)
        if request is None or self._is_proxied(request.origin):
            return await self._httpx.request(method, url, headers, body, host=host)
        return await self._pool.request(request.origin, method, request.content)

    def _is_proxied(self, origin: Origin) -> bool:
        if origin.host in LOOPBACK or not may_be_proxied():
            return False
        return proxy_before(origin.scheme, origin.host, origin.port) is not None

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = tls.default_context()
        return self._tls


async def _check_egress(guard: EgressGuard, url: str) -> None:
    """Refuse a server also where a proxy would ask it; a name that only the proxy knows is left to that."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    try:
        await guard.addresses(
            Origin(scheme=scheme, host=parts.hostname or "", port=parts.port or PORTS[scheme])
        )
    except OSError:
        pass


def _unpacked(answer: _Opened, host: str) -> AsyncIterator[bytes]:
    """The body of `answer`, decompressed where it is compressed although nobody asked for that."""
    coding = answer.headers.get("content-encoding", "")
    return _unpacking(answer, coding, host) if unpack.is_packed(coding) else aiter(answer)


async def _unpacking(answer: _Opened, coding: str, host: str) -> AsyncIterator[bytes]:
    try:
        unpacker = unpack.Unpacker(coding)
        async for chunk in answer:
            for piece in unpacker.feed(chunk):
                yield piece
        for piece in unpacker.end():
            yield piece
    except ValueError as error:
        raise BadResponse(f"the answer of {host} cannot be decompressed: {faults.line(error)}") from error


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the last bytes of a body, which a reader of events does not wait for.

    Only a connection whose answer was read to its end can be used again. An answer that goes on is left.
    """
    with anyio.move_on_after(_DRAIN_S):
        try:
            async for _ in pieces:
                pass
        except ProviderError:
            pass


def _host(url: str) -> str:
    """Host and port of `url` for messages: never the rest, which may hold a key."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or "the server"
    except ValueError:
        return "the server"


def _check(url: str, headers: Mapping[str, str]) -> None:
    """Refuse early, in words that hold no header's value, what cannot be sent."""
    if not is_address(url):
        raise InvalidRequest(
            "the provider's address is not an http or https URL", hint="check the base URL in the settings"
        )
    check_headers(headers)
