"""Calls over loopback: what is given out, what is refused, and how long a beginning may take."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hang_guard import LIMITS_S

from caliban_provider.call import MAX_PAGE_BYTES, MAX_REFUSAL_BYTES, Caller, Prepared, StreamKind
from caliban_provider.classify import error_for
from caliban_provider.credential import Credential, CredentialCache
from caliban_provider.errors import (
    AuthenticationError,
    BadResponse,
    Overloaded,
    ProviderError,
    RateLimited,
    StreamIdle,
)
from caliban_provider.http import HttpClient
from caliban_provider.testing.loopback import Close, Exchange, Hang, LoopbackServer, Send, answer, sse

pytestmark = pytest.mark.anyio


def refused(status: int, headers: Mapping[str, str], body: bytes) -> ProviderError:
    return error_for(status, headers, body, provider="mine")


def reported(body: bytes) -> ProviderError | None:
    return Overloaded(body.decode()) if b"error" in body else None


@asynccontextmanager
async def calling(
    server: LoopbackServer, keys: CredentialCache[str] | None = None, **kind: Any
) -> AsyncIterator[tuple[Caller, Callable[[], Prepared]]]:
    """A caller, and what prepares a request with the key at hand."""
    http = HttpClient()
    caller = Caller(http, error_from=refused, reported=reported, credentials=keys, kind=StreamKind(**kind))

    def prepare() -> Prepared:
        headers = {"x-a": "b"} | ({"x-key": keys.value or ""} if keys is not None else {})
        return Prepared(method="POST", url=server.url, headers=headers, body=b"hello")

    yield caller, prepare
    await http.aclose()


async def failure(exchange: Exchange, **options: Any) -> ProviderError:
    with LoopbackServer([exchange]) as server:
        async with calling(server, **options) as (caller, prepare):
            with pytest.raises(ProviderError) as raised:
                async with caller.stream(prepare, 9):
                    pass
    return raised.value


async def test_a_stream_is_given_out_and_the_request_is_as_prepared() -> None:
    with LoopbackServer([sse("data: 1\n\n")]) as server:
        async with calling(server) as (caller, prepare), caller.stream(prepare, 9) as got:
            assert await got.read(99) == b"data: 1\n\n"
        (request,) = server.requests
    assert (request.method, request.headers["x-a"], request.body) == ("POST", "b", b"hello")


async def test_a_page_is_read_whole() -> None:
    with LoopbackServer([answer(200, b'{"data": []}', content_type="application/json")]) as server:
        async with calling(server) as (caller, prepare):
            assert await caller.page(prepare) == b'{"data": []}'


async def test_a_refusal_is_what_the_vendor_means_by_it() -> None:
    error = await failure(answer(429, b"slow down", retry_after="1"))
    assert (type(error), error.status, error.retry_after_s) == (RateLimited, 429, 1.0)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (answer(200, "<html>", content_type="text/html"), "the answer is of type 'text/html' and not JSON"),
        (answer(200, b" " * (MAX_PAGE_BYTES + 1)), "the answer is larger than 4,194,304 bytes"),
    ],
)
async def test_what_is_no_page_is_told_as_that(page: Exchange, message: str) -> None:
    with LoopbackServer([page]) as server:
        async with calling(server, hint="look there") as (caller, prepare):
            with pytest.raises(BadResponse) as raised:
                await caller.page(prepare)
    assert (raised.value.message, raised.value.hint) == (message, "look there")


async def test_a_refusal_of_a_page_is_one_too() -> None:
    with LoopbackServer([answer(429, b"slow down")]) as server:
        async with calling(server) as (caller, prepare):
            with pytest.raises(RateLimited):
                await caller.page(prepare)


async def test_a_refusal_that_is_cut_has_its_status() -> None:
    error = await failure(Exchange(status=429, steps=(Send(b"slow"), Close())))
    assert (type(error), error.status) == (RateLimited, 429)


async def test_of_a_refusal_without_an_end_only_the_beginning_is_read() -> None:
    steps = (Send(b"x" * MAX_REFUSAL_BYTES), Hang())
    assert type(await failure(Exchange(status=429, steps=steps))) is RateLimited


async def test_an_error_told_with_success_is_raised() -> None:
    error = await failure(answer(200, b'{"error": 1}', content_type="application/json"))
    assert (type(error), error.message) == (Overloaded, '{"error": 1}')


@pytest.mark.parametrize("kind", ["application/json", "TEXT/HTML; charset=utf-8"])
async def test_what_is_no_stream_is_refused(kind: str) -> None:
    error = await failure(answer(200, b"{}", content_type=kind), hint="Look elsewhere.")
    assert (type(error), error.message, error.hint, error.status) == (
        BadResponse,
        f"the answer is of type {kind.lower()!r} and not a stream of events",
        "Look elsewhere.",
        200,
    )


async def test_which_types_are_no_stream_is_the_vendors() -> None:
    with LoopbackServer([answer(200, b"{}", content_type="application/json")]) as server:
        async with calling(server, foreign=("html",)) as (caller, prepare), caller.stream(prepare, 9) as got:
            assert await got.read(9) == b"{}"


class Keys:
    """Gives out keys in order, the last one for ever."""

    def __init__(self, *keys: str) -> None:
        self.asked: list[bool] = []
        self._keys = keys

    async def fetch(self, refused: bool) -> Credential[str]:
        self.asked.append(refused)
        return Credential(value=self._keys[min(len(self.asked), len(self._keys)) - 1])


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_is_renewed_and_the_call_made_once_more(status: int) -> None:
    keys = Keys("old", "new")
    with LoopbackServer([answer(status, b"no"), sse("data: 1\n\n")]) as server:
        cache = CredentialCache(keys.fetch)
        async with calling(server, cache) as (caller, prepare), caller.stream(prepare, 9) as got:
            assert await got.read(99) == b"data: 1\n\n"
        sent = [request.headers["x-key"] for request in server.requests]
    assert (sent, keys.asked) == (["old", "new"], [False, True])


async def test_a_page_is_asked_for_once_more_too() -> None:
    keys = Keys("old", "new")
    with LoopbackServer([answer(401, b"no"), answer(200, b"{}", content_type="application/json")]) as server:
        async with calling(server, CredentialCache(keys.fetch)) as (caller, prepare):
            assert await caller.page(prepare) == b"{}"
        assert len(server.requests) == 2


@pytest.mark.parametrize(("given", "asked"), [(("old", "new"), 2), (("same",), 1)])
async def test_a_refusal_is_answered_once_and_only_with_another_key(
    given: tuple[str, ...], asked: int
) -> None:
    with LoopbackServer([answer(401, b"no")] * 9) as server:
        async with calling(server, CredentialCache(Keys(*given).fetch)) as (caller, prepare):
            with pytest.raises(AuthenticationError):
                async with caller.stream(prepare, 9):
                    pass
        assert len(server.requests) == asked


async def test_where_there_is_nothing_to_ask_there_is_no_page() -> None:
    with LoopbackServer([]) as server:
        async with calling(server) as (caller, _):
            assert await caller.page(lambda: None) is None


async def test_an_answer_that_does_not_begin_is_left() -> None:
    with LoopbackServer([Exchange(raw=True, steps=(Hang(),))]) as server:
        async with calling(server, slow_hint="Wait.") as (caller, prepare):
            with pytest.raises(StreamIdle, match=r"did not begin within 0\.05 s") as raised:
                async with caller.stream(prepare, 0.05):
                    pass
        assert (raised.value.idle_s, raised.value.hint) == (0.05, "Wait.")
        closed = partial(server.wait_for, lambda server: server.open_connections == 0)
        assert await anyio.to_thread.run_sync(closed)


async def test_a_refusal_that_does_not_end_is_left_too() -> None:
    with LoopbackServer([Exchange(status=500, steps=(Send(b"x"), Hang()))]) as server:
        async with calling(server) as (caller, prepare):
            with pytest.raises(StreamIdle):
                async with caller.stream(prepare, 0.05):
                    pass


async def test_once_it_has_begun_an_answer_may_take_longer() -> None:
    with LoopbackServer([sse("data: 1\n\n")] * 4) as server:
        async with calling(server) as (caller, prepare):
            for limit_s in (0.2, *LIMITS_S):
                with suppress(StreamIdle):  # it did not begin in time: a longer one, then
                    async with caller.stream(prepare, limit_s) as got:
                        await anyio.sleep(1.5 * limit_s)
                        assert await got.read(99) == b"data: 1\n\n"
                        return
    pytest.fail("it never began")


async def test_an_error_in_the_block_is_the_blocks() -> None:
    with LoopbackServer([sse("data: 1\n\n")]) as server:
        async with calling(server) as (caller, prepare):
            with pytest.raises(StreamIdle, match="mine"):
                async with caller.stream(prepare, 9):
                    raise StreamIdle("mine", idle_s=1)
