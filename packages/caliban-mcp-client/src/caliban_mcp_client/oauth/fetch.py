"""Requests of a login: few, bounded in bytes and time, and followed nowhere but within their origin."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import urljoin, urlsplit

import anyio
import msgspec
from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_mcp_client.errors import LoginFailed
from caliban_mcp_client.http import HttpClientLike
from caliban_mcp_client.oauth.endpoint import Reach, check_endpoint, origin_of, shown_url

MAX_BYTES: Final = 256 * 1024
TIMEOUT_S: Final = 10.0
MAX_REDIRECTS: Final = 3
_REDIRECTS: Final = (301, 302, 307, 308)


class Answer(Struct, frozen=True, kw_only=True):
    """A status, and the object in the body; `None` where it is no JSON object."""

    status: int
    data: dict[str, Any] | None
    headers: Mapping[str, str]


class MetadataFetcher:
    """Asks the servers of one login. `open_client` gives a client that dials no address beyond the reach."""

    def __init__(
        self, open_client: Callable[[Reach], HttpClientLike], reach: Reach, *, timeout_s: float = TIMEOUT_S
    ) -> None:
        self.reach: Reach = reach
        self._open_client = open_client
        self._timeout_s = timeout_s
        self._client: HttpClientLike | None = None

    async def get(self, url: str, what: str) -> Answer:
        """The JSON at `url`; a redirect within its origin is followed. Raises `LoginFailed`."""
        for _ in range(MAX_REDIRECTS + 1):
            answer = await self._send("GET", url, what, {"accept": "application/json"}, b"")
            location = answer.headers.get("location", "")
            if answer.status not in _REDIRECTS or not location:
                return answer
            place = urljoin(url, location)
            if origin_of(place) != origin_of(url):
                raise LoginFailed(
                    "address",
                    f"{what} leads away from its own server: {shown_url(url)} to {shown_url(place)}",
                )
            url = place
        raise LoginFailed("address", f"{what} leads from one address to the next without end")

    async def post(self, url: str, what: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The answer to a request that may hold secrets: no redirect is followed. Raises `LoginFailed`."""
        answer = await self._send("POST", url, what, {"accept": "application/json", **headers}, body)
        if 300 <= answer.status < 400:
            raise LoginFailed(
                "address", f"{what} sends us elsewhere, which is not followed: {shown_url(url)}"
            )
        return answer

    async def head(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """The head of the answer to a POST to the protected server itself. Raises `LoginFailed`."""
        return await self._send("POST", url, "the server", headers, body, reads=False)

    async def aclose(self) -> None:
        """Close every connection."""
        if self._client is not None:
            client, self._client = self._client, None
            await client.aclose()

    async def _send(
        self,
        method: str,
        url: str,
        what: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        reads: bool = True,
    ) -> Answer:
        check_endpoint(url, what, self.reach)
        if self._client is None:
            self._client = self._open_client(self.reach)
        try:
            with anyio.fail_after(self._timeout_s):
                async with self._client.stream(method, url, headers=headers, body=body) as reply:
                    data = await reply.read(MAX_BYTES + 1) if reads else b""
                    status, heads = reply.status, dict(reply.headers)
        except TimeoutError:
            raise LoginFailed(
                "unreachable", f"{what} did not answer within {self._timeout_s:g} s: {_host(url)}"
            ) from None
        except LoginFailed:
            raise
        except CalibanError as error:
            raise LoginFailed("unreachable", f"{what} cannot be asked: {error.message}") from error
        if len(data) > MAX_BYTES:
            raise LoginFailed("metadata", f"{what} answers with more than {MAX_BYTES:,} bytes: {_host(url)}")
        return Answer(status=status, data=json_object(data), headers=heads)


@asynccontextmanager
async def fetching(
    open_client: Callable[[Reach], HttpClientLike], reach: Reach, *, timeout_s: float = TIMEOUT_S
) -> AsyncIterator[MetadataFetcher]:
    """A fetcher for the length of a block."""
    fetcher = MetadataFetcher(open_client, reach, timeout_s=timeout_s)
    try:
        yield fetcher
    finally:
        with anyio.CancelScope(shield=True), anyio.move_on_after(2.0):
            await fetcher.aclose()


def text_of(data: Mapping[str, Any], name: str, *, max_chars: int = 4096) -> str:
    """The text of a member that is plain and not too long, else nothing."""
    value = data.get(name)
    return value if isinstance(value, str) and len(value) <= max_chars and value.isprintable() else ""


def texts_of(data: Mapping[str, Any], name: str) -> tuple[str, ...] | None:
    """The texts of a list; `None` where there is no list."""
    value = data.get(name)
    if not isinstance(value, list):
        return None
    return tuple(dict.fromkeys(one for one in value[:1000] if isinstance(one, str) and 0 < len(one) <= 4096))


def json_object(data: bytes) -> dict[str, Any] | None:
    """The JSON object in `data`. Members that come twice make it none: readers differ in what they take."""
    try:
        value = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return None
    if not isinstance(value, dict) or _repeats(data):
        return None
    return value


def _repeats(data: bytes) -> bool:
    """Whether a member comes twice in one object."""
    import json

    repeated = False

    def pairs(members: list[tuple[str, Any]]) -> None:
        nonlocal repeated
        repeated = repeated or len({name for name, _ in members}) != len(members)

    try:
        json.loads(data.removeprefix(b"\xef\xbb\xbf"), object_pairs_hook=pairs)
    except (ValueError, RecursionError):
        return True
    return repeated


def _host(url: str) -> str:
    return urlsplit(url).netloc
