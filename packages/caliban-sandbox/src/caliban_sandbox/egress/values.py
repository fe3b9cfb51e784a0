"""What the proxy says and is told: refusals, bounds, and where it listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from anyio.abc import ByteStream
from msgspec import Struct


class EgressRefused(Struct, frozen=True, kw_only=True):
    """Something in the sandbox asked for what it may not reach.

    `host` is printable ASCII of at most 253 characters, as it was asked for where it is no name at all;
    `port` is 0 where none could be read; `reason` is a sentence that names both host and cause.
    """

    host: str
    port: int
    reason: str


class Refusal(Struct, frozen=True, kw_only=True):
    """An answer of the proxy's own: an HTTP `status` and one line of printable ASCII.

    `host` and `port` are those that the policy refuses; none where the request is at fault, or the network.
    """

    status: int
    line: str
    host: str | None = None
    port: int = 0


class ProxyLimits(Struct, frozen=True, kw_only=True):
    """What one client, and all of them together, can take of this process: seconds, bytes, connections.

    Connections beyond `connections` wait in the queue of the system. `head_s` bounds the whole head of a
    request, `idle_s` the time in which nothing passes either way, `half_closed_s` the same once one side has
    ended, and `linger_s` how long a client that was refused may go on sending.
    """

    connections: int = 100
    lookups: int = 4
    head_bytes: int = 32 * 1024
    head_s: float = 30.0
    lookup_s: float = 30.0
    connect_s: float = 15.0
    idle_s: float = 900.0
    half_closed_s: float = 60.0
    linger_s: float = 2.0


class Egress(Struct, frozen=True, kw_only=True):
    """Where the proxy listens: at the path of a Unix socket, or on a port of 127.0.0.1 with a token."""

    socket: str | None = None
    port: int | None = None
    token: str | None = None


Resolver: TypeAlias = Callable[[str, int], Awaitable[tuple[str, ...]]]
"""The numeric addresses of a name, for a port; raises `OSError` for one that has none."""

Dialler: TypeAlias = Callable[[str, int], Awaitable[ByteStream]]
"""A connection to a numeric address and a port; raises `OSError`."""

RefusalLog: TypeAlias = Callable[[EgressRefused], object]
"""Told of what was refused, each host once, from within the event loop: it must not block."""
