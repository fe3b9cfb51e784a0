"""A server that lives in the program which has started us: messages go through what that program gives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from caliban_common.errors import CalibanError
from caliban_mcp_client.encode import Outgoing
from caliban_mcp_client.errors import CallLost, ProtocolError
from caliban_mcp_client.frames import read_frames
from caliban_mcp_client.groups import PlainGroup
from caliban_mcp_client.inflight import Call

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from caliban_mcp_client.ports import Receiver


class HostPipe(Protocol):
    """The way to one server of the host."""

    async def send(self, message: Mapping[str, Any]) -> object:
        """Hand over a message of ours; what the server answers. Raises `CalibanError`."""
        ...

    def listen(self, take: Callable[[Mapping[str, Any]], None] | None) -> None:
        """From now on `take` hears of what the server tells by itself, or nobody."""
        ...


class HostCarrier:
    """Each message is a question to the host, and the answer to a request comes as its answer."""

    is_http = False

    def __init__(self, pipe: HostPipe, receiver: Receiver, tasks: TaskGroup) -> None:
        self._pipe = pipe
        self._receiver = receiver
        self._tasks = tasks

    async def deliver(self, message: Outgoing, call: Call | None) -> None:
        """Hand a message over; see `Carrier`."""
        self._tasks.start_soon(self._send, message, call)

    def agreed(self, version: str, *, is_modern: bool) -> None:
        """Nothing changes."""

    def notice(self, frame: Mapping[str, Any]) -> None:
        """Take what the server tells by itself: notifications only."""
        frames, _ = read_frames(msgspec.json.encode(frame))
        if len(frames) == 1 and "method" in frames[0] and "id" not in frames[0]:
            self._receiver.receive(frames[0])
        else:
            self._receiver.note("a message of the host's that is no notification")

    async def _send(self, message: Outgoing, call: Call | None) -> None:
        try:
            answer = await self._pipe.send(msgspec.json.decode(message.body))
        except CalibanError as error:
            if call is not None:
                call.finish(error=CallLost(f"{call.method}: {error.message}"))
            else:
                self._receiver.note("a message that the host did not take", error.message)
            return
        if call is None:
            return  # hosts acknowledge notifications each in its own way
        frames, scraps = read_frames(_text(answer))
        for scrap in scraps:
            self._receiver.discard(scrap)
        for frame in frames:
            self._receiver.receive(frame)
        call.finish(error=ProtocolError(f"{call.method}: what the host answered is no answer to it"))


@asynccontextmanager
async def opened_host(pipe: HostPipe, receiver: Receiver) -> AsyncIterator[HostCarrier]:
    """Speak with a server of the host, for the length of a block."""
    async with PlainGroup() as group:
        carrier = HostCarrier(pipe, receiver, group)
        pipe.listen(carrier.notice)
        try:
            yield carrier
        finally:
            pipe.listen(None)
            group.cancel_scope.cancel()


def _text(answer: object) -> bytes:
    try:
        return msgspec.json.encode(answer)
    except (TypeError, ValueError, OverflowError, RecursionError):
        return b"null"
