"""Bytes passed between two connections, until both sides have ended or nothing moves any more."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
from anyio import BrokenResourceError, ClosedResourceError, EndOfStream
from anyio.abc import ByteStream

from caliban_sandbox.egress.values import ProxyLimits

GONE = (BrokenResourceError, ClosedResourceError, OSError)
"""What the other side of a connection raises once it is gone."""


class IdleScope:
    """Ends what runs in `scope` once `touch` has not been called for so many seconds."""

    def __init__(self, limits: ProxyLimits) -> None:
        self._idle_s = limits.idle_s
        self._half_closed_s = limits.half_closed_s
        self.scope = anyio.CancelScope()
        self.touch()

    def touch(self) -> None:
        """Something has moved."""
        self.scope.deadline = anyio.current_time() + self._idle_s

    def half_closed(self) -> None:
        """One of the two sides has ended."""
        self._idle_s = self._half_closed_s
        self.touch()


async def pass_on(receive: Callable[[], Awaitable[bytes]], to: ByteStream, idle: IdleScope) -> None:
    """Everything that `receive` gives, and then its end, to `to`."""
    while True:
        try:
            data = await receive()
        except EndOfStream:
            break
        idle.touch()
        await to.send(data)
        idle.touch()
    idle.half_closed()
    await to.send_eof()


async def splice(
    receive: Callable[[], Awaitable[bytes]], one: ByteStream, other: ByteStream, idle: IdleScope
) -> None:
    """What comes by `receive` from `one` to `other`, and what comes from `other` to `one`."""

    async def direction(source: Callable[[], Awaitable[bytes]], to: ByteStream) -> None:
        try:
            await pass_on(source, to, idle)
        except GONE:
            group.cancel_scope.cancel()

    with idle.scope:
        async with anyio.create_task_group() as group:
            group.start_soon(direction, receive, other)
            group.start_soon(direction, other.receive, one)
