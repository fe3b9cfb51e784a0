"""One conversation with a server: what is asked, what is answered, and what comes unasked."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from caliban_mcp_client import encode
from caliban_mcp_client.errors import CallTimedOut, ProtocolError
from caliban_mcp_client.frames import Frame, Scrap
from caliban_mcp_client.inbound import Inbound
from caliban_mcp_client.inflight import Call, InFlight, OnUpdate
from caliban_mcp_client.lazyevent import LazyEvent
from caliban_mcp_client.news import Changes
from caliban_mcp_client.oddities import Oddities
from caliban_mcp_client.target import LATEST, ServerOptions

if TYPE_CHECKING:
    from caliban_mcp_client.ports import Carrier, ClientHandler

_CANCEL_S: Final = 5.0


class CallTiming(Struct, frozen=True, kw_only=True):
    """How long a request may be silent, and take; what follows its progress.

    `is_handshake` requests are never cancelled by a message: the protocol forbids it.
    """

    idle_s: float
    limit_s: float
    on_update: OnUpdate | None = None
    has_progress: bool = False
    is_handshake: bool = False


class LinkParts(Struct, frozen=True, kw_only=True):
    """What all conversations of one client have in common."""

    options: ServerOptions
    handler: ClientHandler | None
    changes: Changes
    oddities: Oddities


class Link:
    """A conversation; a `Receiver` of its carrier. `ended` is set, with the `reason`, once it is over.

    Until the handshake is over `version` is empty. With `has_spawned` something was done beside it.
    """

    def __init__(self, parts: LinkParts) -> None:
        self._options = parts.options
        self._oddities = parts.oddities
        self._tasks: TaskGroup | None = None
        self._in_flight = InFlight(self.note)
        self._inbound = Inbound(self, parts.options, parts.handler, parts.changes)
        self._carrier: Carrier | None = None
        self.has_spawned: bool = False
        self.version: str = ""
        self.is_modern: bool = False
        self.ended: LazyEvent = LazyEvent()
        self.reason: str = ""

    def start(self, carrier: Carrier, tasks: TaskGroup) -> None:
        """Speak through `carrier`; what the server asks is answered by `tasks`."""
        self._carrier, self._tasks = carrier, tasks

    @property
    def is_http(self) -> bool:
        return self._carrier is not None and self._carrier.is_http

    @property
    def in_flight(self) -> InFlight:
        return self._in_flight

    def spawn(self, work: Callable[..., Coroutine[Any, Any, None]], *values: Any) -> None:
        """Do `work` beside the conversation; nothing once it is over."""
        if self._tasks is not None and not self.ended.is_set():
            self.has_spawned = True
            self._tasks.start_soon(work, *values)

    def agree(self, version: str, *, is_modern: bool) -> None:
        """The handshake is over: this is spoken."""
        self.version, self.is_modern = version, is_modern
        if self._carrier is not None:
            self._carrier.agreed(version, is_modern=is_modern)

    def receive(self, frame: Frame) -> None:
        """Sort a frame: an answer, a question, or a notice."""
        if "method" not in frame:
            self._in_flight.answer(frame)
        elif "id" not in frame:
            self._inbound.notice(frame["method"], frame.get("params"))
        elif self.is_modern:
            self.note("a question of the server's own, which its version of the protocol does not have")
        else:
            self._inbound.question(frame)

    def discard(self, scrap: Scrap) -> None:
        """Count what is no frame; no call may wait for it."""
        self.note(scrap.why, scrap.sample)
        self._in_flight.fail(scrap)

    def note(self, words: str, sample: str = "") -> None:
        """Something odd has happened."""
        self._oddities.add(words, sample)

    def end(self, words: str) -> None:
        """The conversation is over; every call that waits is told so."""
        if not self.ended.is_set():
            self.reason = words
            self.ended.set()
        self._in_flight.fail_all(self.reason)

    def leave(self, words: str) -> None:
        """The conversation is over, and nothing can be done beside it any more."""
        self.end(words)
        self._tasks = None

    async def request(
        self,
        method: str,
        params: Mapping[str, Any],
        timing: CallTiming,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Ask, and wait for the result, an object. Raises `CallError` and `ProtocolError`.

        Being cancelled tells the server, in the way of its era.
        """
        call = self._in_flight.begin(method, timing.idle_s, timing.on_update)
        try:
            return await self.answered(call, params, timing, headers)
        finally:
            self._in_flight.drop(call)

    async def answered(
        self,
        call: Call,
        params: Mapping[str, Any],
        timing: CallTiming,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """The result of a call that was begun; raises as `request` does."""
        message = self._request(call, params, timing, headers or {})
        if self.ended.is_set() or self._carrier is None:
            self._in_flight.fail_all(self.reason or "there is no connection")
        is_over = False
        try:
            is_over = await self._exchange(message, call, timing)
        finally:
            if not is_over and not timing.is_handshake:
                self._cancel(call)
        if not is_over:
            raise CallTimedOut(call.method, min(timing.idle_s, timing.limit_s))
        if call.error is not None:
            raise call.error
        if not isinstance(call.result, dict):
            raise ProtocolError(f"{call.method}: the server answered with a result that is no object")
        return call.result

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the server something."""
        body = encode.notice_body(method, self._with_meta(params) if self.is_modern else params)
        await self._send(
            encode.Outgoing(body=body, method=method, version=self.version, is_modern=self.is_modern)
        )

    async def reply(self, body: bytes) -> None:
        """Send an answer to a question of the server's."""
        await self._send(encode.Outgoing(body=body, version=self.version, is_modern=self.is_modern))

    async def _send(self, message: encode.Outgoing) -> None:
        if self._carrier is not None and not self.ended.is_set():
            await self._carrier.deliver(message, None)

    async def _exchange(self, message: encode.Outgoing, call: Call, timing: CallTiming) -> bool:
        carrier = self._carrier
        if carrier is None or call.done.is_set():
            return True
        if not carrier.is_http:
            await carrier.deliver(message, call)
            return await call.wait(timing.limit_s)
        async with anyio.create_task_group() as group:
            group.start_soon(carrier.deliver, message, call)
            is_over = await call.wait(timing.limit_s)
            if is_over:  # the last bytes may make the connection usable again
                group.cancel_scope.deadline = anyio.current_time() + 0.5
            else:
                group.cancel_scope.cancel()
        return is_over

    def _request(
        self, call: Call, params: Mapping[str, Any], timing: CallTiming, headers: Mapping[str, str]
    ) -> encode.Outgoing:
        method = call.method
        is_modern = self.is_modern or method == "server/discover"
        whole = self._with_meta(params) if is_modern else dict(params)
        if timing.has_progress:
            whole["_meta"] = {**whole.get("_meta", {}), "progressToken": call.number}
        name = params.get(encode.NAMED_BY.get(method, ""))
        meta = whole.get("_meta", {})
        return encode.Outgoing(
            body=encode.request_body(call.number, method, whole),
            number=call.number,
            method=method,
            name=name if isinstance(name, str) else None,
            version=meta.get(f"{encode.PREFIX}protocolVersion", self.version),
            is_modern=is_modern,
            headers=headers,
        )

    def _with_meta(self, params: Mapping[str, Any]) -> dict[str, Any]:
        meta = {**encode.modern_meta(self._options, self.version or LATEST), **params.get("_meta", {})}
        return {**params, "_meta": meta}

    def _cancel(self, call: Call) -> None:
        if self.ended.is_set() or (self.is_http and self.is_modern):
            return  # closing the stream of the answer says it

        async def tell() -> None:
            with anyio.move_on_after(_CANCEL_S):
                await self.notify("notifications/cancelled", {"requestId": call.number})

        self.spawn(tell)
