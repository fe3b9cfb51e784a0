"""A network that is not there: names with made-up addresses, all of which lead to servers on loopback."""

from __future__ import annotations

import platform
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import anyio
from anyio import BrokenResourceError, EndOfStream
from anyio.abc import ByteStream, SocketAttribute

from caliban_sandbox import NetworkPolicy
from caliban_sandbox.egress import Egress, EgressRefused, ProxyLimits, open_egress
from caliban_sandbox.egress.unix import UnixStream

PUBLIC = "93.184.216.34"
DEAD = "93.184.216.99"
"""An address at which nobody is."""

Handler = Callable[[ByteStream], Awaitable[None]]


class Net:
    """Names, and what was looked up, dialled and refused."""

    def __init__(self, names: Mapping[str, tuple[str, ...]], port: int) -> None:
        self.names = names
        self.port = port
        self.looked_up: list[str] = []
        self.dialled: list[tuple[str, int]] = []
        self.refused: list[EgressRefused] = []

    async def resolver(self, host: str, port: int) -> tuple[str, ...]:
        self.looked_up.append(host)
        if host not in self.names:
            raise OSError("no such name")
        return self.names[host]

    async def dial(self, address: str, port: int) -> ByteStream:
        self.dialled.append((address, port))
        if address == DEAD:
            raise OSError("nobody is there")
        return await anyio.connect_tcp("127.0.0.1", self.port)


class Recorder:
    """A server that keeps what it was sent by each client, and answers with the same few bytes."""

    def __init__(self, reply: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok") -> None:
        self.reply = reply
        self.received: list[bytes] = []
        self.whole = anyio.Event()

    async def serve(self, client: ByteStream) -> None:
        async with client:
            data = b""
            while b"\r\n\r\n" not in data:
                data += await client.receive()
            if b"chunked" in data:
                while not data.endswith(b"0\r\n\r\n"):
                    data += await client.receive()
            head, _, body = data.partition(b"\r\n\r\n")
            for line in head.split(b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    while len(body) < int(line.partition(b":")[2]):
                        body += await client.receive()
                    data = head + b"\r\n\r\n" + body
            self.received.append(data)
            await client.send(self.reply)


async def echo(client: ByteStream) -> None:
    """Send back what comes, and end when the client does."""
    async with client:
        try:
            async for data in client:
                await client.send(data)
            await client.send_eof()
        except BrokenResourceError:
            return


@asynccontextmanager
async def listening(handler: Handler) -> AsyncIterator[int]:
    """The port of a server on loopback that runs `handler` for each client."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, handler)
        yield listener.extra(SocketAttribute.local_port)
        group.cancel_scope.cancel()


@asynccontextmanager
async def proxied(
    policy: NetworkPolicy,
    handler: Handler,
    names: Mapping[str, tuple[str, ...]],
    over: str = "socket",
    limits: ProxyLimits | None = None,
) -> AsyncIterator[tuple[Egress, Net]]:
    """A proxy with that policy, in front of a network with those names, all served by `handler`."""
    async with listening(handler) as port:
        net = Net(names, port)
        async with open_egress(
            policy,
            over=over,
            log=net.refused.append,
            resolver=net.resolver,
            dial=net.dial,
            limits=limits or ProxyLimits(),
        ) as egress:
            yield egress, net


async def connected(egress: Egress) -> ByteStream:
    """A connection to the proxy."""
    if egress.socket is not None:
        raw = socket.socket(socket.AF_UNIX)
        raw.connect(egress.socket)
        return UnixStream(raw)
    assert egress.port is not None
    return await anyio.connect_tcp("127.0.0.1", egress.port)


async def ask(egress: Egress, request: bytes) -> bytes:
    """All that the proxy answers to `request`."""
    answer = b""
    async with await connected(egress) as client:
        await client.send(request)
        try:
            while True:
                answer += await client.receive()
        except (EndOfStream, BrokenResourceError):
            return answer


def status(answer: bytes) -> int:
    """The status of an answer."""
    return int(answer.split(b" ")[1])


def shut_unix_sockets() -> bytes | None:
    """A filter without socket(AF_UNIX); `None` for a machine whose numbers are not known here."""
    known = {"x86_64": (0xC000003E, 41), "aarch64": (0xC00000B7, 198)}
    if platform.machine() not in known:
        return None
    architecture, call = known[platform.machine()]
    load, equal, leave = 0x20, 0x15, 0x06
    lines = (
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (leave, 0, 0, 0x80000000),
        (load, 0, 0, 0),
        (equal, 0, 3, call),
        (load, 0, 0, 16),
        (equal, 0, 1, 1),
        (leave, 0, 0, 0x00050001),
        (leave, 0, 0, 0x7FFF0000),
    )
    return b"".join(struct.pack("HBBI", *line) for line in lines)
