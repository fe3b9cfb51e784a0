"""Requests to the address of one server: headers, logins, and redirects that stay within its origin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urljoin, urlsplit

from caliban_common.errors import CalibanError
from caliban_mcp_client.authorization import Authorization
from caliban_mcp_client.errors import ConnectError, McpError
from caliban_mcp_client.http import HttpClientLike, HttpReply
from caliban_mcp_client.target import HttpTarget

_MOST_LOGINS: Final = 3
_MOST_REDIRECTS: Final = 3
_PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_REFUSAL_BYTES: Final = 64 * 1024


class Requests:
    """Sends requests to one server, in the name of whoever is authorised."""

    def __init__(
        self, client: HttpClientLike, target: HttpTarget, authorization: Authorization | None
    ) -> None:
        self._client = client
        self._authorization = authorization
        self._own = {name.lower(): value for name, value in target.headers.items()}
        self.url: str = target.url

    @asynccontextmanager
    async def send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes = b""
    ) -> AsyncIterator[HttpReply]:
        """The head of the answer, whatever its status. Raises what the client does.

        Where a login is wanted, whoever is authorised is asked, and the request is sent again.
        """
        logins = redirects = 0
        while True:
            sent = {**await self._authorized(), **self._own, **headers}
            async with self._client.stream(method, url, headers=sent, body=body) as reply:
                if reply.status in (401, 403) and logins < _MOST_LOGINS:
                    logins += 1
                    again = await self._challenged(reply)
                elif (place := self._redirected(url, reply)) is not None and redirects < _MOST_REDIRECTS:
                    redirects += 1
                    url, again = place, True
                else:
                    again = False
                if not again:
                    yield reply
                    return

    def is_same_origin(self, url: str) -> bool:
        """Whether an address that the server names is one of its own."""
        return _origin(url) is not None and _origin(url) == _origin(self.url)

    async def _authorized(self) -> Mapping[str, str]:
        if self._authorization is None:
            return {}
        try:
            headers = await self._authorization.headers()
        except McpError:
            raise
        except CalibanError as error:  # no outage of the server's: asking again brings nothing else
            raise ConnectError("refused", error.message, hint=error.hint) from error
        return {name.lower(): value for name, value in headers.items()}

    async def _challenged(self, reply: HttpReply) -> bool:
        if self._authorization is None or "authorization" in self._own:
            return False
        return await self._authorization.challenged(reply.status, reply.headers.get("www-authenticate", ""))

    def _redirected(self, url: str, reply: HttpReply) -> str | None:
        """Where a redirect leads that may be followed."""
        location = reply.headers.get("location")
        if reply.status not in (307, 308) or not location:
            return None
        place = urljoin(url, location)
        return place if self.is_same_origin(place) else None


async def refusal_body(reply: HttpReply) -> bytes:
    """The beginning of what a server says with a status that is no answer."""
    return await reply.read(_REFUSAL_BYTES)


def _origin(url: str) -> tuple[str, str, int] | None:
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme.lower(), 0)
    except ValueError:
        return None
    if not parts.hostname or parts.scheme.lower() not in _PORTS or parts.username is not None:
        return None
    return parts.scheme.lower(), parts.hostname.lower(), port
