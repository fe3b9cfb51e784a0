"""What the package needs of an HTTP client; the one of caliban-provider is one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol


class HttpReply(Protocol):
    """The head of an answer, header names in lower case; the body is read once."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Mapping[str, str]: ...

    def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        ...

    async def read(self, max_bytes: int) -> bytes:
        """The first bytes of the body."""
        ...


class HttpClientLike(Protocol):
    """Sends requests: no redirect is followed, no cookie kept.

    It must let a body be silent for as long as a call may be (`read_s=math.inf`): the limits are ours.
    Errors are `CalibanError`s.
    """

    def stream(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes = b""
    ) -> AbstractAsyncContextManager[HttpReply]:
        """The answer's head, whatever its status; leaving ends the request."""
        ...

    async def aclose(self) -> None:
        """Close every connection."""
        ...
