from __future__ import annotations

import gzip
import itertools
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import zlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import anyio
import pytest
from hang_guard import HANG_S, LIMITS_S

from caliban_provider import tls
from caliban_provider.errors import (
    BadResponse,
    InvalidRequest,
    NetworkError,
    ProviderError,
    StreamIdle,
    StreamInterrupted,
)
from caliban_provider.http import HttpClient
from caliban_provider.proxies import goes_direct
from caliban_provider.testing.loopback import (
    Close,
    Exchange,
    Hang,
    LoopbackServer,
    Pause,
    Reset,
    Send,
    answer,
    sse,
)
from caliban_provider.unpack import PIECE_BYTES, Unpacker

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@asynccontextmanager
async def client_of(**options: float) -> AsyncIterator[HttpClient]:
    client = HttpClient(**options)
    try:
        yield client
    finally:
        await client.aclose()


async def whole(client: HttpClient, url: str, body: bytes = b"") -> tuple[int, bytes]:
    async with client.stream("POST", url, headers={}, body=body) as response:
        return response.status, await response.read(1 << 20)


async def failure(client: HttpClient, url: str, **headers: str) -> ProviderError:
    with pytest.raises(ProviderError) as raised:
        async with client.stream("POST", url, headers=headers, body=b"{}") as response:
            async for _ in response.chunks():
                pass
    return raised.value


async def test_an_answer_has_its_status_headers_and_body() -> None:
    with LoopbackServer([answer(418, b"short", **{"X-Thing": "a"}), sse("a", "b")]) as server:
        async with client_of() as client:
            async with client.stream(
                "POST", f"{server.url}/p?q=1", headers={"x-a": "b"}, body=b"{}"
            ) as response:
                assert (response.status, response.headers["x-thing"]) == (418, "a")
                assert await response.read(100) == b"short"
            async with client.stream("GET", server.url, headers={}) as response:
                assert b"".join([chunk async for chunk in response.chunks()]) == b"ab"
        first, second = server.requests
        assert (first.method, first.path, first.body, first.headers["x-a"]) == ("POST", "/p?q=1", b"{}", "b")
        assert (second.method, second.path, second.body) == ("GET", "/", b"")
        assert (first.headers["accept-encoding"], first.headers["user-agent"]) == ("identity", "caliban")


async def test_the_body_is_read_no_further_than_asked() -> None:
    with LoopbackServer([Exchange(steps=(Send(b"x" * 10), Send(b"y" * 10), Hang()))]) as server:
        async with client_of() as client, client.stream("POST", server.url, headers={}) as response:
            assert await response.read(15) == b"x" * 10 + b"y" * 5


async def test_pieces_come_as_they_are_flushed() -> None:
    gate = threading.Event()
    with LoopbackServer([Exchange(steps=(Send(b"one"), Pause(gate), Send(b"two")))]) as server:
        async with client_of() as client, client.stream("POST", server.url, headers={}) as response:
            chunks = response.chunks()
            assert await chunks.__anext__() == b"one"
            gate.set()
            assert [chunk async for chunk in chunks] == [b"two"]


@pytest.mark.parametrize("chunked", [True, False])
async def test_a_compressed_body_is_decompressed_though_nobody_asked_for_it(chunked: bool) -> None:
    packed = gzip.compress("hello 🌍".encode() * 100)
    steps = tuple(Send(packed[at : at + 7]) for at in range(0, len(packed), 7))
    exchange = Exchange(headers={"content-encoding": "gzip"}, steps=steps, chunked=chunked)
    with LoopbackServer([exchange]) as server:
        async with client_of() as client:
            assert await whole(client, server.url) == (200, "hello 🌍".encode() * 100)


