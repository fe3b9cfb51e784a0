"""The reader of replies, over a small wire of its own: what it gives out, and what it awaits."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from functools import partial

import anyio
import anyio.to_thread
import pytest
from hang_guard import HANG_S
from hypothesis import given
from hypothesis import strategies as st

from caliban_provider.errors import BadResponse, Overloaded, ProviderError, StreamIdle, StreamInterrupted
from caliban_provider.http import HttpClient
from caliban_provider.ndjson import NDJSONDecoder
from caliban_provider.reader import ReplyReader, StreamTimeouts
from caliban_provider.stream import BlockStart, BlockStop, MessageStart, MessageStop, StreamEvent, TextDelta
from caliban_provider.testing import strategies
from caliban_provider.testing.loopback import Exchange, Hang, LoopbackServer, Send

pytestmark = pytest.mark.anyio

TIMEOUTS = StreamTimeouts(first_byte_s=HANG_S, idle_s=HANG_S)
TRAILING = StreamTimeouts(first_byte_s=HANG_S, idle_s=HANG_S, trail_s=HANG_S)
BODY = b'begin\n"Hello"\n", \xe4\xbd\xa0"\n\n"!"\nend\n'
WHOLE: list[StreamEvent] = [
    MessageStart(model="m"),
    BlockStart(0, "text"),
    TextDelta(0, "Hello"),
    TextDelta(0, ", 你"),
    TextDelta(0, "!"),
    BlockStop(0),
    MessageStop(),
]


class Lines:
    """A wire of lines: `begin`, text as JSON, `end`, `busy`. With `late` something may follow the end."""

    def __init__(self, *, late: bool = False, tells_fault: bool = False) -> None:
        self.stopped = False
        self.fed: list[bytes] = []
        self._late = late
        self._tells_fault = tells_fault

    def feed(self, line: bytes) -> list[StreamEvent]:
        if self.stopped and not self._late:
            return []
        self.fed.append(line)
        match line[:1], line:
            case _, b"begin":
                return [MessageStart(model="m"), BlockStart(0, "text")]
            case b'"', _:
                return [TextDelta(0, _text(line))]
            case _, b"end":
                self.stopped = True
                return [] if self._late else _END
            case _, b"busy":
                raise Overloaded("busy")
        raise BadResponse(f"{line!r} is no line of this wire")

    def finish(self, fault: BadResponse | None) -> Sequence[StreamEvent]:
        if self.stopped:
            return _END if self._late else ()
        if fault is not None and self._tells_fault:
            raise fault
        raise StreamInterrupted("the stream ended before the reply did")


_END = [BlockStop(0), MessageStop()]


def _text(raw: bytes) -> str:
    try:
        return str(json.loads(raw))
    except ValueError:
        raise BadResponse("cut text") from None


class Body:
    """An answer that says `chunks`; an exception among them is raised, and at its end `then` is awaited."""

    def __init__(
        self,
        *chunks: bytes | ProviderError,
        then: anyio.Event | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.headers = headers or {}
        self.asked = 0
        self._chunks = list(chunks)
        self._then = then

    def chunks(self) -> AsyncIterator[bytes]:
        return self

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        self.asked += 1
        if not self._chunks:
            if self._then is not None:
                await self._then.wait()
            raise StopAsyncIteration
        chunk = self._chunks.pop(0)
        if isinstance(chunk, ProviderError):
            raise chunk
        return chunk


def reader(
    body: Body, decoder: Lines | None = None, timeouts: StreamTimeouts = TIMEOUTS
) -> ReplyReader[bytes]:
    return ReplyReader(body, NDJSONDecoder(), decoder or Lines(), timeouts)


async def read(
    body: Body, decoder: Lines | None = None, timeouts: StreamTimeouts = TIMEOUTS
) -> tuple[list[StreamEvent], ProviderError | None]:
    """The events of `body`, and the failure after them."""
    events: list[StreamEvent] = []
    try:
        async for event in reader(body, decoder, timeouts):
            events.append(event)
    except ProviderError as error:
        return events, error
    return events, None


@pytest.mark.parametrize("at", range(len(BODY) + 1))
async def test_the_events_do_not_depend_on_where_the_chunks_end(at: int) -> None:
    assert await read(Body(BODY[:at], BODY[at:])) == (WHOLE, None)


@pytest.mark.parametrize("at", range(len(BODY)))
async def test_a_body_that_ends_early_gives_what_was_whole_and_then_says_so(at: int) -> None:
    complete = at == len(BODY) - 1  # only the last line's end is missing
    for chunks in ([BODY[:at]], [BODY[index : index + 1] for index in range(at)]):
        events, error = await read(Body(*chunks))
        assert (events == WHOLE) == complete and WHOLE[: len(events)] == events
        assert type(error) is (type(None) if complete else StreamInterrupted)


@pytest.mark.parametrize("at", range(len(BODY)))
async def test_a_body_that_breaks_tells_the_break(at: int) -> None:
    broken = StreamInterrupted("the connection was reset")
    events, error = await read(Body(BODY[:at], broken))
    assert WHOLE[: len(events)] == events
    assert error is (None if at == len(BODY) - 1 else broken)


@pytest.mark.parametrize("at", [0, 6, 14, 22])
async def test_garbage_comes_after_what_was_good(at: int) -> None:
    good = BODY[:at].count(b'"\n') + (2 if at else 0)
    for chunks in ([BODY[:at] + b"<html>\n" + BODY[at:]], [BODY[:at], b"<html>\n", BODY[at:]]):
        events, error = await read(Body(*chunks))
        assert (events, type(error)) == (WHOLE[:good], BadResponse)


@given(st.lists(st.binary(max_size=12), max_size=8))
def test_any_bytes_end_in_a_reply_or_in_a_providers_error(chunks: list[bytes]) -> None:
    events, error = anyio.run(read, Body(*chunks))
    assert error is not None or events[-1:] == [MessageStop()]


@given(strategies.chunkings(BODY * 2))
def test_a_second_reply_behind_the_first_is_not_read(chunks: list[bytes]) -> None:
    events, error = anyio.run(read, Body(*chunks))
    assert (events, error) == (WHOLE, None)


async def test_a_failure_stays() -> None:
    events = reader(Body(b'begin\nbusy\n"late"\n'))
    assert [await anext(events), await anext(events)] == WHOLE[:2]
    raised = []
    for _ in range(2):
        with pytest.raises(Overloaded) as failure:
            await anext(events)
        raised.append(failure.value)
    assert raised[0] is raised[1]


async def test_an_end_stays() -> None:
    body = Body(BODY)
    events = reader(body)
    assert [event async for event in events] == WHOLE
    assert [event async for event in events] == []
    assert body.asked == 1


async def test_nothing_is_awaited_while_decoded_events_are_left() -> None:
    body = Body(BODY[:14], BODY[14:])
    events = reader(body)
    asked = []
    async for _ in events:
        asked.append(body.asked)
    assert asked == [1, 1, 1, 2, 2, 2, 2]
    assert body.asked == 2


async def test_after_the_end_nothing_more_is_read() -> None:
    body = Body(BODY, then=anyio.Event())
    assert await read(body) == (WHOLE, None)
    assert body.asked == 1


async def test_what_trails_behind_the_end_is_read_where_the_wire_has_it() -> None:
    decoder = Lines(late=True)
    assert await read(Body(b"begin\nend\n", b'"counts"'), decoder, TRAILING) == (
        [*WHOLE[:2], TextDelta(0, "counts"), *_END],
        None,
    )
    assert decoder.fed == [b"begin", b"end", b'"counts"']


async def test_silence_behind_the_end_is_an_end() -> None:
    body = Body(b"begin\nend\n", then=anyio.Event())
    brief = StreamTimeouts(first_byte_s=HANG_S, idle_s=HANG_S, trail_s=0.01)
    assert await read(body, Lines(late=True), brief) == ([*WHOLE[:2], *_END], None)


@pytest.mark.parametrize("fault", [StreamInterrupted("reset"), StreamIdle("silent", idle_s=1)])
async def test_a_break_or_silence_behind_the_end_does_not_count(fault: ProviderError) -> None:
    assert await read(Body(b"begin\nend\n", fault), Lines(late=True), TRAILING) == (
        [*WHOLE[:2], *_END],
        None,
    )


async def test_any_other_failure_behind_the_end_counts() -> None:
    events, error = await read(Body(b"begin\nend\n", BadResponse("no gzip")), Lines(late=True), TRAILING)
    assert (events, str(error)) == (WHOLE[:2], "no gzip")


async def test_the_decoder_says_whether_a_cut_piece_is_a_fault_or_a_break() -> None:
    bodies = Body(b"<html>"), Body(b"<html>")
    faults = [
        (await read(body, Lines(tells_fault=tells)))[1]
        for body, tells in zip(bodies, (True, False), strict=True)
    ]
    assert [type(fault) for fault in faults] == [BadResponse, StreamInterrupted]


async def test_what_the_vendor_reports_in_a_last_line_without_an_end_counts_more_than_the_break() -> None:
    events, error = await read(Body(b"begin\nbusy", StreamInterrupted("reset")))
    assert (events, type(error)) == (WHOLE[:2], Overloaded)


async def test_silence_is_told() -> None:
    brief = StreamTimeouts(first_byte_s=0.01, idle_s=0.02)
    limits = []
    for body in (Body(then=anyio.Event()), Body(b"begin\n", then=anyio.Event())):
        _, error = await read(body, timeouts=brief)
        assert isinstance(error, StreamIdle)
        limits.append(error.idle_s)
    assert limits == [0.01, 0.02]


@pytest.mark.parametrize("name", ["request-id", "x-request-id", "x-amzn-requestid", "apim-request-id"])
async def test_a_failure_names_the_request(name: str) -> None:
    for chunk in (b"busy\n", b"begin\n", b"busy", b"<html>\n"):
        _, error = await read(Body(chunk, headers={name: "req_1"}))
        assert error is not None and error.request_id == "req_1"
    _, error = await read(Body(Overloaded("busy", request_id="req_2"), headers={name: "req_1"}))
    assert error is not None and error.request_id == "req_2"


async def test_leaving_early_closes_the_answer() -> None:
    steps = (Send(b'begin\n"Hello"\n'), Hang())
    with LoopbackServer([Exchange(headers={"content-type": "application/x-ndjson"}, steps=steps)]) as server:
        http = HttpClient()
        async with http.stream("POST", server.url, headers={}) as answer:
            async for event in ReplyReader(answer, NDJSONDecoder(), Lines(), TIMEOUTS):
                if event == WHOLE[2]:
                    break
        closed = partial(server.wait_for, lambda server: server.open_connections == 0)
        assert await anyio.to_thread.run_sync(closed)
        await http.aclose()


async def test_a_reply_read_to_its_end_leaves_its_connection_for_the_next() -> None:
    exchange = Exchange(steps=(Send(BODY[:9]), Send(BODY[9:])))
    with LoopbackServer([exchange, exchange]) as server:
        http = HttpClient()
        for _ in range(2):
            async with http.stream("POST", server.url, headers={}) as answer:
                events = ReplyReader(answer, NDJSONDecoder(), Lines(), TIMEOUTS)
                assert [event async for event in events] == WHOLE
        assert server.connections == 1
        await http.aclose()


async def _pings(gap_s: float) -> AsyncIterator[bytes]:
    while True:
        await anyio.sleep(gap_s)
        yield b"\n"


class Pinging:
    """An answer that never ends: what it says first, and then lines that say nothing."""

    def __init__(self, *said: bytes) -> None:
        self.headers: dict[str, str] = {}
        self._said = said

    async def chunks(self) -> AsyncIterator[bytes]:
        for chunk in self._said:
            yield chunk
        async for ping in _pings(0.01):
            yield ping


@pytest.mark.parametrize(
    ("said", "limits", "told_s"),
    [
        ((), StreamTimeouts(first_byte_s=0.05, idle_s=HANG_S), 0.05),
        ((b'begin\n"Hello"\n',), StreamTimeouts(first_byte_s=HANG_S, idle_s=0.05), 0.05),
    ],
)
async def test_what_says_nothing_does_not_end_a_silence(
    said: tuple[bytes, ...], limits: StreamTimeouts, told_s: float
) -> None:
    reader = ReplyReader(Pinging(*said), NDJSONDecoder(), Lines(), limits)
    with pytest.raises(StreamIdle) as caught:
        async for _ in reader:
            pass
    assert caught.value.idle_s == told_s
