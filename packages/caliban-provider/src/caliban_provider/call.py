"""One call over HTTP: sent, judged by the head of its answer, and given out when it is what was asked for.

Credentials that are refused are renewed here, and the call made once more: an adapter only says how a request
is signed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from caliban_provider.errors import BadResponse, ProviderError, StreamIdle

if TYPE_CHECKING:
    from caliban_provider.credential import CredentialCache
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


class StreamKind(Struct, frozen=True, kw_only=True):
    """What an answer is that is a stream: one of no type that has a word of `foreign` in its name.

    `called` names it in errors; `hint` says what to do about another answer, `slow_hint` about none.
    """

    foreign: tuple[str, ...] = ("json", "html")
    called: str = "a stream of events"
    hint: str = "check the base URL: something else answers there"
    slow_hint: str = "the provider is silent: try again, or allow a longer wait"


def _nothing(body: bytes) -> ProviderError | None:
    return None


class Caller:
    """Sends prepared requests; an answer that is not what was asked for is raised as a `ProviderError`.

    `error_from` makes the error of a failed answer from status, headers and body; `reported` that of a JSON
    body that came with success where a stream was asked for, if it tells one. `credentials` are what requests
    are prepared with: they are waited for, kept fresh meanwhile, and renewed when they are refused, after
    which the request is prepared and sent once more. Without them a refusal is final.
    """

    def __init__(
        self,
        http: HttpClient,
        *,
        error_from: Callable[[int, Mapping[str, str], bytes], ProviderError],
        reported: Callable[[bytes], ProviderError | None] = _nothing,
        credentials: CredentialCache[Any] | None = None,
        kind: StreamKind | None = None,
    ) -> None:
        self._http = http
        self._error_from = error_from
        self._reported = reported
        self._credentials = credentials
        self._kind = kind or StreamKind()

    @asynccontextmanager
    async def stream(self, prepare: Callable[[], Prepared], within_s: float) -> AsyncIterator[HttpResponse]:
        """An answer that is a reply in pieces; leaving ends it.

        Raises `StreamIdle` when it does not begin within `within_s`: a refusal must come in time like a
        reply. Waiting for credentials does not count.
        """
        async with (
            self._held(),
            _in_time(self._begun(prepare), within_s, hint=self._kind.slow_hint) as answer,
        ):
            yield answer

    async def page(self, prepare: Callable[[], Prepared | None]) -> bytes | None:
        """The body of an answer that comes whole, at most `MAX_PAGE_BYTES` of it; `None` where none is asked.

        `prepare` gives `None` where the service has nothing to ask.
        """
        async with self._held():
            if self._credentials is None:
                return await self._read(prepare)
            return await self._credentials.ask(partial(self._read, prepare))

    def _held(self) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._credentials is None else self._credentials.hold()

    @asynccontextmanager
    async def _begun(self, prepare: Callable[[], Prepared]) -> AsyncIterator[HttpResponse]:
        async with AsyncExitStack() as stack:
            if self._credentials is None:
                yield await self._accepted(stack, prepare)
            else:
                yield await self._credentials.ask(partial(self._accepted, stack, prepare))

    async def _accepted(self, stack: AsyncExitStack, prepare: Callable[[], Prepared]) -> HttpResponse:
        """The answer, which `stack` ends; one that is refused is ended at once."""
        async with AsyncExitStack() as attempt:
            answer = await attempt.enter_async_context(self._send(prepare()))
            await self._check_status(answer)
            await self._check_kind(answer)
            await stack.enter_async_context(attempt.pop_all())
            return answer

    async def _read(self, prepare: Callable[[], Prepared | None]) -> bytes | None:
        prepared = prepare()
        if prepared is None:
            return None
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
        if not any(word in kind for word in self._kind.foreign):
            return
        if "json" in kind and (error := self._reported(await answer.read(MAX_REFUSAL_BYTES))) is not None:
            raise error
        raise self._unasked(answer, f"is of type {kind[:80]!r} and not {self._kind.called}")

    def _unasked(self, answer: HttpResponse, what: str) -> BadResponse:
        return BadResponse(f"the answer {what}", hint=self._kind.hint, status=answer.status)


@asynccontextmanager
async def _in_time(
    opening: AbstractAsyncContextManager[HttpResponse], within_s: float, *, hint: str
) -> AsyncIterator[HttpResponse]:
    """The answer that `opening` gives; raises `StreamIdle` when opening takes longer than `within_s`.

    The limit is over once the answer is there.
    """
    import anyio

    async with AsyncExitStack() as stack:
        with anyio.move_on_after(within_s) as scope:
            answer = await stack.enter_async_context(opening)
        if scope.cancelled_caught:
            raise StreamIdle(f"the answer did not begin within {within_s:g} s", idle_s=within_s, hint=hint)
        yield answer
