"""What is left to the HTTP library: proxies, addresses that are not plain, answers that are compressed.

The only module that imports it, and only once there is work for it.
"""

from __future__ import annotations

import ssl
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING

from caliban_provider import faults, http1
from caliban_provider.connection import PORTS, ConnectionResponse, HttpTimeouts, Origin, Pool
from caliban_provider.errors import BadResponse, InvalidRequest, NetworkError, ProviderError
from caliban_provider.plain_request import LOOPBACK

if TYPE_CHECKING:
    import httpx


class HttpxClient:
    """The library's client; where no proxy is between, `pool` carries its bytes.

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
        self._client: httpx.AsyncClient | None = None
        self._proxied = False

    async def request(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes, *, host: str
    ) -> ConnectionResponse | HttpxResponse:
        """Send a request and give its answer's head. Raises `ProviderError`, which names `host`."""
        if self._client is None:
            self._client = self._build()
        import httpx

        try:
            request = self._client.build_request(method, url, headers=dict(headers), content=body)
            response = await self._client.send(request, stream=True)
        except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError, OSError) as error:
            raise _failed(error, host, self._limits, proxied=self._proxied) from None
        own = response.extensions.get("answer")
        if isinstance(own, ConnectionResponse):
            return unpacked(own, host, self._limits)
        return HttpxResponse(response, host, self._limits)

    async def aclose(self) -> None:
        """Close every connection; may be called twice."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _build(self) -> httpx.AsyncClient:
        _without_command_line()
        from http.cookiejar import CookieJar, DefaultCookiePolicy
        from urllib.parse import urlsplit
        from urllib.request import getproxies

        import httpx

        limits = self._limits
        proxies = getproxies()
        self._proxied = proxied = bool(proxies)
        own = _transport(self._pool)
        here = (f"[{host}]" if ":" in host else host for host in LOOPBACK)
        # A context costs 20 ms where certificates come in one file: only a proxied client needs it now.
        context = self._context() if proxied else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            for scheme, proxy in proxies.items():
                if scheme != "no":
                    _ = urlsplit(proxy).port  # the library takes any number, and the system does not
            return httpx.AsyncClient(
                headers=self._headers,
                timeout=httpx.Timeout(
                    connect=limits.connect_s, read=limits.read_s, write=limits.write_s, pool=limits.connect_s
                ),
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                follow_redirects=False,
                transport=None if proxied else own,
                # A proxy elsewhere cannot reach a server on this machine.
                mounts={f"all://{host}": own for host in here} if proxied else None,
                verify=context,
            )
        except (httpx.InvalidURL, ValueError, ImportError) as error:
            raise _useless(error) from None


class HttpxResponse:
    """An answer whose body the library reads: over its own connections, or because it is compressed."""

    def __init__(self, response: httpx.Response, host: str, limits: HttpTimeouts) -> None:
        self.status = response.status_code
        self.headers = {name.lower(): value for name, value in response.headers.items()}
        self._response = response
        self._pieces = response.aiter_bytes()
        self._host = host
        self._limits = limits

    def __aiter__(self) -> HttpxResponse:
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
            raise faults.read_timeout(f"{self._host} did not go on", self._limits.read_s) from None
        except (httpx.HTTPError, ssl.SSLError, OSError) as error:
            raise faults.truncated(error, self._host) from error

    async def aclose(self) -> None:
        """Give the connection back, or close it."""
        await self._response.aclose()


def unpacked(
    answer: ConnectionResponse, host: str, limits: HttpTimeouts
) -> ConnectionResponse | HttpxResponse:
    """`answer`, its body decompressed where it is compressed although nobody asked for that."""
    if answer.headers.get("content-encoding", "identity") == "identity":
        return answer
    return HttpxResponse(_response(answer), host, limits)


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
