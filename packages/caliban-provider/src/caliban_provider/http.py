"""HTTP for the adapters; the only module that knows the HTTP library, and it loads it when it is needed."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from caliban_provider import tls
from caliban_provider.errors import (
    BadResponse,
    InvalidRequest,
    NetworkError,
    ProviderError,
    StreamIdle,
    StreamInterrupted,
)

if TYPE_CHECKING:
    import httpx

_KEEP_ALIVE_S = 90.0
_CLOSE_S = 2.0
_DRAIN_S = 0.05
_HEADERS = {"accept-encoding": "identity", "user-agent": "caliban"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """The head of an answer; its body is read once, in pieces or whole. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    _body: _Body

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes, decompressed. Raises `StreamInterrupted`, `StreamIdle` or `BadResponse`."""
        return self._body

    async def read(self, max_bytes: int) -> bytes:
        """The body's first `max_bytes` bytes; raises as `chunks` does when it is cut before that."""
        pieces: list[bytes] = []
        size_bytes = 0
        async for chunk in self._body:
            pieces.append(chunk)
            size_bytes += len(chunk)
            if size_bytes >= max_bytes:
                break
        return b"".join(pieces)[:max_bytes]


class _Body:
    """The pieces of a body, with the library's failures mapped; no generator that could be left half-way."""

    def __init__(self, answer: httpx.Response, host: str, read_s: float) -> None:
        self._pieces = answer.aiter_bytes()
        self._host = host
        self._read_s = read_s

    def __aiter__(self) -> _Body:
        return self

    async def __anext__(self) -> bytes:
        import httpx

        try:
            return await self._pieces.__anext__()
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            raise _cut(error, self._host, self._read_s) from error

    async def drain(self) -> None:
        """Read the last bytes of a body, which a reader of events does not wait for.

        Only a connection whose answer was read to its end can be used again. An answer that goes on is left.
        """
        with anyio.move_on_after(_DRAIN_S):
            try:
                async for _ in self:
                    pass
            except ProviderError:
                pass