def bare(data: bytes) -> bytes:
    """`data` as some servers mean deflate: without a header."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def unpacked(coding: str, packed: bytes, size: int) -> bytes:
    """What comes of `packed`, given in pieces of `size` bytes."""
    unpacker = Unpacker(coding)
    chunks = (packed[at : at + size] for at in range(0, len(packed), size))
    return b"".join([piece for chunk in chunks for piece in unpacker.feed(chunk)] + [*unpacker.end()])


WORDS = bytes(range(256)) * 40 + bytes(100_000)


@pytest.mark.parametrize("size", [1, 2, 3, 1000, 10**9])
@pytest.mark.parametrize(
    ("coding", "packed", "data"),
    [
        ("gzip", gzip.compress(WORDS), WORDS),
        ("X-Gzip", gzip.compress(b""), b""),
        ("gzip", gzip.compress(b"one ") + gzip.compress(b"") + gzip.compress(b"two"), b"one two"),
        ("gzip", gzip.compress(b"one") + b"\0\0\x1f\x8b", b"one"),
        ("gzip", b"", b""),
        ("deflate", zlib.compress(WORDS), WORDS),
        ("deflate", bare(WORDS), WORDS),
        ("deflate", gzip.compress(WORDS), WORDS),
    ],
    ids=["gzip", "nothing", "in three parts", "with a rest", "empty", "zlib", "bare", "gzip as deflate"],
)
def test_all_of_a_compressed_body_is_unpacked_however_it_is_cut(
    coding: str, packed: bytes, data: bytes, size: int
) -> None:
    assert unpacked(coding, packed, size) == data


@pytest.mark.parametrize("size", [1, 10**9])
@pytest.mark.parametrize("cut", [1, 2, 9, -9, -1])
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
def test_a_compressed_body_that_is_cut_off_is_none(coding: str, cut: int, size: int) -> None:
    packed = gzip.compress(WORDS) if coding == "gzip" else zlib.compress(WORDS)
    with pytest.raises(ValueError, match="it is cut off"):
        unpacked(coding, packed[:cut], size)


async def test_a_compressed_answer_without_its_end_is_a_bad_response() -> None:
    exchange = Exchange(headers={"content-encoding": "gzip"}, steps=(Send(gzip.compress(WORDS)[:-9]),))
    with LoopbackServer([exchange]) as server:
        async with client_of() as client:
            error = await failure(client, server.url)
    assert isinstance(error, BadResponse) and error.message.endswith("cannot be decompressed: it is cut off")


@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_body_that_unpacks_to_very_much_comes_in_small_pieces(coding: str) -> None:
    packed = zlib.compress(bytes(50_000_000)) if coding == "deflate" else gzip.compress(bytes(50_000_000))
    exchange = Exchange(headers={"content-encoding": coding}, steps=(Send(packed),))
    with LoopbackServer([exchange]) as server:
        async with client_of() as client, client.stream("GET", server.url, headers={}) as response:
            sizes = [len(chunk) async for chunk in response.chunks()]
    assert (sum(sizes), max(sizes)) == (50_000_000, PIECE_BYTES)


async def test_a_body_that_does_not_decompress_is_a_bad_response() -> None:
    exchange = Exchange(headers={"content-encoding": "gzip"}, steps=(Send(b"not gzip at all"),))
    with LoopbackServer([exchange]) as server:
        async with client_of() as client:
            error = await failure(client, server.url)
    assert isinstance(error, BadResponse) and "decompressed" in error.message


async def test_requests_share_a_connection_even_when_the_end_is_not_waited_for() -> None:
    with LoopbackServer([sse("data: x\n\n")] * 3) as server:
        async with client_of() as client:
            for _ in range(3):
                async with client.stream("POST", server.url, headers={}) as response:
                    assert await response.chunks().__anext__() == b"data: x\n\n"
        assert server.connections == 1


async def test_an_answer_that_goes_on_is_left_with_its_connection() -> None:
    with LoopbackServer([Exchange(steps=(Send(b"x"), Hang())), answer(200)]) as server:
        async with client_of() as client:
            async with client.stream("POST", server.url, headers={}) as response:
                await response.chunks().__anext__()
            closed = partial(server.wait_for, lambda server: server.open_connections == 0)
            assert await anyio.to_thread.run_sync(closed)
            assert (await whole(client, server.url))[0] == 200
        assert server.connections == 2


async def test_a_connection_that_the_server_closed_meanwhile_is_not_used_again() -> None:
    closing = Exchange(steps=(Send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"), Close()), raw=True)
    with LoopbackServer([closing, answer(200, "new")]) as server:
        async with client_of() as client:
            assert await whole(client, server.url) == (200, b"ok")
            closed = partial(server.wait_for, lambda server: server.open_connections == 0)
            assert await anyio.to_thread.run_sync(closed)
            assert await whole(client, server.url) == (200, b"new")


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ],
)
async def test_a_connection_that_is_not_to_be_kept_is_not(head: bytes) -> None:
    exchange = Exchange(steps=(Send(head + b"ok"), Close()), raw=True)
    with LoopbackServer([exchange, exchange]) as server:
        async with client_of() as client:
            assert [await whole(client, server.url) for _ in range(2)] == [(200, b"ok")] * 2
        assert server.connections == 2


async def test_interim_answers_are_passed_over() -> None:
    head = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 201 Created\r\n"
    exchange = Exchange(steps=(Send(head + b"content-length: 2\r\n\r\nok"), Hang()), raw=True, bytewise=True)
    with LoopbackServer([exchange]) as server:
        async with client_of() as client:
            assert await whole(client, server.url) == (201, b"ok")


async def test_an_answer_without_a_body_needs_no_waiting() -> None:
    bare = b"HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n"
    with LoopbackServer([Exchange(steps=(Send(bare), Hang()), raw=True)]) as server:
        async with client_of() as client:
            assert await whole(client, server.url) == (204, b"")


async def test_a_large_request_arrives_whole() -> None:
    body = bytes(range(256)) * 16384
    with LoopbackServer([answer(200)]) as server:
        async with client_of() as client:
            await whole(client, server.url, body)
        assert server.requests[0].body == body


async def test_tiny_chunks_that_arrive_together_come_as_one_piece() -> None:
    body = b"".join(b"1\r\n%c\r\n" % byte for byte in b"hello world") + b"0\r\n\r\n"
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    with LoopbackServer([Exchange(steps=(Send(head + body), Hang()), raw=True)]) as server:
        async with client_of() as client, client.stream("POST", server.url, headers={}) as response:
            assert [chunk async for chunk in response.chunks()] == [b"hello world"]


async def test_redirects_are_not_followed_and_cookies_not_kept() -> None:
    with LoopbackServer([answer(302, location="/other", set_cookie="a=b"), answer(200)]) as server:
        async with client_of() as client:
            assert (await whole(client, server.url))[0] == 302
            await whole(client, server.url)
        assert len(server.requests) == 2 and "cookie" not in server.requests[1].headers


@pytest.mark.parametrize(
    ("steps", "raw", "kind", "words"),
    [
        ((Send(b"x"), Close()), False, StreamInterrupted, "broke in the middle of the answer"),
        ((Send(b"x"), Reset()), False, StreamInterrupted, "broke in the middle of the answer"),
        ((Close(),), True, NetworkError, "broke before an answer"),
        ((Reset(),), True, NetworkError, "broke before an answer"),
        ((Send(b"HTTP/1.1 200"), Close()), True, NetworkError, "broke before an answer"),
        ((Send(b"SSH-2.0-x\r\n\r\n"), Hang()), True, BadResponse, "does not answer in HTTP"),
        (
            (Send(b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"),),
            True,
            BadResponse,
            "does not answer in HTTP",
        ),
        (
            (Send(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n"),),
            True,
            StreamInterrupted,
            "broke in the middle",
        ),
        (
            (Send(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nabc"),),
            True,
            StreamInterrupted,
            "broke in the middle",
        ),
    ],
)
async def test_a_broken_answer_is_named_with_its_host_and_a_hint(
    steps: tuple[Send | Close | Reset | Hang, ...], raw: bool, kind: type[ProviderError], words: str
) -> None:
    with LoopbackServer([Exchange(steps=steps, raw=raw)]) as server:
        async with client_of(read_s=HANG_S) as client:
            error = await failure(client, f"{server.url}/path?key=secret")
        assert type(error) is kind, error
        assert words in error.message
        check_manners(error, server)


def check_manners(error: ProviderError, server: LoopbackServer) -> None:
    assert f"127.0.0.1:{server.port}" in error.message and error.message.isprintable()
    assert error.hint and "secret" not in str(error)


@pytest.mark.parametrize(
    ("steps", "raw", "words"),
    [((Hang(),), True, "did not answer"), ((Send(b"x"), Hang()), False, "did not go on")],
)
async def test_an_answer_that_is_silent_is_named_with_its_host_and_a_hint(
    steps: tuple[Send | Hang, ...], raw: bool, words: str
) -> None:
    with LoopbackServer([Exchange(steps=steps, raw=raw)] * 4) as server:
        for read_s in (0.3, *LIMITS_S):  # what has a head is to send it within the limit
            async with client_of(read_s=read_s) as client:
                error = await failure(client, f"{server.url}/path?key=secret")
            assert type(error) is StreamIdle, error
            if words in error.message:
                break
        assert f"{words} within {read_s:g} s" in error.message
        check_manners(error, server)


async def test_a_client_goes_on_after_a_broken_answer() -> None:
    with LoopbackServer([Exchange(steps=(Send(b"x"), Reset())), answer(200, "fine")]) as server:
        async with client_of() as client:
            await failure(client, server.url)
            assert await whole(client, server.url) == (200, b"fine")


async def test_a_closed_port_is_a_network_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with client_of() as client:
        error = await failure(client, f"http://127.0.0.1:{port}")
    assert (type(error), error.message, error.retryable) == (
        NetworkError, f"127.0.0.1:{port} refused the connection", True,
    )  # fmt: skip


async def test_a_name_that_does_not_resolve_is_a_network_error() -> None:
    async with client_of(connect_s=HANG_S) as client:  # a resolver without a network takes its time
        error = await failure(client, "http://no-such-host.invalid/")
    assert type(error) is NetworkError
    assert error.message.startswith("the name no-such-host.invalid does not resolve")


async def test_a_connection_that_is_not_made_in_time_is_a_network_error() -> None:
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        url = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        waiting = [socket.socket() for _ in range(4)]
        for client_socket in waiting:
            client_socket.setblocking(False)
            client_socket.connect_ex(deaf.getsockname())
        async with client_of(connect_s=0.2, read_s=0.2) as client:
            error = await failure(client, url)
        for client_socket in waiting:
            client_socket.close()
    assert isinstance(error, NetworkError | StreamIdle) and "within 0.2 s" in error.message


@pytest.mark.parametrize(
    "url", ["ftp://x/", "api.example.com/v1", "", "http://", "https:///v1", "http://[::1"]
)
async def test_an_address_that_is_none_is_refused(url: str) -> None:
    async with client_of() as client:
        error = await failure(client, url)
    assert (type(error), error.hint) == (InvalidRequest, "check the base URL in the settings")


@pytest.mark.parametrize("value", ["sk-12\n34", "sk-12\r\nx: y", "“sk-12”", "sk\x00-12"])
async def test_a_header_that_http_does_not_allow_is_refused_without_being_shown(value: str) -> None:
    async with client_of() as client:
        error = await failure(client, "http://127.0.0.1:9/", **{"x-api-key": value})
    assert type(error) is InvalidRequest
    assert "'x-api-key'" in error.message and "12" not in str(error)
    assert error.__cause__ is None


@pytest.mark.parametrize("name", ["content-length", "Transfer-Encoding", "expect", "x y", "x:y", ""])
async def test_a_header_that_would_cut_the_request_elsewhere_is_refused(name: str) -> None:
    async with client_of() as client:
        error = await failure(client, "http://127.0.0.1:9/", **{name: "3"})
    assert type(error) is InvalidRequest and error.message.startswith(f"the header {name!r} ")


async def test_a_proxy_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer([answer(200, "by proxy")]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        async with client_of() as client:
            assert await whole(client, "http://api.example.com/v1") == (200, b"by proxy")
        assert proxy.requests[0].path == "http://api.example.com/v1"


@pytest.mark.parametrize(
    "entry", ["fc00::/7", "::/0", "fe80::/10", "::1/128", "[::1]", "nonsense/99", "10.0.0.0/8"]
)
async def test_an_exception_from_the_proxy_that_is_for_others_breaks_nothing(
    entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LoopbackServer([answer(200, "by proxy")]) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        monkeypatch.setenv("no_proxy", f"localhost,.lan,{entry}")
        async with client_of() as client:
            assert await whole(client, "http://model.test:8080/v1") == (200, b"by proxy")


@pytest.mark.parametrize(
    ("host", "entries", "expected"),
    [
        ("192.0.2.2", "192.0.2.0/24", True),
        ("192.0.2.2", "192.0.2.*", True),
        ("192.0.2.2", "192.0.2.2", True),
        ("192.0.2.2", "192.0.3.0/24, 10.0.0.0/8", False),
        ("fd07::1", "fc00::/7", True),
        ("::1", "[::1]", True),
        ("2001:db8::1", "::/0", True),
        ("a.lan", ".lan", True),
        ("lan", ".lan", True),
        ("a.lan", "lan", True),
        ("a.lan", "*.lan", True),
        ("alan", "lan", False),
        ("model.test", "10.0.0.0/8,fc00::/7", False),
        ("model.test", "MODEL.test", True),
        ("model.test", "model.test:8080", True),
        ("model.test", "model.test:81", False),
        ("model.test", "http://model.test", True),
        ("anything", "a b, *", True),
        ("192.0.2.2", "/,:,[,]", False),
    ],
)
def test_an_exception_from_the_proxy_may_be_a_name_an_address_or_a_range(
    host: str, entries: str, expected: bool
) -> None:
    assert goes_direct(host, 8080, entries) is expected


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
async def test_a_server_on_this_machine_is_asked_without_a_proxy(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with LoopbackServer([answer(200, "direct")]) as server:
        async with client_of() as client:
            assert await whole(client, f"http://{host}:{server.port}/") == (200, b"direct")


async def test_a_proxy_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with LoopbackServer([answer(407, "who are you")]) as proxy:
        monkeypatch.setenv("https_proxy", proxy.url)
        async with client_of() as client:
            error = await failure(client, "https://api.example.com/v1")
    assert type(error) is NetworkError and error.message.startswith(
        "the proxy refused the connection to api.example"
    )


async def test_closing_twice_is_no_error_and_a_closed_client_opens_again() -> None:
    with LoopbackServer(default=answer(200)) as server:
        client = HttpClient()
        await client.aclose()
        assert (await whole(client, server.url))[0] == 200
        await client.aclose()
        await client.aclose()
        assert (await whole(client, server.url))[0] == 200
        await client.aclose()


async def test_an_error_of_the_reader_passes_unchanged_and_ends_the_request() -> None:
    with LoopbackServer([Exchange(steps=(Send(b"x"), Hang()))]) as server:
        async with client_of() as client:
            with pytest.raises(KeyError):
                async with client.stream("POST", server.url, headers={}) as response:
                    async for chunk in response.chunks():
                        raise KeyError(chunk)
            closed = partial(server.wait_for, lambda server: server.open_connections == 0)
            assert await anyio.to_thread.run_sync(closed)


# TLS: a certificate of our own, made for the test.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make a certificate with")
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", str(path), "-out", str(path.with_suffix(".crt"))],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_text(path.read_text() + path.with_suffix(".crt").read_text())
    return path


@contextmanager
def tls_server(certificate: Path) -> Iterator[str]:
    """Answers every request with the number of its connection, in TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for number in itertools.count(1):
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            try:
                with context.wrap_socket(plain, server_side=True) as secure:
                    while secure.recv(65536):
                        secure.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n%d" % number)
            except OSError:
                plain.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"https://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(HANG_S)


