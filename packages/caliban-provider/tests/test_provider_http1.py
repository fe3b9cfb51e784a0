"""Our decoder of HTTP/1.1, by itself and beside the library that everybody uses."""

from __future__ import annotations

import time

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from caliban_provider.http1 import Chunked, ResponseHead, Sized, Unbounded, framing_of, request, split_head
from caliban_provider.testing.strategies import chunkings

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


def chunked(*chunks: bytes, extension: bytes = b"", trailers: bytes = b"") -> bytes:
    lines = [b"%x%b\r\n%b\r\n" % (len(chunk), extension, chunk) for chunk in chunks]
    return b"".join(lines) + b"0\r\n" + trailers + b"\r\n"


def fed(pieces: list[bytes]) -> tuple[bytes, Chunked]:
    framing = Chunked()
    body = b""
    for piece in pieces:
        assert not framing.done
        body += framing.feed(piece)
    return body, framing


@given(
    chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=8),
    extension=st.sampled_from((b"", b";a=b", b' ; a="\n"', b"\t")),
    trailers=st.sampled_from((b"", b"a: b\r\n", b"a: b\r\nc: d\r\n")),
    data=st.data(),
)
def test_a_chunked_body_is_its_payload_wherever_it_is_cut(
    chunks: list[bytes], extension: bytes, trailers: bytes, data: st.DataObject
) -> None:
    stream = chunked(*chunks, extension=extension, trailers=trailers)
    pieces = [piece for piece in data.draw(chunkings(stream)) if piece]
    body, framing = fed(pieces)
    assert (body, framing.done, framing.reusable) == (b"".join(chunks), True, True)
    framing.end()


@given(st.lists(st.binary(min_size=1, max_size=20), max_size=5), st.data())
def test_a_chunked_body_that_ends_early_is_not_done(chunks: list[bytes], data: st.DataObject) -> None:
    stream = chunked(*chunks)
    size = data.draw(st.integers(0, len(stream) - 1))
    body, framing = fed([piece for piece in data.draw(chunkings(stream[:size])) if piece])
    assert not framing.done and b"".join(chunks).startswith(body)
    with pytest.raises(ValueError, match="last chunk is missing"):
        framing.end()


GRAMMAR = st.lists(
    st.sampled_from(
        (b"0", b"1", b"3", b"a", b"\r\n", b"\r", b"\n", b"x", b"xyz", b";", b" ", b"-", b"+1", b"0x1")
    ),
    max_size=14,
).map(b"".join)


