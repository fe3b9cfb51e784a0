"""What the tools of the web need: somebody who makes HTTP requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from msgspec import Struct


class WebAnswer(Protocol):
    """The head of an answer; `headers` have lower-case names."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    async def read(self, max_bytes: int) -> bytes:
        """The first `max_bytes` of the body, decompressed."""
        ...


class WebClient(Protocol):
    """Makes requests; it follows no redirect and keeps no cookie. What fails is a `CalibanError`."""

    def stream(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b""
    ) -> AbstractAsyncContextManager[WebAnswer]:
        """The answer to a request, whatever its status."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...


class SearchService(Struct, frozen=True, kw_only=True):
    """Who is asked for searches: `brave`, `tavily` or `exa`; `advice` says how to come by a key."""

    name: str
    base_url: str
    key: str
    advice: str
    client: Callable[[], WebClient]