class HttpClient:
    """Connections that stay open between requests; the first request opens the first one.

    `connect_s` bounds connecting, `read_s` the wait for the head and between two pieces of a body, `write_s`
    each write. Redirects are not followed and cookies not kept: a key never travels to another address.
    Proxies are taken from the environment. One event loop uses a client.
    """

    def __init__(
        self,
        *,
        connect_s: float = 10.0,
        read_s: float = 300.0,
        write_s: float = 60.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._connect_s = connect_s
        self._read_s = read_s
        self._write_s = write_s
        self._tls = tls
        self._clients: dict[bool, httpx.AsyncClient] = {}

    def prepare(self, url: str) -> None:
        """Load and build what a request to `url` needs, without connecting; may run in a thread."""
        self._client(url)

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[HttpResponse]:
        """Send a request and give the answer's head, whatever its status; leaving ends the request.

        Raises `NetworkError`, `StreamIdle`, `BadResponse` or `InvalidRequest`.
        """
        answer = await self._send(method, url, headers, body)
        body_left = _Body(answer, _host(url), self._read_s)
        try:
            yield HttpResponse(
                status=answer.status_code,
                headers={name.lower(): value for name, value in answer.headers.items()},
                _body=body_left,
            )
            await body_left.drain()
        finally:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await answer.aclose()

    async def aclose(self) -> None:
        """Close every connection; may be called twice."""
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()

    async def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> httpx.Response:
        _check(url, headers)
        client = self._client(url)
        import httpx

        try:
            request = client.build_request(method, url, headers=dict(headers), content=body)
            return await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            raise _failed(error, _host(url), self._connect_s, self._read_s) from None

    def _client(self, url: str) -> httpx.AsyncClient:
        from urllib.request import getproxies

        secure = url.startswith("https:") or bool(getproxies())
        if secure not in self._clients:
            self._clients[secure] = self._build(secure)
        return self._clients[secure]

    def _build(self, secure: bool) -> httpx.AsyncClient:
        """A client; one that never speaks TLS gets a context that trusts nobody, which costs no time."""
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        import httpx

        if secure and self._tls is None:
            self._tls = tls.default_context()
        return httpx.AsyncClient(
            headers=_HEADERS,
            verify=self._tls if secure and self._tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            timeout=httpx.Timeout(
                connect=self._connect_s, read=self._read_s, write=self._write_s, pool=self._connect_s
            ),
            limits=httpx.Limits(
                max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEEP_ALIVE_S
            ),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
        )


def _host(url: str) -> str:
    """Host and port of `url` for messages: never the rest, which may hold a key."""
    try:
        return urlsplit(url).netloc.rpartition("@")[2] or "the server"
    except ValueError:
        return "the server"


def _check(url: str, headers: Mapping[str, str]) -> None:
    """Refuse early, in words that hold no header's value, what the library would refuse with them."""
    if not url.startswith(("http://", "https://")) or _host(url) == "the server":
        raise InvalidRequest(
            "the provider's address is not an http or https URL", hint="Check the base URL in the settings."
        )
    for name, value in headers.items():
        if not (name.isascii() and value.isascii() and value.isprintable()):
            raise InvalidRequest(
                f"the header {name!r} holds characters that HTTP does not allow",
                hint="Look for a line break or a typographic character in the key or the configured headers.",
            )


def _failed(error: Exception, host: str, connect_s: float, read_s: float) -> ProviderError:
    """What a failure before the head of the answer means."""
    import httpx

    match error:
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            return NetworkError(
                f"no connection to {host} within {connect_s:g} s",
                hint="Check the network, the proxy and the base URL.",
            )
        case httpx.ReadTimeout():
            return _silent(f"{host} did not answer", read_s)
        case httpx.ProxyError():
            return NetworkError(
                f"the proxy refused the connection to {host}: {_line(error)}",
                hint="Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.",
            )
        case httpx.ConnectError():
            return _unconnected(error, host)
        case httpx.UnsupportedProtocol() | httpx.InvalidURL() | httpx.LocalProtocolError():
            return InvalidRequest(
                f"the request to {host} cannot be sent", hint="Check the base URL and the configured headers."
            )
        case httpx.RemoteProtocolError() if "disconnected" not in str(error):
            return BadResponse(
                f"{host} does not answer in HTTP: {_line(error)}", hint="Check the base URL and its port."
            )
        case _:
            return NetworkError(
                f"the connection to {host} broke before an answer: {_line(error)}", hint="Try again."
            )


def _unconnected(error: Exception, host: str) -> NetworkError:
    """A connection that was not made, by its root cause."""
    import socket

    causes = _causes(error)
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes) or "CERTIFICATE" in str(
        error
    ):
        failed = NetworkError(
            f"the certificate of {host} is not trusted: {_line(error)}",
            hint="Behind an intercepting proxy, name its certificate in SSL_CERT_FILE.",
        )
        failed.retryable = False
        return failed
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return NetworkError(
            f"the name {host} does not resolve: {_line(error)}",
            hint="Check the network and the host in the base URL.",
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return NetworkError(
            f"{host} refused the connection", hint="Check that the server runs and that the port is right."
        )
    return NetworkError(
        f"no connection to {host}: {_line(error)}", hint="Check the network, the proxy and the base URL."
    )


def _causes(error: BaseException | None) -> list[BaseException]:
    """`error`, what it was raised from, and the members of groups among these."""
    found: list[BaseException] = []
    queue = [error]
    while queue:
        if (cause := queue.pop()) is None or cause in found:
            continue
        found.append(cause)
        queue += [cause.__cause__, cause.__context__]
        queue += getattr(cause, "exceptions", ())
    return found


def _cut(error: Exception, host: str, read_s: float) -> ProviderError:
    """What a failure in the body means."""
    import httpx

    match error:
        case httpx.DecodingError():
            return BadResponse(f"the answer of {host} cannot be decompressed: {_line(error)}")
        case httpx.ReadTimeout():
            return _silent(f"{host} did not go on", read_s)
        case _:
            return StreamInterrupted(
                f"the connection to {host} broke in the middle of the answer: {_line(error)}",
                hint="Try again.",
            )


def _silent(what: str, read_s: float) -> StreamIdle:
    return StreamIdle(
        f"{what} within {read_s:g} s",
        idle_s=read_s,
        hint="The provider is silent: try again, or allow a longer wait.",
    )


def _line(error: Exception) -> str:
    """The error's text on one line; its class where it has none."""
    return " ".join(str(error).split())[:200] or type(error).__name__
