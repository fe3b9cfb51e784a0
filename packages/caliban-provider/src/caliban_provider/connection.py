"""HTTP/1.1 connections that are kept between requests, on any event loop that anyio runs on."""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

import anyio
from msgspec import Struct

from caliban_provider import faults
from caliban_provider.errors import NetworkError
from caliban_provider.http1 import BodyFraming, ResponseHead, framing_of, split_head

if TYPE_CHECKING:
    from anyio.abc import ByteStream

PORTS: Mapping[str, int] = MappingProxyType({"http": 80, "https": 443})
"""Where a scheme's servers listen unless an address says otherwise."""

Addresses: TypeAlias = Callable[["Origin"], Awaitable[tuple[str, ...]]]

_READ_BYTES = 128 * 1024
_WRITE_BYTES = 256 * 1024
_KEEP_ALIVE_S = 90.0
_BROKEN = (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError)


class Origin(Struct, frozen=True, kw_only=True):
    """Where requests go; a connection serves one origin. `host` is ASCII, without brackets."""

    scheme: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS.get(self.scheme) else f"{host}:{self.port}"


class HttpTimeouts(Struct, frozen=True, kw_only=True):
    """How long to wait: for a connection, for each read, for each write."""

    connect_s: float
    read_s: float
    write_s: float


class Pool:
    """Connections by origin; `context` is asked for the first one that needs TLS.

    `addresses` says what is dialled for an origin, and may refuse it.
    """

    def __init__(
        self,
        limits: HttpTimeouts,
        context: Callable[[], ssl.SSLContext],
        addresses: Addresses | None = None,
    ) -> None:
        self._limits = limits
        self._context = context
        self._addresses = addresses
        self._idle: dict[Origin, list[Connection]] = {}

    async def request(self, origin: Origin, method: str, request: bytes) -> ConnectionResponse:
        """Send the bytes of a request and give its answer's head. Raises `ProviderError`.

        A server may close a kept connection while the request is on its way. One that was closed without a
        word is replaced by a new one, once.
        """
        kept = await self._reuse(origin)
        if kept is not None:
            try:
                return await self._ask(kept, method, request)
            except NetworkError:
                if kept.answered:
                    raise
        return await self._ask(await self._connect(origin), method, request)

    async def _ask(self, connection: Connection, method: str, request: bytes) -> ConnectionResponse:
        try:
            await connection.send(request)
            return ConnectionResponse(self, connection, *await connection.head(method))
        except BaseException:
            await connection.aclose()
            raise

    def keep(self, connection: Connection) -> None:
        """Take back a connection whose answer was read to its end."""
        connection.kept_until = time.monotonic() + _KEEP_ALIVE_S
        self._idle.setdefault(connection.origin, []).append(connection)

    async def aclose(self) -> None:
        """Close every connection that is not in use."""
        idle = [connection for kept in self._idle.values() for connection in kept]
        self._idle.clear()
        for connection in idle:
            await connection.aclose()

    async def _reuse(self, origin: Origin) -> Connection | None:
        """The connection that was used last, unless the server has closed it meanwhile."""
        kept = self._idle.get(origin, [])
        while kept:
            connection = kept.pop()
            if connection.usable():
                return connection
            await connection.aclose()
        return None

    async def _connect(self, origin: Origin) -> Connection:
        # A context that cannot be made is the operator's mistake and not the network's.
        context = self._context() if origin.scheme == "https" else None
        try:
            with anyio.move_on_after(self._limits.connect_s):
                return Connection(origin, await self._stream(origin, context), self._limits)
        except _BROKEN as error:
            raise faults.unconnected(error, str(origin)) from error
        raise faults.connect_timeout(str(origin), self._limits.connect_s)

    async def _stream(self, origin: Origin, context: ssl.SSLContext | None) -> ByteStream:
        if self._addresses is None:
            return await _dialled(origin, origin.host, context)
        addresses = await self._addresses(origin)
        for address in addresses[:-1]:
            with anyio.move_on_after(self._limits.connect_s / len(addresses)):
                try:
                    return await _dialled(origin, address, context)
                except _BROKEN:
                    continue
        return await _dialled(origin, addresses[-1], context)


async def _dialled(origin: Origin, host: str, context: ssl.SSLContext | None) -> ByteStream:
    """A connection to `host`, which is that of `origin` or one of its addresses."""
    if context is None:
        return await anyio.connect_tcp(host, origin.port)
    return await anyio.connect_tcp(
        host, origin.port, ssl_context=context, tls_hostname=origin.host, tls_standard_compatible=False
    )


