"""HTTP for the adapters; the only module that knows the HTTP library, and it loads it when it is needed.

The library's own connections cost 14 µs for each chunk of a body and lose the connection of an answer whose
last bytes nobody waits for; ours (`connection`) stand in for them wherever no proxy is between.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio

from caliban_provider import faults, http1, tls
from caliban_provider.connection import PORTS, Answer, Limits, Origin, Pool
from caliban_provider.errors import BadResponse, InvalidRequest, NetworkError, ProviderError

if TYPE_CHECKING:
    import httpx

_CLOSE_S = 2.0
_DRAIN_S = 0.05
_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_HEADERS: Mapping[str, str] = {"accept": "*/*", "accept-encoding": "identity", "user-agent": "caliban"}


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpResponse:
    """The head of an answer; its body is read once, in pieces or whole. `headers` have lower-case names."""

    status: int
    headers: Mapping[str, str]
    _body: AsyncIterator[bytes]

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


class HttpClient:
    """Connections that stay open between requests; the first request opens the first one.

    `connect_s` bounds connecting, `read_s` the wait for the head and between two pieces of a body, `write_s`
    each write. Redirects are not followed and cookies not kept: a key never travels to another address.
    Proxies are taken from the environment, but never for a server on this machine. One event loop uses
    a client.
    """

    def __init__(
        self,
        *,
        connect_s: float = 10.0,
        read_s: float = 300.0,
        write_s: float = 60.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._limits = Limits(connect_s=connect_s, read_s=read_s, write_s=write_s)
        self._tls = tls
        self._client: httpx.AsyncClient | None = None

    def prepare(self, url: str) -> None:
        """Load and build what a request to `url` needs, without connecting; may run in a thread."""
        self._opened()
        if url.startswith("https:"):
            self._context()

    @asynccontextmanager
    async def stream(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[HttpResponse]:
        """Send a request and give the answer's head, whatever its status; leaving ends the request.

        Raises `NetworkError`, `StreamIdle`, `BadResponse` or `InvalidRequest`.
        """
        answer = await self._send(method, url, headers, body)
        pieces = self._body(answer, _host(url))
        try:
            yield HttpResponse(
                status=answer.status_code,
                headers={name.lower(): value for name, value in answer.headers.items()},
                _body=pieces,
            )
            await _drain(pieces)
        finally:
            with anyio.move_on_after(_CLOSE_S, shield=True):
                await answer.aclose()

    async def aclose(self) -> None:
        """Close every connection; may be called twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> httpx.Response:
        _check(url, headers)
        client = self._opened()
        import httpx

        try:
            request = client.build_request(method, url, headers=dict(headers), content=body)
            return await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            raise _failed(error, _host(url), self._limits) from None

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            self._client = self._build()
        return self._client

    def _build(self) -> httpx.AsyncClient:
        _without_command_line()
        from http.cookiejar import CookieJar, DefaultCookiePolicy
        from urllib.request import getproxies

        import httpx

        limits = self._limits
        proxied = bool(getproxies())
        direct = _transport(Pool(limits, self._context))
        return httpx.AsyncClient(
            headers=_HEADERS,
            timeout=httpx.Timeout(
                connect=limits.connect_s, read=limits.read_s, write=limits.write_s, pool=limits.connect_s
            ),
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            follow_redirects=False,
            transport=None if proxied else direct,
            # A proxy elsewhere cannot reach a server on this machine.
            mounts={f"all://{host}": direct for host in _LOOPBACK} if proxied else None,
            # A context costs 20 ms where certificates come in one file: only a proxied client needs it now.
            verify=self._context() if proxied else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        )

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = tls.default_context()
        return self._tls

    def _body(self, answer: httpx.Response, host: str) -> AsyncIterator[bytes]:
        """Our own iterator as it is; the library's, with its failures mapped, where it has work to do."""
        own = answer.extensions.get("answer")
        if isinstance(own, Answer) and answer.headers.get("content-encoding", "identity") == "identity":
            return own
        return _Mapped(answer, host, self._limits)


class _Mapped:
    """A body as the library reads it."""

    def __init__(self, answer: httpx.Response, host: str, limits: Limits) -> None:
        self._pieces = answer.aiter_bytes()
        self._host = host
        self._limits = limits

    def __aiter__(self) -> _Mapped:
        return self

    async def __anext__(self) -> bytes:
        import httpx

        try:
            return await self._pieces.__anext__()
        except httpx.DecodingError as error:
            raise BadResponse(
                f"the answer of {self._host} cannot be decompressed: {faults.line(error)}"
            ) from error
        except httpx.ReadTimeout:
            raise faults.silent(f"{self._host} did not go on", self._limits.read_s) from None
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            raise faults.cut(error, self._host) from error


async def _drain(pieces: AsyncIterator[bytes]) -> None:
    """Read the last bytes of a body, which a reader of events does not wait for.

    Only a connection whose answer was read to its end can be used again. An answer that goes on is left.
    """
    with anyio.move_on_after(_DRAIN_S):
        try:
            async for _ in pieces:
                pass
        except ProviderError:
            pass


def _without_command_line() -> None:
    """Import httpx without the command line that it loads wherever click and rich happen to be installed.

    `None` in the table of modules makes that one import fail, which httpx is prepared for.
    """
    if "httpx" in sys.modules:
        return
    sys.modules["httpx._main"] = None  # type: ignore[assignment]
    try:
        import httpx  # noqa: F401
    finally:
        sys.modules.pop("httpx._main", None)


def _transport(pool: Pool) -> httpx.AsyncBaseTransport:
    """`pool` as the library wants it; the classes stand here because the library is loaded late."""
    import httpx

    class Body(httpx.AsyncByteStream):
        def __init__(self, answer: Answer) -> None:
            self._answer = answer

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._answer

        async def aclose(self) -> None:
            await self._answer.aclose()

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            url = request.url
            port = url.port or PORTS[url.scheme]
            origin = Origin(scheme=url.scheme, host=url.raw_host.decode("ascii"), port=port)
            content = http1.request(request.method, url.raw_path, request.headers.raw, request.content)
            answer = await pool.request(origin, request.method, content)
            return httpx.Response(
                answer.status,
                headers=dict(answer.headers),
                stream=Body(answer),
                extensions={"answer": answer},
            )

        async def aclose(self) -> None:
            await pool.aclose()

    return Transport()


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
        if not (name.isascii() and name.isprintable() and value.isascii() and value.isprintable()):
            raise InvalidRequest(
                f"the header {name!r} holds characters that HTTP does not allow",
                hint="Look for a line break or a typographic character in the key or the configured headers.",
            )


def _failed(error: Exception, host: str, limits: Limits) -> ProviderError:
    """What a failure of the library before the head of the answer means."""
    import httpx

    match error:
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            return faults.late(host, limits.connect_s)
        case httpx.ReadTimeout():
            return faults.silent(f"{host} did not answer", limits.read_s)
        case httpx.ProxyError():
            return NetworkError(
                f"the proxy refused the connection to {host}: {faults.line(error)}",
                hint="Check HTTPS_PROXY, HTTP_PROXY and NO_PROXY.",
            )
        case httpx.ConnectError():
            return faults.unconnected(error, host)
        case httpx.UnsupportedProtocol() | httpx.InvalidURL() | httpx.LocalProtocolError():
            return InvalidRequest(
                f"the request to {host} cannot be sent", hint="Check the base URL and the configured headers."
            )
        case httpx.RemoteProtocolError() if "disconnected" not in str(error):
            return faults.foreign(error, host)
        case _:
            return faults.broken(error, host)
