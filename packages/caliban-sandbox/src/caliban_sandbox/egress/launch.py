"""Inside of the sandbox: starts the bridge to the proxy, shuts Unix sockets, and becomes the real program.

    python -I -S launch.py --listen PORT --socket PATH --filter FILE -- PROGRAM ARGUMENTS...

Without `--filter` nothing is shut. This file is run by its path, with the standard library and nothing else,
before anything of the sandbox's own has run. The bridge listens on 127.0.0.1:PORT, passes each connection on
to the Unix socket, and ends with the program. It is no child of the program, which might wait for it, and it
may not be traced: it is the one process in the sandbox that can make Unix sockets.

Exit status: that of the program; 2 for arguments that are none, 71 for what the system refuses, 126 and 127
for a program that cannot be run or found.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import signal
import socket
import sys

MAX_PAIRS = 200
BLOCK = 64 * 1024
MAX_INSTRUCTIONS = 4096

PR_SET_DUMPABLE = 4
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2


class FilterProgram(ctypes.Structure):
    """`struct sock_fprog` of <linux/filter.h>."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


class Half:
    """One direction between two sockets: what was read from `source` and not yet written to `target`."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source = source
        self.target = target
        self.pending = b""
        self.is_over = False
        self.is_shut = False
        self.is_gone = False

    def read(self, is_hung_up: bool) -> None:
        """What there is to read; the end of it is handed on once all before it is written."""
        try:
            self.pending = self.source.recv(BLOCK)
        except BlockingIOError:
            return
        self.is_over = not self.pending
        self.is_gone = self.is_over and is_hung_up
        self.write()

    def write(self) -> None:
        """As much as the other side takes."""
        if self.pending:
            try:
                self.pending = self.pending[self.target.send(self.pending) :]
            except BlockingIOError:
                return
        if self.is_over and not self.pending and not self.is_shut:
            self.is_shut = True
            self.target.shutdown(socket.SHUT_WR)


class Bridge:
    """Connections to a port of the sandbox, each passed on to the Unix socket."""

    def __init__(self, listener: socket.socket, path: str, lifeline: int) -> None:
        self.listener = listener
        self.path = path
        self.lifeline = lifeline
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self.max_pairs = MAX_PAIRS if files < 0 else max(1, min(MAX_PAIRS, (files - 16) // 2))
        self.poll = select.poll()
        self.halves: dict[int, tuple[Half, Half]] = {}
        """By file descriptor: the direction that reads from it, and the one that writes to it."""
        self.masks: dict[int, int] = {}

    def run(self) -> None:
        """Until the program at the other end of the lifeline is gone."""
        self.listener.setblocking(False)
        self.poll.register(self.lifeline, select.POLLIN)
        while True:
            self.want(self.listener.fileno(), select.POLLIN if len(self.halves) < 2 * self.max_pairs else 0)
            for number, events in self.poll.poll():
                if number == self.lifeline:
                    return
                if number == self.listener.fileno():
                    self.accept()
                elif number in self.halves:
                    self.step(number, events)

    def want(self, number: int, mask: int) -> None:
        """Listen for `mask` on a descriptor; for nothing at all, as hang-ups would come again and again."""
        if self.masks.get(number, 0) == mask:
            return
        if mask:
            self.poll.register(number, mask)
            self.masks[number] = mask
        else:
            self.poll.unregister(number)
            del self.masks[number]

    def accept(self) -> None:
        """One client, with a connection of its own to the proxy; a proxy that is gone ends the client."""
        try:
            client = self.listener.accept()[0]
        except OSError:
            return
        server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            client.setblocking(False)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.setblocking(False)
            server.connect(self.path)
        except OSError:
            client.close()
            server.close()
            return
        up, down = Half(client, server), Half(server, client)
        self.halves[client.fileno()] = (up, down)
        self.halves[server.fileno()] = (down, up)
        self.update(up, down)

    def step(self, number: int, events: int) -> None:
        """What can be done on one descriptor."""
        reading, writing = self.halves[number]
        try:
            if events & select.POLLOUT:
                writing.write()
            if events & (select.POLLIN | select.POLLHUP | select.POLLERR) and not reading.pending:
                if reading.is_over:
                    raise ConnectionResetError
                reading.read(bool(events & select.POLLHUP))
            is_finished = any(
                one.is_shut and (other.is_shut or one.is_gone)
                for one, other in ((reading, writing), (writing, reading))
            )
        except OSError:
            is_finished = True
        if is_finished:
            self.close(reading)
        else:
            self.update(reading, writing)

    def update(self, one: Half, other: Half) -> None:
        """Read where nothing is pending, write where something is."""
        for reading, writing in ((one, other), (other, one)):
            mask = 0 if reading.pending or reading.is_over else select.POLLIN
            self.want(reading.source.fileno(), mask | (select.POLLOUT if writing.pending else 0))

    def close(self, half: Half) -> None:
        """End both connections."""
        for end in (half.source, half.target):
            self.want(end.fileno(), 0)
            del self.halves[end.fileno()]
            end.close()


def control(option: int, *values: object) -> None:
    """`prctl(2)`; raises `OSError`."""
    library = ctypes.CDLL(None, use_errno=True)
    arguments = [value if isinstance(value, ctypes.Structure) else ctypes.c_ulong(value) for value in values]  # type: ignore[arg-type]
    arguments = [ctypes.byref(value) if isinstance(value, ctypes.Structure) else value for value in arguments]  # type: ignore[misc]
    arguments += [ctypes.c_ulong(0)] * (4 - len(arguments))
    if library.prctl(ctypes.c_int(option), *arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def install(program: bytes) -> None:
    """Put a filter of classic BPF (8 bytes an instruction) over this process and all that it becomes."""
    control(PR_SET_NO_NEW_PRIVS, 1)
    buffer = ctypes.create_string_buffer(program, len(program))
    control(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, FilterProgram(len(program) // 8, ctypes.addressof(buffer)))


def open_files() -> list[int]:
    """The descriptors that this process has inherited, but for the first three."""
    numbers = []
    for number in map(int, os.listdir("/proc/self/fd")):  # noqa: PTH208 - the same
        try:
            os.fstat(number)  # the one of the listing itself is gone
        except OSError:
            continue
        numbers.append(number)
    return [number for number in numbers if number > 2]


def start_bridge(port: int, path: str) -> None:
    """Fork the bridge, which belongs to nobody and has no output; it can be connected to at once."""
    inherited = open_files()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    lifeline = os.pidfd_open(os.getpid())
    # No process of the program's may look into the bridge; executing it takes this off the program again.
    control(PR_SET_DUMPABLE, 0)
    child = os.fork()
    if child == 0:
        os.setsid()
        if os.fork() == 0:
            nothing = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(nothing, number)
            for number in inherited:
                os.close(number)
            try:
                Bridge(listener, path, lifeline).run()
            finally:
                os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
    listener.close()
    os.close(lifeline)


def parsed(argv: list[str]) -> tuple[dict[str, str], list[str]] | None:
    """The options and the program with its arguments; `None` for what is neither."""
    if "--" not in argv:
        return None
    end = argv.index("--")
    names, values = argv[:end:2], argv[1:end:2]
    options = dict(zip(names, values, strict=False))
    is_whole = len(names) == len(values) == len(options) and {"--listen", "--socket"} <= options.keys()
    if not is_whole or options.keys() - {"--listen", "--socket", "--filter"} or not argv[end + 1 :]:
        return None
    port = options["--listen"]
    if not (port.isascii() and port.isdecimal() and len(port) < 6 and 0 < int(port) < 1 << 16):
        return None
    return options, argv[end + 1 :]


def failed(status: int, line: str) -> int:
    """Say what went wrong, and with which status to end."""
    sys.stderr.write(f"caliban-sandbox: {line}\n")
    return status


def main(argv: list[str]) -> int:
    """Become the program; returns only where that fails."""
    arguments = parsed(argv)
    if arguments is None:
        return failed(2, "these are no arguments of the bridge: nothing is run")
    options, program = arguments
    try:
        instructions = b""
        if "--filter" in options:
            with open(options["--filter"], "rb") as file:  # noqa: PTH123 - pathlib takes milliseconds
                instructions = file.read(8 * MAX_INSTRUCTIONS + 1)
            if not instructions or len(instructions) % 8 or len(instructions) > 8 * MAX_INSTRUCTIONS:
                return failed(71, "the filter of system calls is not one: nothing is run")
        start_bridge(int(options["--listen"]), options["--socket"])
        if instructions:
            install(instructions)
    except (OSError, AttributeError) as error:
        return failed(71, f"the way to the proxy cannot be prepared: {error}")
    # The interpreter ignores these, and what it executes would inherit that.
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(program[0], program)
    except FileNotFoundError as error:
        return failed(127, f"{program[0]}: {error.strerror}")
    except (OSError, ValueError) as error:
        return failed(126, f"{program[0]}: {error}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
