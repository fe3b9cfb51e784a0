"""Streamable HTTP: each message is a POST, answered by JSON or by a stream of events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin

import anyio

from caliban_common.errors import CalibanError
from caliban_common.text import one_line
from caliban_mcp_client.encode import Outgoing
from caliban_mcp_client.errors import CallLost, HttpRefused, McpError, ProtocolError
from caliban_mcp_client.events import EventReader, ServerEvent
from caliban_mcp_client.frames import Frame, long_scrap, matched_id, read_frames
from caliban_mcp_client.http import HttpReply
from caliban_mcp_client.inflight import Call
from caliban_mcp_client.paramheaders import coded
from caliban_mcp_client.ports import Receiver
from caliban_mcp_client.refusal import page_hint, said, with_reason
from caliban_mcp_client.requests import Requests, refusal_body
from caliban_mcp_client.target import ServerOptions

STREAM: Final = "text/event-stream"
_JSON: Final = ("application/json", "")
_SESSION: Final = "mcp-session-id"
_VERSION: Final = "mcp-protocol-version"
_RETRY_S: Final = 1.0
_LAST_PAUSE_S: Final = 30.0
_MOST_RESUMED: Final = 5
_DELETE_S: Final = 2.0
_FOLLOWS_S: Final = 1.0
"""How long the first request waits for the stream of what comes unasked, so that nothing is missed."""
_SESSION_CHARS: Final = 1024


class StreamableCarrier:
    """A server at one address; in legacy with its session, and a stream for what comes unasked."""

    is_http = True

    def __init__(self, requests: Requests, receiver: Receiver, options: ServerOptions) -> None:
        self._requests = requests
        self._receiver = receiver
        self._options = options
        self._session: str | None = None
        self._version = ""
        self._agreed = anyio.Event()
        self._follows = anyio.Event()
        self._had_news = False

    def agreed(self, version: str, *, is_modern: bool) -> None:
        """From now on the version goes with every request."""
        self._version = version
        if not is_modern:
            self._agreed.set()

    async def deliver(self, message: Outgoing, call: Call | None) -> None:
        """Send a message, and hand on what is answered, until the answer to `call` has come."""
        if call is not None and self._agreed.is_set() and not self._follows.is_set():
            with anyio.move_on_after(_FOLLOWS_S):
                await self._follows.wait()
        try:
            async with self._requests.send(
                "POST", self._requests.url, self._headers(message), message.body
            ) as reply:
                if message.method == "initialize":
                    self._keep_session(reply)
                reader = await self._take(reply, call, is_modern=message.is_modern)
            if reader is not None and call is not None and not call.done.is_set():
                await self._resume(reader, call)
        except CalibanError as error:
            self._failed(error, call)
        if call is not None:
            call.finish(
                error=CallLost(f"{call.method}: the answer of the server ended before it was complete")
            )

    async def listen(self) -> None:
        """Follow what a legacy server says unasked, for as long as it lets us."""
        await self._agreed.wait()
        pause_s, reader = 0.0, EventReader(self._options.max_message_bytes)
        while True:
            began = anyio.current_time()
            try:
                if not await self._follow(reader):
                    return
            except CalibanError as error:
                self._receiver.note("a stream of news that broke off", error.message)
            finally:
                self._follows.set()
            is_quick = anyio.current_time() - began < _RETRY_S
            pause_s = min(_LAST_PAUSE_S, max(pause_s, _RETRY_S) * 2) if is_quick else 0.0
            await anyio.sleep(max(pause_s, reader.retry_s if reader.retry_s is not None else _RETRY_S))

    async def leave(self) -> None:
        """End the session of a legacy server; that it keeps it is its own affair."""
        if self._session is None:
            return
        try:
            with anyio.move_on_after(_DELETE_S):
                async with self._requests.send("DELETE", self._requests.url, self._kept_headers()):
                    pass
        except CalibanError:
            return

    def _headers(self, message: Outgoing) -> dict[str, str]:
        headers = {"content-type": "application/json", "accept": f"application/json, {STREAM}"}
        if not message.is_modern:
            return {**headers, **(self._kept_headers() if message.method != "initialize" else {})}
        headers[_VERSION] = message.version
        if message.method:
            headers["mcp-method"] = message.method
        if message.name is not None:
            headers["mcp-name"] = coded(message.name)
        return {**headers, **message.headers}

    def _kept_headers(self) -> dict[str, str]:
        headers = {_VERSION: self._version} if self._version else {}
        if self._session is not None:
            headers[_SESSION] = self._session
        return headers

    def _keep_session(self, reply: HttpReply) -> None:
        session = reply.headers.get(_SESSION, "")
        if session and len(session) <= _SESSION_CHARS and session.isascii() and session.isprintable():
            self._session = session

    async def _take(self, reply: HttpReply, call: Call | None, *, is_modern: bool) -> EventReader | None:
        """Read an answer; the reader of its events where a stream can be taken up again."""
        kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
        if reply.status >= 300:
            await self._refused(reply, call, is_modern=is_modern)
            return None
        if call is None:
            return None
        if kind == STREAM:
            reader = EventReader(self._options.max_message_bytes)
            await self._read(reply, reader, call)
            return None if is_modern or reader.last_id is None else reader
        limit = self._options.max_message_bytes
        body = await reply.read(limit + 1)
        is_named = kind in _JSON
        if reply.status == 202 or not (is_named or read_frames(body)[0]):
            type_words = f"the type {one_line(kind, max_chars=60)}" if kind else "no type"
            words = f"{call.method}: the server answered with status {reply.status} and {type_words}"
            error = ProtocolError(with_reason(words, body), hint=page_hint(kind, body))
            call.finish(error=error)
            return None
        if not is_named:  # some gateways call every answer text/plain
            self._receiver.note("answers of another type than application/json", one_line(kind, max_chars=60))
        if len(body) > limit:
            self._receiver.discard(long_scrap(body, len(body)))
            call.finish(error=ProtocolError(f"{call.method}: the answer has more than {limit:,} bytes"))
            return None
        self._hand_on(body, call)
        what = f"what is no answer: {said(body)}" if body.strip() else "nothing"
        call.finish(error=ProtocolError(f"{call.method}: the server answered with {what}"))
        return None

    async def _read(self, reply: HttpReply, reader: EventReader, call: Call | None) -> None:
        """Hand on the events of a stream, until `call` has its answer or the stream ends."""
        try:
            async for chunk in reply.chunks():
                for event in reader.feed(chunk):
                    self._take_event(event, call)
                if call is not None and call.done.is_set():
                    return
                if reader.overrun_bytes > 2 * self._options.max_message_bytes:
                    raise ProtocolError("the server sent an event that does not end")
        except ProtocolError:
            raise
        except CalibanError as error:
            self._receiver.note("a stream that broke off", error.message)
        for event in reader.close():
            frames, _ = read_frames(event.data)  # cut anywhere: what is no frame was not sent whole
            for frame in frames:
                self._receiver.receive(frame)

    def _take_event(self, event: ServerEvent, call: Call | None) -> None:
        if event.size_bytes:
            self._receiver.discard(long_scrap(event.data, event.size_bytes))
            if call is not None:
                limit = self._options.max_message_bytes
                call.finish(error=ProtocolError(f"{call.method}: an event has more than {limit:,} bytes"))
        elif event.name == "message":
            self._hand_on(event.data, call)

    def _hand_on(self, data: bytes, call: Call | None) -> None:
        frames, scraps = read_frames(data)
        for scrap in scraps:
            self._receiver.discard(scrap)
        for frame in frames:
            is_bare = call is not None and "method" not in frame and frame.get("id") is None
            self._receiver.receive({**frame, "id": call.number} if call is not None and is_bare else frame)

    async def _refused(self, reply: HttpReply, call: Call | None, *, is_modern: bool) -> None:
        """Take a status that is no answer: with an error in its body, of an old session, or bare."""
        body = await refusal_body(reply)
        if not is_modern and self._has_expired(reply.status, body):
            self._expire()
            return
        if call is None:
            self._receiver.note(f"a message that the server refused with status {reply.status}")
            return
        frames, _ = read_frames(body)
        errors: list[Frame] = [frame for frame in frames if isinstance(frame.get("error"), dict)]
        if errors and reply.status >= 400 and reply.status not in (401, 403):
            number = matched_id(errors[0].get("id"))
            own = errors[0] if number == call.number else {**errors[0], "id": call.number}
            self._receiver.receive(own)
            return
        place = reply.headers.get("location", "") if reply.status < 400 else ""
        words = one_line(urljoin(self._requests.url, place), max_chars=300) if place else said(body)
        challenge = reply.headers.get("www-authenticate", "")
        call.finish(error=HttpRefused(reply.status, words, challenge=challenge))

    def _expire(self) -> None:
        self._session = None
        self._receiver.end("its session has expired")

    def _has_expired(self, status: int, body: bytes) -> bool:
        """Whether a refusal means the session: 404 says so, and 400 of many servers that speak of it."""
        return self._session is not None and (status == 404 or (status == 400 and b"session" in body.lower()))

    async def _resume(self, reader: EventReader, call: Call) -> None:
        """Take a broken stream up where it was, as long as that brings something new."""
        tries = 0
        while tries < _MOST_RESUMED and not call.done.is_set():
            await anyio.sleep(reader.retry_s if reader.retry_s is not None else _RETRY_S)
            before = reader.last_id
            if not await self._follow(reader, call):
                return
            tries = tries + 1 if reader.last_id == before else 1

    async def _follow(self, reader: EventReader, call: Call | None = None) -> bool:
        """One stream of what comes unasked, or of what is left of an answer; False where there is none."""
        headers: Mapping[str, str] = {"accept": STREAM, **self._kept_headers()}
        if reader.last_id is not None:
            headers = {**headers, "last-event-id": coded(reader.last_id)}
        async with self._requests.send("GET", self._requests.url, headers) as reply:
            kind = reply.headers.get("content-type", "").partition(";")[0].strip().lower()
            if reply.status != 200 or kind != STREAM:
                # Who never had such a stream may say so by any status: that is no word on the session.
                if self._had_news and self._has_expired(reply.status, await refusal_body(reply)):
                    self._expire()
                return reply.status >= 500
            self._had_news = True
            self._follows.set()
            await self._read(reply, reader, call)
        return True

    def _failed(self, error: CalibanError, call: Call | None) -> None:
        if call is None:
            self._receiver.note("a message that could not be sent", error.message)
        elif isinstance(error, McpError):
            call.finish(error=error)
        else:
            call.finish(error=CallLost(f"{call.method}: {error.message}", hint=error.hint))