async def test_a_certificate_that_nobody_vouches_for_is_refused(certificate: Path) -> None:
    with tls_server(certificate) as url:
        async with client_of() as client:
            error = await failure(client, url)
    assert type(error) is NetworkError and not error.retryable
    assert "is not trusted" in error.message and "SSL_CERT_FILE" in str(error.hint)


async def test_a_certificate_from_the_environment_is_trusted_and_its_connection_kept(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_suffix(".crt")))
    with tls_server(certificate) as url:
        async with client_of() as client:
            assert [await whole(client, url) for _ in range(3)] == [(200, b"1")] * 3


async def test_a_tls_port_asked_in_plain_http_is_named(certificate: Path) -> None:
    with tls_server(certificate) as url:
        async with client_of(read_s=HANG_S) as client:
            error = await failure(client, url.replace("https", "http"))
    assert isinstance(error, NetworkError | BadResponse)


@pytest.mark.parametrize("hashed", [True, False])
async def test_every_way_to_a_context_verifies(
    hashed: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    if not hashed:
        monkeypatch.setattr(tls, "_hashed_directory", lambda: None)
    context = tls.default_context()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)


def test_importing_the_package_loads_no_http_library_and_no_event_loop() -> None:
    modules = ", ".join(
        f"caliban_provider.{name}"
        for name in (
            "http", "sse", "ndjson", "classify", "retry", "watchdog", "assemble", "registry",
            "testing.scripted", "testing.loopback", "testing.conformance",
        )
    )  # fmt: skip
    loaded = subprocess.run(
        [sys.executable, "-c", f"import sys, {modules}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not {"httpx", "httpcore", "asyncio", "trio", "pydantic", "pytest", "hypothesis", "certifi"} & set(
        loaded
    )


async def test_a_kept_connection_that_closes_without_a_word_is_replaced_once() -> None:
    gone = Exchange(steps=(Close(),), raw=True)
    with LoopbackServer([answer(200, b"one"), gone, answer(200, b"two")]) as server:
        async with client_of() as client:
            for expected in (b"one", b"two"):
                async with client.stream("POST", f"{server.url}/", headers={}, body=b"{}") as response:
                    assert await response.read(100) == expected
        assert len(server.requests) == 3


async def test_a_new_connection_that_closes_without_a_word_is_an_error() -> None:
    gone = Exchange(steps=(Close(),), raw=True)
    with LoopbackServer([answer(200, b"one"), gone, gone, answer(200, b"never")]) as server:
        async with client_of() as client:
            async with client.stream("POST", f"{server.url}/", headers={}, body=b"{}") as response:
                await response.read(100)
            with pytest.raises(NetworkError):
                async with client.stream("POST", f"{server.url}/", headers={}, body=b"{}"):
                    pass
        assert len(server.requests) == 3
