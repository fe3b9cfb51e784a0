from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caliban_provider.errors import BadResponse
from caliban_provider.sse import SSEDecoder, SSEEvent
from caliban_provider.testing.strategies import chunkings, texts

PIECES = (
    b"data", b"event", b":", b" ", b"\n", b"\n\n", b"\r", b"\r\n", b"\xef\xbb\xbf", b"id: 7\n", b": note\n",
    b"data: a\n", b"data:\n", b"event: ping\n", "\u2028\u0085🌍".encode(), b"\x00", b"\xff", b"x",
)  # fmt: skip


def decoded(*chunks: bytes) -> list[SSEEvent]:
    decoder = SSEDecoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)] + decoder.close()


def by_the_book(stream: bytes) -> list[SSEEvent]:
    """The standard's algorithm, line by line, with the one leniency at the end."""
    events, event, data = [], b"", None
    lines = stream.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    for line in [*lines, b""]:
        if not line:
            if data is not None:
                name = event.decode("utf-8", "replace") or "message"
                events.append(SSEEvent(name, data.removesuffix(b"\n")))
            event, data = b"", None
            continue
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            data = (data or b"") + value + b"\n"
        elif name == b"event":
            event = value
    return events


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"", []),
        (b"data: one\n\ndata: two\n\n", [("message", b"one"), ("message", b"two")]),
        (b"event: ping\ndata: {}\n\n", [("ping", b"{}")]),
        (b"data: {}\nevent: ping\n\n", [("ping", b"{}")]),
        (b"data:tight\n\ndata:  wide\n\n", [("message", b"tight"), ("message", b" wide")]),
        (b"data: a\ndata: b\ndata\ndata: c\n\n", [("message", b"a\nb\n\nc")]),
        (b"data\n\n", [("message", b"")]),
        (b": comment\n\n:\n\ndata: x\n\n", [("message", b"x")]),
        (b"event: ping\n\nid: 7\n\nretry: 10\n\ndata: x\n\n", [("message", b"x")]),
        (b"event: a\nevent: b\ndata: x\n\n", [("b", b"x")]),
        (b"event:\ndata: x\n\n", [("message", b"x")]),
        (b"data: a\r\n\r\ndata: b\r\rdata: c\n\n", [("message", b"a"), ("message", b"b"), ("message", b"c")]),
        (b"\xef\xbb\xbfdata: x\n\n", [("message", b"x")]),
        (b"data: \xef\xbb\xbfx\n\n\xef\xbb\xbfdata: lost\n\n", [("message", b"\xef\xbb\xbfx")]),
        (b"\n\n\n\ndata: x\n\n\n\n", [("message", b"x")]),
        (b"data: [DONE]", [("message", b"[DONE]")]),
        (b"data: [DONE]\n", [("message", b"[DONE]")]),
        (b"data: [DONE]\r", [("message", b"[DONE]")]),
        (b"DATA: x\n data: y\ndata : z\n\n", []),
        (
            "data: a\u2028b\u0085c\x0bd\x0ce\x1cf\n\n".encode(),
            [("message", "a\u2028b\u0085c\x0bd\x0ce\x1cf".encode())],
        ),
        (b"event: \xff\ndata: \xff\n\n", [("\ufffd", b"\xff")]),
    ],
)
def test_a_stream_becomes_the_events_of_the_standard(stream: bytes, events: list[tuple[str, bytes]]) -> None:
    wanted = [SSEEvent(name, data) for name, data in events]
    assert decoded(stream) == wanted
    assert decoded(*(stream[at : at + 1] for at in range(len(stream)))) == wanted


@given(st.lists(st.sampled_from(PIECES), max_size=24).map(b"".join).flatmap(chunkings))
def test_the_events_do_not_depend_on_the_chunks(chunks: list[bytes]) -> None:
    assert decoded(*chunks) == by_the_book(b"".join(chunks))


@given(st.binary(max_size=200).flatmap(chunkings))
def test_any_bytes_are_decoded_without_an_error(chunks: list[bytes]) -> None:
    assert decoded(*chunks) == by_the_book(b"".join(chunks))


@given(st.lists(texts(), max_size=4), st.data())
def test_what_a_server_writes_is_read_back(written: list[str], data: st.DataObject) -> None:
    lines = [text.replace("\r\n", "\n").replace("\r", "\n") for text in written]
    stream = "".join(
        "".join(f"data: {line}\n" for line in text.split("\n")) + "\n" for text in lines
    ).encode()
    assert decoded(*data.draw(chunkings(stream))) == [SSEEvent("message", text.encode()) for text in lines]


def test_a_line_end_cut_in_two_is_one_line_end() -> None:
    assert decoded(b"data: a\r", b"\n\r", b"\n", b"data: b\r", b"\ndata: c\r\n\r", b"\n") == [
        SSEEvent("message", b"a"),
        SSEEvent("message", b"b\nc"),
    ]


def test_an_event_is_given_out_as_soon_as_its_blank_line_is_there() -> None:
    decoder = SSEDecoder()
    assert decoder.feed(b"data: a\n") == []
    assert decoder.feed(b"\n") == [SSEEvent("message", b"a")]
    assert decoder.feed(b"data: b\r\n\r") == [SSEEvent("message", b"b")]
    assert decoder.feed(b"\ndata: c\n\nda") == [SSEEvent("message", b"c")]
    assert decoder.close() == []


def test_closing_twice_gives_the_last_event_once() -> None:
    decoder = SSEDecoder()
    decoder.feed(b"data: x")
    assert decoder.close() == [SSEEvent("message", b"x")]
    assert decoder.close() == []


@given(st.integers(0, 12), st.data())
def test_the_size_limit_is_exact_wherever_the_chunks_end(over: int, data: st.DataObject) -> None:
    block = b"data: " + b"x" * (20 + over - 6)
    chunks = data.draw(chunkings(b"data: y\n\n" + block + b"\n\ndata: z\n\n"))
    decoder = SSEDecoder(max_event_bytes=20)
    if over == 0:
        assert [event.data for chunk in chunks for event in decoder.feed(chunk)] == [b"y", b"x" * 14, b"z"]
    else:
        with pytest.raises(BadResponse, match="larger than 20 bytes"):
            for chunk in chunks:
                decoder.feed(chunk)


def test_an_endless_line_is_refused_before_it_ends() -> None:
    decoder = SSEDecoder(max_event_bytes=1000)
    with pytest.raises(BadResponse):
        for _ in range(1000):
            decoder.feed(b"x" * 10)


def test_the_time_for_a_large_event_grows_with_its_size_only() -> None:
    def seconds(size_bytes: int) -> float:
        chunks = [b"data: ", *[b"x" * 512] * (size_bytes // 512), b"\n\n"]
        decoder = SSEDecoder()
        start = time.process_time()
        events = [event for chunk in chunks for event in decoder.feed(chunk)]
        assert len(events[0].data) == size_bytes
        return time.process_time() - start

    small = min(seconds(256 * 1024) for _ in range(5))
    large = min(seconds(16 * 1024 * 1024) for _ in range(3))
    # 64 times the size: quadratic growth would be a factor of 4096.
    assert large < 1000 * max(small, 0.0002)


def test_an_event_of_exactly_the_limit_may_end_between_its_line_end_and_the_blank_line() -> None:
    decoder = SSEDecoder(max_event_bytes=20)
    chunks = (b"data: y\n\ndata: " + b"x" * 14 + b"\n", b"\n")
    assert [event.data for chunk in chunks for event in decoder.feed(chunk)] == [b"y", b"x" * 14]
