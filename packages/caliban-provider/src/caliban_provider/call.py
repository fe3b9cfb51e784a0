"""One call over HTTP: sent, judged by the head of its answer, and given out when it is what was asked for."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING

from msgspec import Struct

from caliban_provider.errors import BadResponse, ProviderError, StreamIdle

if TYPE_CHECKING:
    from caliban_provider.http import HttpClient, HttpResponse

MAX_REFUSAL_BYTES = 64 * 1024
"""How much of a failed answer is read."""

MAX_PAGE_BYTES = 4 * 1024 * 1024
"""How much is read of an answer that is no stream, such as a page of models."""


class Prepared(Struct, frozen=True, kw_only=True):
    """A request that is ready to be sent."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes = b""


def _nothing(body: bytes) -> ProviderError | None:
    return None


class Caller:
    """Sends prepared requests; an answer that is not what was asked for is raised as a `ProviderError`.

    `error_from` makes the error of a failed answer from status, headers and body; `reported` that of a
    JSON body that came with success where a stream was asked for, if it tells one. `foreign` are words in
    content types that no stream of this vendor has; `stream` names what it has, `hint` says what to do about
    another.
    """

    def __init__(
        self,
        http: HttpClient,
        *,
        error_from: Callable[[int, Mapping[str, str], bytes], ProviderError],
        reported: Callable[[bytes], ProviderError | None] = _nothing,
        foreign: tuple[str, ...] = ("json", "html"),
        stream: str = "a stream of events",
        hint: str = "Check the base URL: something else answers there.",
    ) -> None:
        self._http = http
        self._error_from = error_from
        self._reported = reported
        self._foreign = foreign
        self._stream = stream
        self._hint = hint

    @asynccontextmanager
    async def stream(self, prepared: Prepared) -> AsyncIterator[HttpResponse]:
        """An answer that is a reply in pieces; leaving ends it."""
        async with self._send(prepared) as answer:
            await self._check_status(answer)
            await self._check_kind(answer)
            yield answer

    async def page(self, prepared: Prepared) -> bytes:
        """The body of an answer that comes whole, at most `MAX_PAGE_BYTES` of it."""
        async with self._send(prepared) as answer:
            await self._check_status(answer)
            kind = answer.headers.get("content-type", "").lower()
            if "html" in kind:
                raise self._unasked(answer, f"is of type {kind[:80]!r} and not JSON")
            body = await answer.read(MAX_PAGE_BYTES + 1)
            if len(body) > MAX_PAGE_BYTES:
                raise self._unasked(answer, f"is larger than {MAX_PAGE_BYTES:,} bytes")
            return body

    def _send(self, prepared: Prepared) -> AbstractAsyncContextManager[HttpResponse]:
        return self._http.stream(prepared.method, prepared.url, headers=prepared.headers, body=prepared.body)

    async def _check_status(self, answer: HttpResponse) -> None:
        if 200 <= answer.status < 300:
            return
        try:
            body = await answer.read(MAX_REFUSAL_BYTES)
        except ProviderError:
            body = b""  # the status says enough
        raise self._error_from(answer.status, answer.headers, body)

    async def _check_kind(self, answer: HttpResponse) -> None:
        kind = answer.headers.get("content-type", "").lower()
        if not any(word in kind for word in self._foreign):
            return
        if "json" in kind and (error := self._reported(await answer.read(MAX_REFUSAL_BYTES))) is not None:
            raise error
        raise self._unasked(answer, f"is of type {kind[:80]!r} and not {self._stream}")

    def _unasked(self, answer: HttpResponse, what: str) -> BadResponse:
        return BadResponse(f"the answer {what}", hint=self._hint, status=answer.status)


@asynccontextmanager
async def in_time(
    opening: AbstractAsyncContextManager[HttpResponse],
    within_s: float,
    *,
    hint: str = "The provider is silent: try again, or allow a longer wait.",
) -> AsyncIterator[HttpResponse]:
    """The answer that `opening` gives; raises `StreamIdle` when opening takes longer than `within_s`.

    A refusal must come in time like a reply. The limit is over once the answer is there.
    """
    import anyio

    async with AsyncExitStack() as stack:
        with anyio.move_on_after(within_s) as scope:
            answer = await stack.enter_async_context(opening)
        if scope.cancelled_caught:
            raise StreamIdle(f"the answer did not begin within {within_s:g} s", idle_s=within_s, hint=hint)
        yield answer
