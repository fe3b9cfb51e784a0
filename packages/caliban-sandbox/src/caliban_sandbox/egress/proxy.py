"""One client of the proxy: its request is read, judged and passed on, once."""

from __future__ import annotations

import secrets
from base64 import b64encode
from typing import Final

import anyio
from anyio import EndOfStream
from anyio.abc import ByteStream

from caliban_sandbox.egress.gate import HostGate
from caliban_sandbox.egress.head import RequestHead
from caliban_sandbox.egress.input import ClientInput
from caliban_sandbox.egress.relay import GONE, IdleScope, pass_on, splice
from caliban_sandbox.egress.values import Dialler, EgressRefused, ProxyLimits, Refusal, RefusalLog

_MAX_TOLD: Final = 1000
_MAX_LINGER_BYTES: Final = 1 << 20
USER: Final = "caliban"
"""The name before the token in the credentials of the proxy."""


class RefusalTeller:
    """Tells of each host once; of so many that nobody reads them, no more."""

    def __init__(self, log: RefusalLog | None) -> None:
        self._log = log
        self._told: set[str] = set()

    def tell(self, refusal: Refusal) -> None:
        """Say that something may not be reached, unless it has been said."""
        host = refusal.host
        if self._log is None or host is None or host in self._told or len(self._told) >= _MAX_TOLD:
            return
        self._told.add(host)
        self._log(EgressRefused(host=host, port=refusal.port, reason=refusal.line))


class FilteringProxy:
    """Serves clients one request each: a tunnel to a host that may be reached, or plain HTTP.

    A second request needs a second connection: nothing that follows the first one's body is read, so that
    nothing can hide in it. With a `token` a client must name it (`Proxy-Authorization: Basic`).
    """

    def __init__(
        self,
        gate: HostGate,
        dial: Dialler,
        teller: RefusalTeller,
        limits: ProxyLimits,
        token: str | None = None,
    ) -> None:
        self._gate = gate
        self._dial = dial
        self._teller = teller
        self._limits = limits
        self._credentials = None if token is None else b64encode(f"{USER}:{token}".encode())

    async def serve(self, client: ByteStream) -> None:
        """Until the request has been answered or the client is gone."""
        try:
            source = ClientInput(client)
            request = await self._request(source)
            if request is None:
                return
            if isinstance(request, Refusal):
                await self._refuse(client, request)
                return
            server = await self._connected(request)
            if isinstance(server, Refusal):
                await self._refuse(client, server)
                return
            async with server:
                if request.is_tunnel:
                    await self._tunnel(source, client, server)
                else:
                    await self._exchange(request, source, client, server)
        except GONE:
            return

    async def _request(self, source: ClientInput) -> RequestHead | Refusal | None:
        with anyio.move_on_after(self._limits.head_s):
            request = await source.head(self._limits.head_bytes)
            if isinstance(request, RequestHead) and not self._is_known(request):
                return Refusal(
                    status=407, line="this proxy is for programs of the sandbox: its token is missing"
                )
            return request
        return Refusal(status=400, line="the head of the request took too long")

    def _is_known(self, request: RequestHead) -> bool:
        if self._credentials is None:
            return True
        scheme, _, value = (request.field("proxy-authorization") or "").partition(" ")
        given = value.strip().encode("latin-1")
        return secrets.compare_digest(given, self._credentials) and scheme.lower() == "basic"

    async def _connected(self, request: RequestHead) -> ByteStream | Refusal:
        addresses = await self._gate.addresses(request.host, request.port)
        if isinstance(addresses, Refusal):
            return addresses
        for address in addresses:
            with anyio.move_on_after(self._limits.connect_s):
                try:
                    return await self._dial(address, request.port)
                except GONE:
                    continue
        return Refusal(status=502, line=f"{request.host}:{request.port} cannot be connected to")

    async def _tunnel(self, source: ClientInput, client: ByteStream, server: ByteStream) -> None:
        with anyio.fail_after(self._limits.head_s):
            await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        await splice(source.receive, client, server, IdleScope(self._limits))

    async def _exchange(
        self, request: RequestHead, source: ClientInput, client: ByteStream, server: ByteStream
    ) -> None:
        idle = IdleScope(self._limits)
        is_read = False

        async def send(data: bytes) -> None:
            idle.touch()
            await server.send(data)
            idle.touch()

        async def ask() -> None:
            nonlocal is_read
            try:
                await server.send(request.onward())
                is_read = await source.pass_body(request.length, send)
                if not is_read:
                    group.cancel_scope.cancel()
            except GONE:
                return  # a server may answer before it has read everything

        with idle.scope:
            async with anyio.create_task_group() as group:
                group.start_soon(ask)
                try:
                    await pass_on(server.receive, client, idle)
                except GONE:
                    return
                finally:
                    group.cancel_scope.cancel()
        if not is_read:
            await self._linger(client)

    async def _refuse(self, client: ByteStream, refusal: Refusal) -> None:
        self._teller.tell(refusal)
        body = f"{refusal.line}\n".encode("ascii", "backslashreplace")
        head = f"HTTP/1.1 {refusal.status} {refusal.line}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        if refusal.status == 407:
            head += 'Proxy-Authenticate: Basic realm="caliban"\r\n'
        head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        with anyio.move_on_after(self._limits.linger_s):
            await client.send(head.encode("ascii", "backslashreplace") + body)
            await client.send_eof()
            await self._linger(client)

    async def _linger(self, client: ByteStream) -> None:
        """Let a client that still sends read its answer: closing on it would take that away."""
        count = 0
        with anyio.move_on_after(self._limits.linger_s):
            try:
                while count < _MAX_LINGER_BYTES:
                    count += len(await client.receive())
            except EndOfStream:
                return


class ForwardingProxy:
    """Passes clients on to the proxy of the operator on 127.0.0.1, which judges for itself."""

    def __init__(self, port: int, dial: Dialler, limits: ProxyLimits) -> None:
        self._port = port
        self._dial = dial
        self._limits = limits

    async def serve(self, client: ByteStream) -> None:
        """Until both sides have ended; a proxy that is not there ends the connection at once."""
        try:
            with anyio.fail_after(self._limits.connect_s):
                server = await self._dial("127.0.0.1", self._port)
            async with server:
                await splice(client.receive, client, server, IdleScope(self._limits))
        except (*GONE, TimeoutError):
            return
