"""The way back from the browser: a listener on loopback that takes one answer, or the address pasted by hand.

Of an answer `state` is looked at first, then `iss`, then whether it is an error, and the code last; of what
fails nothing is shown (RFC 6749 section 10.12, RFC 9207).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from hmac import compare_digest
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

import anyio
from anyio.abc import ByteStream, SocketAttribute, SocketStream
from msgspec import Struct

from caliban_common.text import one_line
from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.oauth.agent import LoginAgent
from caliban_mcp_client.oauth.endpoint import is_loopback, split
from caliban_mcp_client.oauth.values import AuthServer

if TYPE_CHECKING:
    from anyio.streams.stapled import MultiListener

PATH: Final = "/callback"
MAX_HEAD_BYTES: Final = 32 * 1024
HEAD_S: Final = 10.0
MAX_PASTES: Final = 5
_DONE: Final = "This answer has arrived. You may close this page and go back to the terminal."
_STRANGE: Final = "This is no answer to a login that is going on here."


class CallbackAnswer(Struct, frozen=True, kw_only=True):
    """The parameters of an answer; those that came twice are left out, for they mean nothing."""

    params: Mapping[str, str]

    def __repr__(self) -> str:
        return "CallbackAnswer()"

    def code(self, state: str, server: AuthServer) -> str:
        """The code, once everything else is as it has to be. Raises `LoginFailed`."""
        if not compare_digest(self.params.get("state", "").encode(), state.encode()):
            raise LoginFailed(
                "callback",
                "an answer came that does not belong to this login (its state is another one); "
                "nothing of it was used",
                hint="log in again, and open only the address that is shown then",
            )
        iss = self.params.get("iss")
        if server.checks_iss and (iss is not None or server.announces_iss) and iss != server.issuer:
            raise LoginFailed(
                "issuer",
                "the answer is not from the authorisation server that was asked (its iss is "
                + ("missing" if iss is None else "another one")
                + "); nothing of it was used",
                hint="do not log in to this server before its owner has explained that",
            )
        error = self.params.get("error")
        if error is not None:
            code = one_line(error, max_chars=60)
            description = one_line(self.params.get("error_description", ""), max_chars=200)
            words = "the login was refused" if code == "access_denied" else "the authorisation server refused"
            raise LoginFailed(
                "denied", f"{words}: {code}" + (f" ({description})" if description else ""), code=code
            )
        code = self.params.get("code", "")
        if not code:
            raise LoginFailed("callback", "the answer holds no code")
        return code


class Callback:
    """Listens for one answer. `redirect_uri` is where the browser is to be sent."""

    def __init__(self, listener: MultiListener[SocketStream], redirect_uri: str) -> None:
        self._listener = listener
        self.redirect_uri = redirect_uri
        parts = urlsplit(redirect_uri)
        self._path = parts.path or "/"
        self._hosts = {f"{host}:{parts.port or 80}" for host in ("127.0.0.1", "localhost", "[::1]")}
        self._answer: CallbackAnswer | None = None
        self._came = anyio.Event()

    async def answer(self, agent: LoginAgent, timeout_s: float) -> CallbackAnswer:
        """The first answer, from the browser or pasted. Raises `LoginFailed`."""
        with anyio.move_on_after(timeout_s):
            async with anyio.create_task_group() as group:
                group.start_soon(self._listener.serve, self._serve)
                group.start_soon(self._take_pasted, agent)
                await self._came.wait()
                group.cancel_scope.cancel()
        if self._answer is None:
            raise LoginFailed(
                "callback",
                f"nobody logged in within {timeout_s:g} s",
                hint="log in again; the address that a browser on another machine ends at can be pasted",
            )
        return self._answer

    async def _take_pasted(self, agent: LoginAgent) -> None:
        for _ in range(MAX_PASTES):
            text = await agent.pasted()
            if text is None:
                return
            answer = read_redirect(text.strip(), self.redirect_uri)
            if answer is not None:
                self._take(answer)
                return
            await agent.refused(
                f"that is not the address that the browser ends at: it begins with {self.redirect_uri}"
            )

    def _take(self, answer: CallbackAnswer) -> None:
        if self._answer is None:
            self._answer = answer
            self._came.set()

    async def _serve(self, stream: ByteStream) -> None:
        try:
            async with stream:
                with anyio.move_on_after(HEAD_S):
                    head = await _head(stream)
                    status, words, answer = self._judge(head)
                    await stream.send(_page(status, words))
                    if answer is not None:
                        self._take(answer)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream, OSError):
            return

    def _judge(self, head: bytes) -> tuple[int, str, CallbackAnswer | None]:
        """What to answer a request, and what it brings. Pages of others may send requests here too."""
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ")
        headers: dict[str, str] = {}
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if colon:
                headers.setdefault(name.strip().lower(), value.strip())
        if len(words) != 3 or words[0] != "GET":
            return 405, _STRANGE, None
        if headers.get("host", "").lower() not in self._hosts:
            return 403, _STRANGE, None
        if headers.get("origin", "null") != "null" or headers.get("sec-fetch-mode", "navigate") != "navigate":
            return 403, _STRANGE, None
        path, _, query = words[1].partition("?")
        if path != self._path:
            return 404, _STRANGE, None
        answer = _read_query(query)
        if answer is None or self._answer is not None:
            return 400, _STRANGE, None
        return 200, _DONE, answer


@asynccontextmanager
async def listening(redirect_uri: str, port: int, *, preferred: str = "") -> AsyncIterator[Callback]:
    """A listener on 127.0.0.1: at the port of `redirect_uri`, at `port`, or at one that is free.

    `preferred` is the redirect URI of a client that is registered: its port is taken where nobody has it.
    Raises `LoginFailed`.
    """
    settled = _settled_port(redirect_uri) or port
    listener: MultiListener[SocketStream] | None = None
    if not settled and preferred:
        try:
            listener = await anyio.create_tcp_listener(
                local_host="127.0.0.1", local_port=_settled_port(preferred)
            )
        except (OSError, LoginFailed):
            listener = None
    if listener is None:
        try:
            listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=settled)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise LoginFailed(
                "callback",
                f"the port {settled} of this machine cannot be listened at: {reason}",
                hint="end the program that has it, or settle another port with the authorisation server",
            ) from error
    async with listener:
        bound = listener.extra(SocketAttribute.local_port)
        yield Callback(listener, redirect_uri or f"http://127.0.0.1:{bound}{PATH}")


def read_redirect(text: str, redirect_uri: str) -> CallbackAnswer | None:
    """The answer in an address that somebody pasted; `None` where it is not one of this login."""
    if len(text) > MAX_HEAD_BYTES:
        return None
    base, mark, query = text.partition("?")
    return _read_query(query.partition("#")[0]) if mark and base == redirect_uri else None


def _settled_port(redirect_uri: str) -> int:
    """The port of a redirect URI that a person settled. Raises `LoginFailed` for one beyond this machine."""
    if not redirect_uri:
        return 0
    parts = split(redirect_uri)
    if parts is None or parts.scheme != "http" or not is_loopback(parts.hostname or "") or parts.query:
        raise LoginFailed(
            "callback",
            "redirect_uri has to be on this machine, such as http://127.0.0.1:8123/callback",
        )
    if not parts.port:
        raise LoginFailed("callback", "redirect_uri names no port")
    return parts.port


def _read_query(query: str) -> CallbackAnswer | None:
    """The parameters of a query that may be an answer."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=64, errors="strict")
    except (ValueError, UnicodeError):
        return None
    names = [name for name, _ in pairs]
    params = {name: value for name, value in pairs if names.count(name) == 1}
    return CallbackAnswer(params=params) if {"code", "error"} & set(names) else None


async def _head(stream: ByteStream) -> bytes:
    """The head of a request. Raises what the stream does where it ends before, or is too long."""
    data = b""
    while b"\r\n\r\n" not in data:
        if len(data) > MAX_HEAD_BYTES:
            raise anyio.EndOfStream
        data += await stream.receive(8192)
    return data.partition(b"\r\n\r\n")[0]


def _page(status: int, words: str) -> bytes:
    """A page with words of our own and nothing else; the address with the code goes to nobody as referrer."""
    reason = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed"}[
        status
    ]
    body = f'<!doctype html><meta charset="utf-8"><title>Caliban</title><p>{words}</p>\n'.encode()
    head = (
        f"HTTP/1.1 {status} {reason}\r\ncontent-type: text/html; charset=utf-8\r\n"
        f"content-length: {len(body)}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\n"
        "content-security-policy: default-src 'none'; frame-ancestors 'none'\r\n"
        "x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
    )
    return head.encode("ascii") + body
