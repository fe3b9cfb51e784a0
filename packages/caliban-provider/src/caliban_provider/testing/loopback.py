"""An HTTP/1.1 server on 127.0.0.1 that answers from a script, flush by flush.

    with LoopbackServer([sse("data: hello\\n\\n"), answer(429, b"slow down", retry_after="1")]) as server:
        ...  # speak to server.url
    assert server.requests[0].json == {...}

It lives in threads of the test's process, so that a program under test may be a child process.
"""

from __future__ import annotations

import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from types import TracebackType

from caliban_provider.testing.exchange import (
    Close,
    Exchange,
    Hang,
    Pause,
    Request,
    Reset,
    Script,
    Send,
    Step,
    Validator,
    answer,
    sse,
)

__all__ = [
    "Close",
    "Exchange",
    "Hang",
    "LoopbackServer",
    "Pause",
    "Request",
    "Reset",
    "Script",
    "Send",
    "Step",
    "Validator",
    "answer",
    "sse",
]

_POLL_S = 0.02
_MAX_HEAD_BYTES = 1024 * 1024


class LoopbackServer:
    """Serves until its `with` block ends, any number of clients at once.

    A sequence of exchanges is given out in order of arrival; a callable is asked per request, in the
    connection's thread. When the script has run out, `default` is the answer, else a 500 that says so.
    `validator` may refuse a request with a status and a body: that does not use up the script.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        validator: Validator | None = None,
        default: Exchange | None = None,
    ) -> None:
        self._ask = script if callable(script) else None
        self._script = [] if callable(script) else list(script)
        self._validator = validator
        self._default = default or answer(500, "the script of the loopback server has no more answers")
        self._changed = threading.Condition()
        self._requests: list[Request] = []
        self._refused: list[Request] = []
        self._open: dict[int, socket.socket] = {}
        self._connections = 0
        self._stopping = threading.Event()
        self._listener: socket.socket | None = None
        self._threads: list[threading.Thread] = []

    @property
    def port(self) -> int:
        """The port; there is one inside the `with` block only."""
        assert self._listener is not None, "the server is not running"
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def requests(self) -> tuple[Request, ...]:
        """Every request so far, in order of arrival, the refused ones included."""
        with self._changed:
            return tuple(self._requests)

    @property
    def refused(self) -> tuple[Request, ...]:
        """The requests that the validator refused."""
        with self._changed:
            return tuple(self._refused)

    @property
    def connections(self) -> int:
        """How many connections were accepted."""
        with self._changed:
            return self._connections

    @property
    def open_connections(self) -> int:
        """How many connections are open now."""
        with self._changed:
            return len(self._open)

    def wait_for(self, condition: Callable[[LoopbackServer], bool], *, max_s: float = 300.0) -> bool:
        """Block until `condition` holds, looking whenever a request or a connection comes or goes."""
        with self._changed:
            return self._changed.wait_for(lambda: condition(self), timeout=max_s)

    def extend(self, *exchanges: Exchange) -> None:
        """Append to a script that is a sequence."""
        with self._changed:
            self._script.extend(exchanges)

    def __enter__(self) -> LoopbackServer:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._listener.settimeout(_POLL_S)
        self._start(self._accept, self._listener)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        if self._listener is not None:
            _shut(self._listener)  # wakes the accepting thread where the system allows it
            self._listener.close()
        with self._changed:
            connections = list(self._open.values())
        for connection in connections:
            _shut(connection)
        for thread in self._threads:
            thread.join(timeout=5)

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._changed:
                self._connections += 1
                number = self._connections
                self._open[number] = connection
                self._changed.notify_all()
            self._start(self._serve, number, connection)

    def _serve(self, number: int, connection: socket.socket) -> None:
        reader = _Reader(connection, number)
        try:
            while not self._stopping.is_set() and (request := reader.request()) is not None:
                if not self._answer(request, connection):
                    break
        except (OSError, ValueError):
            pass  # the client went away, or did not speak HTTP
        finally:
            reader.close()
            connection.close()
            with self._changed:
                self._open.pop(number, None)
                self._changed.notify_all()

    def _answer(self, request: Request, connection: socket.socket) -> bool:
        """Answer one request; whether the connection can take another."""
        refusal = self._validator(request) if self._validator else None
        with self._changed:
            self._requests.append(request)
            if refusal is not None:
                self._refused.append(request)
            self._changed.notify_all()
        if refusal is not None:
            exchange = answer(refusal[0], refusal[1], content_type="application/json")
        else:
            exchange = self._next(request)
        return _Writer(connection, exchange, self._stopping).run()

    def _next(self, request: Request) -> Exchange:
        if self._ask is not None:
            return self._ask(request)
        with self._changed:
            return self._script.pop(0) if self._script else self._default


class _Reader:
    """Requests out of a connection."""

    def __init__(self, connection: socket.socket, number: int) -> None:
        self._file = connection.makefile("rb")
        self._number = number

    def request(self) -> Request | None:
        """The next request; `None` at the end of the connection."""
        line = self._line()
        if not line:
            return None
        method, path, _ = line.decode("latin-1").split(" ", 2)
        headers: dict[str, str] = {}
        while line := self._line().rstrip(b"\r\n"):
            name, _, value = line.decode("latin-1").partition(":")
            headers[name.strip().lower()] = value.strip()
        return Request(
            method=method, path=path, headers=headers, body=self._body(headers), connection=self._number
        )

    def close(self) -> None:
        """Let go of the socket: it is closed for the client only when the last holder has closed it."""
        self._file.close()

    def _line(self) -> bytes:
        return self._file.readline(_MAX_HEAD_BYTES)

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding", "").lower() != "chunked":
            return self._file.read(int(headers.get("content-length", "0")))
        pieces: list[bytes] = []
        while size_bytes := int(self._line().split(b";")[0], 16):
            pieces.append(self._file.read(size_bytes))
            self._line()
        while self._line().strip():
            pass
        return b"".join(pieces)


class _Writer:
    """One exchange into a connection."""

    def __init__(self, connection: socket.socket, exchange: Exchange, stopping: threading.Event) -> None:
        self._connection = connection
        self._exchange = exchange
        self._stopping = stopping

    def run(self) -> bool:
        """Send it all; whether the connection can be used again."""
        exchange = self._exchange
        if not exchange.raw:
            self._connection.sendall(self._head())
        for step in exchange.steps:
            if not self._take(step):
                return False
        if exchange.raw or not exchange.chunked:
            return False
        self._connection.sendall(b"0\r\n\r\n")
        return True

    def _head(self) -> bytes:
        exchange = self._exchange
        try:
            phrase = HTTPStatus(exchange.status).phrase
        except ValueError:
            phrase = "Unknown"
        framing = ("transfer-encoding", "chunked") if exchange.chunked else ("connection", "close")
        lines = [f"{name}: {value}" for name, value in (*exchange.headers.items(), framing)]
        return "\r\n".join((f"HTTP/1.1 {exchange.status} {phrase}", *lines, "", "")).encode("latin-1")

    def _take(self, step: Step) -> bool:
        """Do one step; whether the answer goes on."""
        match step:
            case Send(data):
                pieces = [data[at : at + 1] for at in range(len(data))] if self._exchange.bytewise else [data]
                for piece in pieces:
                    self._send(piece)
                return True
            case Pause(until, max_s):
                return self._pause(until, max_s)
            case Reset():
                linger = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
                self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return False
            case Close():
                return False
            case Hang():
                self._pause(threading.Event(), float("inf"))
                return False

    def _send(self, piece: bytes) -> None:
        if not piece:
            return
        if self._exchange.raw or not self._exchange.chunked:
            self._connection.sendall(piece)
        else:
            self._connection.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))

    def _pause(self, until: threading.Event | float, max_s: float) -> bool:
        """Wait; false when the client or the server goes away first."""
        event = until if isinstance(until, threading.Event) else threading.Event()
        end = time.monotonic() + (until if isinstance(until, float | int) else max_s)
        while not self._stopping.is_set():
            left_s = end - time.monotonic()
            if left_s <= 0 or event.wait(min(_POLL_S, left_s)):
                return True
            if _gone(self._connection):
                return False
        return False


def _gone(connection: socket.socket) -> bool:
    """Whether the client has closed its side."""
    try:
        ready, _, _ = select.select([connection], [], [], 0)
        return bool(ready) and connection.recv(1, socket.MSG_PEEK) == b""
    except (OSError, ValueError):
        return True


def _shut(connection: socket.socket) -> None:
    try:
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