@given(GRAMMAR | st.binary(max_size=60))
@example(b"0\r\n\n")
@example(b"0\r\na: b\n\r\n")
def test_any_bytes_are_decoded_as_the_known_library_does_or_refused(stream: bytes) -> None:
    theirs = h11.Connection(h11.CLIENT)
    theirs.send(h11.Request(method="GET", target="/", headers=[("host", "x")]))
    theirs.send(h11.EndOfMessage())
    theirs.receive_data(HEAD + stream)
    wanted, ended = b"", False
    try:
        while (event := theirs.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            if isinstance(event, h11.Data):
                wanted += bytes(event.data)
            if isinstance(event, h11.EndOfMessage):
                ended = True
                break
    except h11.RemoteProtocolError:
        wanted, ended = b"", False
    framing = Chunked()
    try:
        body = framing.feed(stream)
    except ValueError:
        assert not ended
        return
    if framing.done:
        # What h11 refuses beyond this is in the trailers, which are dropped here.
        assert (body == wanted) if ended else b"\r\n" in stream
    else:
        assert not ended


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        (b"zz\r\n", "the size of a chunk is b'zz'"),
        (b"-1\r\n", "the size of a chunk"),
        (b"0x1\r\n", "the size of a chunk"),
        (b"\r\n", "the size of a chunk is b''"),
        (b"f" * 13 + b"\r\n", "the size of a chunk"),
        (b"1\r\nab\r\n", "longer than it said"),
        (b"1" * 20_000, "does not end"),
        (b"3\r\nabcx", "longer than it said"),
    ],
)
def test_what_is_not_chunked_is_refused(stream: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Chunked().feed(stream)


def test_bytes_behind_the_end_make_a_connection_unusable() -> None:
    body, framing = fed([chunked(b"ab") + b"HTTP/1.1 200 OK"])
    assert (body, framing.done, framing.reusable) == (b"ab", True, False)
    sized = Sized(2)
    assert (sized.feed(b"abc"), sized.done, sized.reusable) == (b"ab", True, False)


def test_a_body_of_a_told_length_ends_there() -> None:
    sized = Sized(5)
    assert (sized.feed(b"ab"), sized.done) == (b"ab", False)
    with pytest.raises(ValueError, match="3 bytes are missing"):
        sized.end()
    assert (sized.feed(b"cde"), sized.done, sized.reusable) == (b"cde", True, True)
    sized.end()


def test_a_body_without_a_length_ends_with_its_connection() -> None:
    body = Unbounded()
    assert (body.feed(b"ab"), body.done, body.reusable) == (b"ab", False, False)
    body.end()
    assert body.done


def test_a_head_is_read_whole_or_not_yet() -> None:
    data = b"HTTP/1.1 200 OK\r\nA: b\r\na:c \r\nX-Empty:\r\n\r\nbody"
    head = ResponseHead(status=200, headers={"a": "b, c", "x-empty": ""}, keep_alive=True)
    assert split_head(data) == (head, b"body")
    assert all(split_head(data[:size]) is None for size in range(data.index(b"\r\n\r\n") + 3))
    assert split_head(b"HTTP/1.1 200\n\nx") == (ResponseHead(status=200, headers={}, keep_alive=True), b"x")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"SSH-2.0-x", "it begins with 'SSH"),
        (b"\x16\x03", "it begins with"),
        (b"HTTP/2 200 OK\r\n\r\n", "its first line|it begins"),
        (b"HTTP/1.1 99 No\r\n\r\n", "its first line is"),
        (b"HTTP/1.1 OK\r\n\r\n", "its first line is"),
        (b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "a header line is 'no colon'"),
        (b"HTTP/1.1 200 OK\r\na: b\r\n folded\r\n\r\n", "a header line is"),
        (b"HTTP/1.1 200 OK\r\nbad name: b\r\n\r\n", "a header line is"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 50_000, "its head does not end"),
    ],
)
def test_a_head_that_is_none_is_refused(data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        split_head(data)


@given(st.binary(max_size=80).map(lambda data: b"HTTP/1.1 200 OK\r\n" + data) | st.binary(max_size=80))
def test_any_bytes_are_a_head_or_refused_or_incomplete(data: bytes) -> None:
    try:
        head = split_head(data)
    except ValueError:
        return
    assert head is None or data.endswith(head[1])


@pytest.mark.parametrize(
    ("method", "status", "headers", "kind"),
    [
        ("POST", 200, {"transfer-encoding": "chunked"}, Chunked),
        ("POST", 200, {"transfer-encoding": "gzip, Chunked", "content-length": "3"}, Chunked),
        ("POST", 200, {"transfer-encoding": "gzip"}, Unbounded),
        ("POST", 200, {"content-length": "3"}, Sized),
        ("POST", 200, {"content-length": "3, 3"}, Sized),
        ("POST", 200, {}, Unbounded),
        ("HEAD", 200, {"content-length": "3"}, Sized),
        ("POST", 204, {"transfer-encoding": "chunked"}, Sized),
    ],
)
def test_a_body_is_framed_as_its_head_says(
    method: str, status: int, headers: dict[str, str], kind: type
) -> None:
    framing = framing_of(method, ResponseHead(status=status, headers=headers, keep_alive=True))
    assert type(framing) is kind
    assert framing.done is (method == "HEAD" or status == 204)


@pytest.mark.parametrize("length", ["3, 4", "-1", "x", "", "1_0", "9" * 30])
def test_a_length_that_is_none_is_refused(length: str) -> None:
    with pytest.raises(ValueError, match="its length is"):
        framing_of("POST", ResponseHead(status=200, headers={"content-length": length}, keep_alive=True))


@pytest.mark.parametrize(
    ("version", "connection", "keep_alive"),
    [("1.1", "", True), ("1.1", "Close", False), ("1.0", "", False), ("1.0", "Keep-Alive", True)],
)
def test_a_connection_is_kept_as_the_head_says(version: str, connection: str, keep_alive: bool) -> None:
    head = split_head(f"HTTP/{version} 200 OK\r\nconnection: {connection}\r\n\r\n".encode())
    assert head is not None and head[0].keep_alive is keep_alive


def test_a_request_is_its_lines_and_its_body() -> None:
    written = request("POST", b"/v1?x=1", [(b"Host", b"h"), (b"X-A", b"b")], b"{}")
    assert written == b"POST /v1?x=1 HTTP/1.1\r\nHost: h\r\nX-A: b\r\n\r\n{}"
    for target, headers in ((b"/\r\nx", []), (b"/", [(b"a", b"b\nc")]), (b"/", [(b"a\0", b"b")])):
        with pytest.raises(ValueError, match="line break"):
            request("POST", target, headers, b"")


def test_the_time_for_tiny_chunks_grows_with_their_number_only() -> None:
    def seconds(count: int) -> float:
        stream = chunked(*[b"abcd"] * count)
        start = time.process_time()
        assert len(Chunked().feed(stream)) == 4 * count
        return time.process_time() - start

    small = min(seconds(1000) for _ in range(5))
    # 100 times as many: quadratic growth would be a factor of 10,000.
    assert min(seconds(100_000) for _ in range(2)) < 1500 * max(small, 0.0001)
