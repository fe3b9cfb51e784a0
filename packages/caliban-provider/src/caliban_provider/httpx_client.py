"""What is left to the HTTP library: proxies, and addresses that are not plain.

The only module that imports it, and only once there is work for it.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from caliban_provider import faults, http1
from caliban_provider.connection import PORTS, ConnectionResponse, HttpTimeouts, Origin, Pool
from caliban_provider.errors import InvalidRequest, NetworkError, ProviderError
from caliban_provider.plain_request import LOOPBACK
from caliban_provider.proxies import proxy_for

if TYPE_CHECKING:
    import httpx


class HttpxClient:
    """The library's clients, one for each proxy; where none is between, `pool` carries the bytes.

    `headers` go with every request that does not have its own. `context` is asked for what TLS needs.
    """

    def __init__(
        self,
        limits: HttpTimeouts,
        pool: Pool,
        headers: Mapping[str, str],
        context: Callable[[], ssl.SSLContext],
    ) -> None:
        self._limits = limits
        self._pool = pool
        self._headers = headers
        self._context = context
        self._clients: dict[str | None, httpx.AsyncClient] = {}

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, host: str
    ) -> ConnectionResponse | HttpxResponse:
        """Send a request and give its answer's head. Raises `ProviderError`, which names `host`."""
        proxy = _proxy(url)
        client = self._clients.get(proxy)
        if client is None:
            client = self._clients[proxy] = self._build(proxy)
        import httpx

        try:
            request = client.build_request(method, url, headers=dict(headers), content=body)
            response = await client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            raise _failed(error, host, self._limits, proxied=proxy is not None) from None
        own = response.extensions.get("answer")
        if isinstance(own, ConnectionResponse):
            return own
        return HttpxResponse(response, host, self._limits)

    async def aclose(self) -> None:
        """Close every connection; may be called twice."""
        clients, self._clients = tuple(self._clients.values()), {}
        for client in clients:
            await client.aclose()

    def _build(self, proxy: str | None) -> httpx.AsyncClient:
        _without_command_line()
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        import httpx

        limits = self._limits
        # A context costs 20 ms where certificates come in one file: only a proxied client needs it now.
        context = self._context() if proxy else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            if proxy:
                _ = urlsplit(proxy).port  # the library takes any number, and the system does not
            return httpx.AsyncClient(
                headers=self._headers,
                timeout=httpx.Timeout(
                    connect=limits.connect_s, read=limits.read_s, write=limits.write_s, pool=limits.connect_s
                ),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                follow_redirects=False,
                transport=None if proxy else _transport(self._pool),
                proxy=proxy,
                verify=context,
                trust_env=False,
            )
        except (httpx.InvalidURL, ValueError, ImportError) as error:
            raise _useless(error) from None


class HttpxResponse:
    """An answer whose body the library reads, over its own connections."""

    def __init__(self, response: httpx.Response, host: str, limits: HttpTimeouts) -> None:
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = {name.lower(): value for name, value in response.headers.items()}
        self._response = response
        self._pieces = response.aiter_raw()
        self._host = host
        self._limits = limits

    def __aiter__(self) -> HttpxResponse:
        return self

    async def __anext__(self) -> bytes:
        import httpx

        try:
            return await self._pieces.__anext__()
        except httpx.ReadTimeout:
            raise faults.read_timeout(f"{self._host} did not go on", self._limits.read_s) from None
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            raise faults.truncated(error, self._host) from error

    async def aclose(self) -> None:
        """Give the connection back, or close it."""
        await self._response.aclose()


def proxy_before(scheme: str, host: str, port: int) -> str | None:
    """The proxy before a server, as the environment or the system names it; none before this machine."""
    from urllib.request import getproxies

    return None if host in LOOPBACK else proxy_for(getproxies(), scheme, host, port)


def _proxy(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme.lower(), 0)
    except ValueError:
        return None
    return proxy_before(parts.scheme.lower(), parts.hostname or "", port)


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
    """`pool` as the library wants it; the class stands here because the library is loaded late."""
    import httpx

    class Transport(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            url = request.url
            port = url.port or PORTS[url.scheme]
            origin = Origin(scheme=url.scheme, host=url.raw_host.decode("ascii"), port=port)
            content = http1.request(request.method, url.raw_path, request.headers.raw, request.content)
            return _response(await pool.request(origin, request.method, content))

    return Transport()


def _response(answer: ConnectionResponse) -> httpx.Response:
    """`answer` as the library has it."""
    _without_command_line()
    import httpx

    class Body(httpx.AsyncByteStream):
        def __aiter__(self) -> AsyncIterator[bytes]:
            return answer

        async def aclose(self) -> None:
            await answer.aclose()

    return httpx.Response(
        answer.status, headers=dict(answer.headers), stream=Body(), extensions={"answer": answer}
    )


def _useless(error: Exception) -> InvalidRequest:
    """A proxy that the library does not take; it names one without its password."""
    if isinstance(error, ImportError):
        return InvalidRequest(
            "the environment names a SOCKS proxy, which needs the package socksio",
            hint="install it (pip install socksio), or name an HTTP proxy in HTTPS_PROXY or ALL_PROXY",
        )
    return InvalidRequest(
        f"the environment names a proxy that cannot be used: {faults.line(error)}",
        hint="check HTTPS_PROXY, HTTP_PROXY and ALL_PROXY",
    )


def _failed(error: Exception, host: str, limits: HttpTimeouts, *, proxied: bool) -> ProviderError:
    """What a failure of the library before the head of the answer means."""
    import httpx

    match error:
        case httpx.ConnectTimeout() | httpx.PoolTimeout():
            return faults.connect_timeout(host, limits.connect_s)
        case httpx.ReadTimeout():
            return faults.read_timeout(f"{host} did not answer", limits.read_s)
        case httpx.ProxyError():
            return NetworkError(
                f"the proxy refused the connection to {host}: {faults.line(error)}",
                hint="check HTTPS_PROXY, HTTP_PROXY and NO_PROXY",
            )
        case httpx.ConnectError():
            return faults.unconnected(error, f"{host} (or the proxy before it)" if proxied else host)
        case httpx.UnsupportedProtocol() | httpx.InvalidURL() | httpx.LocalProtocolError():
            return InvalidRequest(
                f"the request to {host} cannot be sent", hint="check the base URL and the configured headers"
            )
        case httpx.RemoteProtocolError() if "disconnected" not in str(error):
            return faults.not_http(error, host)
        case _:
            return faults.broken(error, host)
