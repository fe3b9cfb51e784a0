"""The way over HTTP of 2024-11-05: one stream for all answers, which names where to send messages."""

from __future__ import annotations

from urllib.parse import urljoin

import anyio

from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_mcp_client.encode import Outgoing
from caliban_mcp_client.errors import CallLost, ConnectError, HttpRefused
from caliban_mcp_client.events import EventReader, ServerEvent
from caliban_mcp_client.frames import long_scrap, read_frames
from caliban_mcp_client.inflight import Call
from caliban_mcp_client.ports import Receiver
from caliban_mcp_client.refusal import said, with_reason
from caliban_mcp_client.requests import Requests, refusal_body
from caliban_mcp_client.streamable import STREAM
from caliban_mcp_client.target import ServerOptions


class OldSseCarrier:
    """Posts to the address that the stream has named."""

    is_http = True

    def __init__(self, requests: Requests, receiver: Receiver, options: ServerOptions) -> None:
        self._requests = requests
        self._receiver = receiver
        self._options = options
        self._version = ""
        self._place = ""
        self._named = anyio.Event()
        self._error: ConnectError | None = None

    def agreed(self, version: str, *, is_modern: bool) -> None:
        """The version goes with every message."""
        self._version = version

    async def ready(self) -> None:
        """Wait for the address to send to. Raises `ConnectError`."""
        await self._named.wait()
        if self._error is not None:
            raise self._error

    async def deliver(self, message: Outgoing, call: Call | None) -> None:
        """Send a message; what is answered comes by the stream."""
        headers = {"content-type": "application/json"}
        if self._version:
            headers["mcp-protocol-version"] = self._version
        try:
            async with self._requests.send("POST", self._place, headers, message.body) as reply:
                if reply.status >= 300:
                    self._failed(HttpRefused(reply.status, said(await refusal_body(reply))), call)
        except CalibanError as error:
            words = error.message if call is None else f"{call.method}: {error.message}"
            self._failed(CallLost(words), call)

    async def listen(self) -> None:
        """Read the stream until it ends, which ends the conversation."""
        try:
            words = await self._stream()
        except CalibanError as error:
            words = error.message
        if not self._named.is_set():
            hint = "look at its url, and at its type: most servers are of the type http today"
            words = f"the stream of the server did not begin: {words}"
            self._refuse(ConnectError("unreachable", words, hint=hint))
        self._receiver.end(words)

    async def _stream(self) -> str:
        reader = EventReader(self._options.max_message_bytes)
        async with self._requests.send("GET", self._requests.url, {"accept": STREAM}) as reply:
            kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
            if reply.status in (401, 403):
                self._refuse(
                    ConnectError(
                        "unauthorized",
                        f"the server wants a login (status {reply.status})",
                        hint="log in to it, or give it a header with a token",
                    )
                )
            if reply.status != 200 or kind != STREAM:
                words = f"it answered with status {reply.status}, and not with a stream of events"
                return with_reason(words, await refusal_body(reply))
            async for chunk in reply.chunks():
                for event in reader.feed(chunk):
                    self._take(event)
                if reader.overrun_bytes > 2 * self._options.max_message_bytes:
                    return "it sent an event that does not end"
        return "it has ended its stream"

    def _take(self, event: ServerEvent) -> None:
        if event.name == "endpoint" and not self._named.is_set():
            self._name(event.data.decode("utf-8", "replace").strip())
        elif event.size_bytes:
            self._receiver.discard(long_scrap(event.data, event.size_bytes))
        elif event.name == "message":
            frames, scraps = read_frames(event.data)
            for scrap in scraps:
                self._receiver.discard(scrap)
            for frame in frames:
                self._receiver.receive(frame)

    def _name(self, place: str) -> None:
        self._place = urljoin(self._requests.url, place)
        if self._requests.is_same_origin(self._place):
            self._named.set()
        else:
            words = "the server names an address of somebody else to send to, which is not asked"
            self._refuse(ConnectError("refused", f"{words}: {one_line(self._place, max_chars=200)}"))

    def _refuse(self, error: ConnectError) -> None:
        self._error = error
        self._named.set()

    def _failed(self, error: HttpRefused | CallLost, call: Call | None) -> None:
        if call is None:
            self._receiver.note("a message that could not be sent", error.message)
        else:
            call.finish(error=error)