class Connection:
    """One connection, for one request at a time. `answered`: the last one got at least a byte."""

    def __init__(self, origin: Origin, stream: ByteStream, limits: HttpTimeouts) -> None:
        self.origin = origin
        self.limits = limits
        self.kept_until: float = 0.0
        self.answered: bool = False
        self._stream = stream
        self._received = b""

    def usable(self) -> bool:
        """Whether another request may go out: not kept too long, nothing came unasked, not even an end."""
        from anyio.abc import SocketAttribute

        if time.monotonic() >= self.kept_until:
            return False
        return not _readable(self._stream.extra(SocketAttribute.raw_socket))

    async def send(self, request: bytes) -> None:
        """Write a request. A server may answer and hang up before it has read all; its answer says why."""
        try:
            for at in range(0, len(request), _WRITE_BYTES):
                with anyio.fail_after(self.limits.write_s):
                    await self._stream.send(request[at : at + _WRITE_BYTES])
        except TimeoutError:
            raise faults.read_timeout(
                f"{self.origin} did not take the request", self.limits.write_s
            ) from None
        except _BROKEN:
            pass

    async def head(self, method: str) -> tuple[ResponseHead, BodyFraming]:
        """The head of the answer to `method` and how its body ends; interim answers (1xx) are passed over."""
        received = b""
        self.answered = False
        try:
            while (head_and_rest := split_head(received)) is None or head_and_rest[0].status < 200:
                received = head_and_rest[1] if head_and_rest else received + await self.receive()
                self.answered = True
            self._received = head_and_rest[1]
            return head_and_rest[0], framing_of(method, head_and_rest[0])
        except ValueError as error:
            raise faults.not_http(error, str(self.origin)) from error
        except TimeoutError:
            raise faults.read_timeout(f"{self.origin} did not answer", self.limits.read_s) from None
        except _BROKEN as error:
            raise faults.broken(_named(error), str(self.origin)) from error

    async def receive(self) -> bytes:
        """What comes next, at least one byte; what came behind the head first."""
        if received := self._received:
            self._received = b""
            return received
        with anyio.move_on_after(self.limits.read_s):  # cheaper than `fail_after`; there can be many pieces
            return await self._stream.receive(_READ_BYTES)
        raise TimeoutError

    async def aclose(self) -> None:
        """Close at once, whatever is under way."""
        await anyio.aclose_forcefully(self._stream)


class ConnectionResponse:
    """The head of an answer, and an iterator over its body. Pieces that arrive together come as one."""

    def __init__(self, pool: Pool, connection: Connection, head: ResponseHead, framing: BodyFraming) -> None:
        self.status: int = head.status
        self.headers: Mapping[str, str] = head.headers
        self._pool = pool
        self._connection: Connection | None = connection
        self._keep_alive = head.keep_alive
        self._framing = framing

    def __aiter__(self) -> ConnectionResponse:
        return self

    async def __anext__(self) -> bytes:
        """The next bytes of the body. Raises `StreamInterrupted` or `StreamIdle`."""
        while self._connection is not None and not self._framing.done:
            if piece := await self._piece(self._connection):
                return piece
        await self.aclose()
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Give the connection back if the answer was read to its end, else close it."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if self._framing.done and self._framing.reusable and self._keep_alive:
            self._pool.keep(connection)
        else:
            await connection.aclose()

    async def _piece(self, connection: Connection) -> bytes:
        try:
            return self._framing.feed(await connection.receive())
        except anyio.EndOfStream:
            pass
        except ValueError as error:
            raise faults.truncated(error, str(connection.origin)) from error
        except TimeoutError:
            raise faults.read_timeout(
                f"{connection.origin} did not go on", connection.limits.read_s
            ) from None
        except _BROKEN as error:
            raise faults.truncated(_named(error), str(connection.origin)) from error
        try:
            self._framing.end()
        except ValueError as error:
            raise faults.truncated(error, str(connection.origin)) from error
        return b""


def _named(error: Exception) -> BaseException:
    """The system's error where the event loop wraps it: its own have no text."""
    if isinstance(error, anyio.EndOfStream):
        return ConnectionError("it was closed")
    return error.__cause__ or error


def _readable(raw: socket.socket) -> bool:
    """Whether a read would return at once; true for a closed socket as well."""
    if (descriptor := raw.fileno()) < 0:
        return True
    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([descriptor], [], [], 0)[0])
