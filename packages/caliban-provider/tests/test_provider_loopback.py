from __future__ import annotations

import http.client
import socket
import threading

import pytest
from hang_guard import HANG_S

from caliban_provider.testing.loopback import (
    Close,
    Exchange,
    Hang,
    LoopbackServer,
    Pause,
    Request,
    Reset,
    Send,
    answer,
    sse,
)


def connect(server: LoopbackServer) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", server.port, timeout=HANG_S)


def ask(server: LoopbackServer, body: bytes = b"", path: str = "/") -> tuple[int, bytes]:
    connection = connect(server)
    try:
        connection.request("POST", path, body)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_a_script_is_given_out_in_order_and_then_an_error_that_says_so() -> None:
    with LoopbackServer([answer(201, "one"), sse("data: a\n\n", b"data: b\n\n")]) as server:
        assert ask(server) == (201, b"one")
        assert ask(server) == (200, b"data: a\n\ndata: b\n\n")
        assert ask(server) == (500, b"the script of the loopback server has no more answers")
        server.extend(answer(204))
        assert ask(server) == (204, b"")


def test_requests_are_recorded_whole_and_in_order() -> None:
    with LoopbackServer(default=answer(200)) as server:
        ask(server, b'{"a": "\xc3\xa9"}', "/v1/x?y=1")
        connection = connect(server)
        connection.request("POST", "/chunked", iter([b"ab", b"c"]), {"X-Thing": "1"}, encode_chunked=True)
        connection.getresponse().read()
        connection.request("GET", "/again")
        connection.getresponse().read()
        connection.close()
        first, second, third = server.requests
    assert (first.method, first.path, first.json, first.connection) == ("POST", "/v1/x?y=1", {"a": "é"}, 1)
    assert (second.path, second.body, second.headers["x-thing"]) == ("/chunked", b"abc", "1")
    assert (third.method, third.connection, second.connection) == ("GET", 2, 2)
    assert server.connections == 2


def test_a_callable_answers_each_request() -> None:
    def script(request: Request) -> Exchange:
        return answer(200, request.body[::-1])

    with LoopbackServer(script) as server:
        assert [ask(server, b"abc")[1], ask(server, b"xyz")[1]] == [b"cba", b"zyx"]


def test_a_validator_refuses_without_using_up_the_script() -> None:
    def validator(request: Request) -> tuple[int, bytes] | None:
        return None if request.body == b"good" else (400, b'{"error": "not good"}')

    with LoopbackServer([answer(200, "done")], validator=validator) as server:
        assert ask(server, b"bad") == (400, b'{"error": "not good"}')
        assert ask(server, b"good") == (200, b"done")
        assert [request.body for request in server.refused] == [b"bad"]


def received(server: LoopbackServer) -> list[bytes]:
    """What comes out of the socket, one entry per read, up to the end of the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        return list(iter(lambda: client.recv(65536), b""))


def test_each_send_is_one_chunk_and_raw_bytes_are_sent_as_they_are() -> None:
    head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    with LoopbackServer(
        [
            Exchange(steps=(Send(b"ab"), Send(b""), Send(b"c" * 16), Close())),
            Exchange(steps=(Send(b"ab"), Send(b"c")), chunked=False),
            Exchange(steps=(Send(b"SSH-2.0"),), raw=True),
            Exchange(steps=(Send(b"abc"), Close()), bytewise=True),
            Exchange(status=299, headers={"x-a": "b"}, steps=(Close(),)),
        ]
    ) as server:
        assert b"".join(received(server)) == head + b"2\r\nab\r\n10\r\n" + b"c" * 16 + b"\r\n"
        assert b"".join(received(server)) == b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc"
        assert b"".join(received(server)) == b"SSH-2.0"
        assert b"".join(received(server)) == head + b"1\r\na\r\n1\r\nb\r\n1\r\nc\r\n"
        assert (
            b"".join(received(server))
            == b"HTTP/1.1 299 Unknown\r\nx-a: b\r\ntransfer-encoding: chunked\r\n\r\n"
        )


def test_a_reset_is_a_reset() -> None:
    with (
        LoopbackServer([Exchange(steps=(Send(b"x"), Reset()))]) as server,
        pytest.raises(ConnectionResetError),
    ):
        received(server)


def test_a_pause_waits_for_its_event() -> None:
    go_on = threading.Event()
    with LoopbackServer(
        [sse("a", chunked=False), Exchange(steps=(Send(b"a"), Pause(go_on), Send(b"b")))]
    ) as server:
        ask(server)
        connection = connect(server)
        connection.request("GET", "/")
        response = connection.getresponse()
        assert response.read(1) == b"a"
        go_on.set()
        assert response.read() == b"b"
        connection.close()


def test_a_client_that_goes_away_ends_a_pause_and_a_hang() -> None:
    steps = (Send(b"a"), Hang())
    with LoopbackServer([Exchange(steps=steps), Exchange(steps=(Pause(threading.Event()),))]) as server:
        for _ in range(2):
            connection = connect(server)
            connection.request("GET", "/")
            assert server.wait_for(lambda server: server.open_connections == 1)
            connection.getresponse().close()
            connection.close()
            assert server.wait_for(lambda server: server.open_connections == 0)


def test_leaving_ends_everything_that_still_hangs() -> None:
    with LoopbackServer([Exchange(steps=(Hang(),))] * 3) as server:
        connections = [connect(server) for _ in range(3)]
        for connection in connections:
            connection.request("GET", "/")
        assert server.wait_for(lambda server: len(server.requests) == 3)
        port = server.port
    for connection in connections:
        connection.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=HANG_S)


def test_many_clients_are_served_at_the_same_time() -> None:
    barrier = threading.Barrier(8)

    def script(request: Request) -> Exchange:
        barrier.wait(HANG_S)
        return answer(200, request.body)

    answers: list[bytes] = []
    with LoopbackServer(script) as server:
        threads = [
            threading.Thread(target=lambda n=n: answers.append(ask(server, b"%d" % n)[1])) for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(HANG_S)
    assert sorted(answers) == [b"%d" % n for n in range(8)]


def test_bytes_that_are_no_http_close_the_connection_only() -> None:
    with LoopbackServer(default=answer(200, "fine")) as server:
        for garbage in (
            b"\r\n",
            b"hello\r\n\r\n",
            b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
            b"\x16\x03\x01",
        ):
            with socket.create_connection(("127.0.0.1", server.port), timeout=HANG_S) as client:
                client.sendall(garbage)
                client.shutdown(socket.SHUT_WR)
                while client.recv(65536):
                    pass
        assert ask(server) == (200, b"fine")
