"""A process that has loaded what the command loads, and is the command whenever it is asked: by a fork.

A program of its own, which `starts_kit` starts and speaks with over the socket that is its argument. It has
no thread, no loop and no client, and reads nothing of its environment that a run would read: `become` gives
the fork arguments, environment, folder and streams of a true start, and enters where that enters.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import select
import socket
import sys
import termios
import time
from typing import Any, NoReturn

if __name__ == "__main__":
    del sys.path[0]  # as `caliban.__main__` does with the folder that it was started from

import caliban.__main__ as program
from caliban.import_cache import import_cache
from caliban.stdio import hold_standard_descriptors
from caliban_common.lazy import lazy_pattern

MAX_FDS = 4
"""Standard input, output and error, and where to say how it ended."""

THEIRS = (
    *("asyncio", "anyio._backends._asyncio", "anyio.streams.tls", "anyio.to_thread"),
    *("csv", "ctypes", "email.message", "shutil", "ssl", "tempfile", "unicodedata", "zipfile"),
)
"""What others wrote and most runs load. Never what reads the environment as it loads: `keyring` does."""

LAZY = type(lazy_pattern(""))
METHODS = ("match", "search", "fullmatch", "sub", "finditer", "findall", "split")


def load() -> None:
    """Import all of ours, and what most runs import of others, from where a true start has it.

    Patterns that wait for their first use are compiled: half of what a run would do.
    """
    cache = import_cache()
    if cache is not None:
        cache.install()
    for name in THEIRS:
        importlib.import_module(name)
    for package in pkgutil.iter_modules():
        if package.name == "caliban" or package.name.startswith("caliban_"):
            load_all(package.name)
    for module in [module for name, module in sys.modules.items() if name.startswith("caliban")]:
        for value in vars(module).values():
            if isinstance(value, LAZY):
                for method in METHODS:
                    getattr(value, method)


def load_all(name: str) -> None:
    """Import a module and all below it but `testing`, which no run loads."""
    module = importlib.import_module(name)
    for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
        if inner.name not in ("testing", "__main__"):
            load_all(f"{name}.{inner.name}")


def become(request: dict[str, Any]) -> NoReturn:
    """Be the command that was asked for, to its end."""
    try:
        if request["is_leader"]:
            os.setsid()
            if os.isatty(0):
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        sys.stdin, sys.stdout, sys.stderr = (opened(number) for number in range(3))
        os.chdir(request["cwd"])
        coerced = {"LC_CTYPE": os.environ["LC_CTYPE"]} if "LC_CTYPE" in os.environ else {}
        os.environ.clear()
        os.environ.update(
            {**coerced, **request["env"]}
        )  # PEP 538: the interpreter's own doing, which it passes on
        time.tzset()
        words = request["words"]
        sys.argv = [program.__file__, *words]
        sys.orig_argv = [sys.executable, "-m", "caliban", *words]
        hold_standard_descriptors()
        from caliban.entry import enter

        enter()
    except BaseException:
        sys.excepthook(*sys.exc_info())
    os._exit(1)


def opened(descriptor: int) -> io.TextIOWrapper:
    """A standard stream as the interpreter opens it."""
    mine = (sys.__stdin__, sys.__stdout__, sys.__stderr__)[descriptor]
    buffering = 1 if descriptor == 2 or os.isatty(descriptor) else -1
    mode = "w" if descriptor else "r"
    return open(descriptor, mode, buffering, mine.encoding, mine.errors, closefd=False)


def read_request(control: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """The next request with its descriptors; `None` at the end."""
    head, fds, _, _ = socket.recv_fds(control, 8, MAX_FDS)
    if not head:
        return None
    while len(head) < 8:
        head += control.recv(8 - len(head))
    left, parts = int.from_bytes(head, "big"), []
    while left:
        parts.append(control.recv(left))
        left -= len(parts[-1])
    return json.loads(b"".join(parts)), fds


def begin(request: dict[str, Any], fds: list[int], others: list[int]) -> int:
    """Fork one run; its process id."""
    pid = os.fork()
    if pid:
        return pid
    try:
        for number in range(3):
            os.dup2(fds[number], number)
        for number in (*fds, *others):
            os.close(number)
        become(request)
    finally:
        os._exit(1)


def serve(control: socket.socket) -> None:
    """Start what is asked for, and say how each ended, until nobody asks any more."""
    poll = select.poll()
    poll.register(control, select.POLLIN)
    running: dict[int, tuple[int, int]] = {}
    while True:
        for ready, _ in poll.poll():
            if ready != control.fileno():
                pid, report = running.pop(ready)
                poll.unregister(ready)
                os.close(ready)
                _, status, used = os.wait4(pid, 0)
                tell(report, f"{status} {used.ru_utime + used.ru_stime}\n")
                os.close(report)
                continue
            asked = read_request(control)
            if asked is None:
                return
            request, fds = asked
            others = [control.fileno(), *running, *(fd for _, fd in running.values())]
            pid = begin(request, fds, others)
            for number in fds[:3]:
                os.close(number)
            tell(fds[3], f"{pid}\n")
            watch = os.pidfd_open(pid)
            running[watch] = (pid, fds[3])
            poll.register(watch, select.POLLIN)


def tell(descriptor: int, line: str) -> None:
    try:
        os.write(descriptor, line.encode())
    except BrokenPipeError:
        pass


def main() -> None:
    """Load, then serve; the end leaves those that were begun still running."""
    control = socket.socket(fileno=int(sys.argv[1]))
    load()
    gc.collect()
    gc.freeze()  # what is there now stays: no collection in a fork copies its pages
    serve(control)


if __name__ == "__main__":
    main()
