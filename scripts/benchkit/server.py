"""The mock server: a process of its own, a thread per connection, every reply made before it is asked for.

A client's base URL is `http://127.0.0.1:PORT/SCENARIO/RUN`. What happened in a run is read back, as JSON,
from `/log/RUN`: per request the moment its first byte came, the moment its answer was sent, its size. Moments
are those of the system's monotonic clock in nanoseconds, which other processes can compare with their own.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

from benchkit import wire

PIECE_BYTES = 65_536
THOUGHT_S = 0.2
"""How long a model thinks in the scenarios that end with `-later`."""

PACES: Mapping[str, tuple[int, int]] = {
    "fast": (10_000, 2_000),
    "slow": (1_000, 100),
    "lines": (4_000, 2_000),
}
"""Scenarios whose reply is sent at a pace: how many deltas, and how many of them in a second."""

PACE_S = 0.01

Reply = Callable[[int], bytes]
"""From the number of the request within its run, from 0, to the body of the answer."""


def replies(small_file: str) -> dict[str, Reply]:
    """What each scenario answers; `small_file` is what the tool Read is asked for."""
    short, long = ("Hello", " there."), wire.long_text()
    answer = wire.text(*short)
    nap = wire.calls(*[("Bash", {"command": "sleep 0.5"})] * wire.PARALLEL_CALLS, turn=0)

    def always(body: bytes) -> Reply:
        return lambda number: body

    def loop(turns: int, argument: str, tool: str = "Read") -> Reply:
        read = [wire.calls((tool, {argument: small_file}), turn=turn) for turn in range(turns - 1)]
        return lambda number: read[number] if number < turns - 1 else answer

    def search(tool: str, arguments: dict[str, object]) -> Reply:
        return lambda number: answer if number else wire.calls((tool, arguments), turn=0)

    return {
        "oneshot": always(answer),
        "stream": always(wire.text(*long)),
        "loop20": loop(20, "path"),
        "loop400": loop(400, "path"),
        "loop2000": loop(2000, "path"),
        "grep": search("Grep", {"pattern": "needle_of_the_tree"}),
        "glob": search("Glob", {"pattern": "**/file99.py"}),
        "parallel": lambda number: answer if number else nap,
        "claude-loop20": loop(20, "file_path"),
        "responses-oneshot": always(wire.responses_text(*short)),
        "responses-stream": always(wire.responses_text(*long)),
        "loop300": loop(300, "path"),
        "claude-loop300": loop(300, "file_path"),
        "pi-loop300": loop(300, "path", "read"),
        **{name: always(wire.text(*wire.prose(deltas))) for name, (deltas, _) in PACES.items()},
        **{
            f"responses-{name}": always(wire.responses_text(*wire.prose(deltas)))
            for name, (deltas, _) in PACES.items()
        },
    }


class Server:
    """Answers until the process ends."""

    def __init__(self, small_file: str) -> None:
        self.replies = replies(small_file)
        self.log: dict[str, list[dict[str, int]]] = defaultdict(list)
        self.door = socket.create_server(("127.0.0.1", 0), backlog=128)

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        return int(self.door.getsockname()[1])

    def serve(self) -> None:
        """Accept connections for ever."""
        while True:
            peer, _ = self.door.accept()
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._converse, args=(peer,), daemon=True).start()

    def _converse(self, peer: socket.socket) -> None:
        with peer:
            try:
                for first_ns, path, size in requests(peer):
                    self._answer(peer, first_ns, path, size)
            except OSError:
                return

    def _answer(self, peer: socket.socket, first_ns: int, path: str, size: int) -> None:
        scenario, run, rest = [*path.strip("/").split("/", 2), "", ""][:3]
        if scenario == "log":
            peer.sendall(head(body := json.dumps(self.log.pop(run, [])).encode(), "application/json") + body)
        elif scenario.removesuffix("-later") not in self.replies or not rest.endswith(
            ("v1/messages", "responses")
        ):
            peer.sendall(head(b"{}", "application/json", status="404 Not Found") + b"{}")
        else:
            entries = self.log[run]
            body = self.replies[scenario.removesuffix("-later")](len(entries))
            if scenario.endswith("-later"):
                time.sleep(THOUGHT_S)
            entry = {"first_byte_ns": first_ns, "request_bytes": size, "begun_ns": 0, "sent_ns": 0}
            entries.append(entry)
            entry["begun_ns"] = time.monotonic_ns()
            pace = PACES.get(scenario.removeprefix("responses-"))
            if pace is None:
                view = memoryview(head(body, "text/event-stream") + body)
                for start in range(0, len(view), PIECE_BYTES):
                    peer.sendall(view[start : start + PIECE_BYTES])
            else:
                peer.sendall(head(body, "text/event-stream"))
                send_at_pace(peer, body, pace[1])
            entry["sent_ns"] = time.monotonic_ns()


def send_at_pace(peer: socket.socket, body: bytes, a_second: int) -> None:
    """Send the events of `body`, so many a second: a few of them every hundredth."""
    events = body.split(b"\n\n")
    few = max(round(a_second * PACE_S), 1)
    begun_s = time.monotonic()
    for number, start in enumerate(range(0, len(events), few), 1):
        peer.sendall(
            b"\n\n".join([*events[start : start + few], b""] if start + few < len(events) else events[start:])
        )
        time.sleep(max(begun_s + number * few / a_second - time.monotonic(), 0))


def head(body: bytes, kind: str, *, status: str = "200 OK") -> bytes:
    """The head of an answer."""
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n".encode()


def requests(peer: socket.socket) -> Iterator[tuple[int, str, int]]:
    """The requests of one connection: when the first byte came, the path, and the size of the body."""
    held = b""
    while True:
        first_ns = time.monotonic_ns() if held else 0
        while b"\r\n\r\n" not in held:
            piece = peer.recv(PIECE_BYTES)
            if not piece:
                return
            first_ns = first_ns or time.monotonic_ns()
            held += piece
        lines, _, held = held.partition(b"\r\n\r\n")
        request_line, *fields = lines.decode("latin-1").split("\r\n")
        values = {
            name.lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)
        }
        size = int(values.get("content-length", 0))
        missing = size - len(held)
        while missing > 0:
            piece = peer.recv(min(missing + PIECE_BYTES, 1 << 20))
            if not piece:
                return
            held += piece
            missing -= len(piece)
        held = held[size:]
        yield first_ns, request_line.split(" ")[1].partition("?")[0], size


if __name__ == "__main__":
    server = Server(sys.argv[1])
    sys.stdout.write(f"{server.port}\n")
    sys.stdout.flush()
    server.serve()
