"""Two ways to run the command: a true start, and a fork of a process that has loaded it already.

A true start pays for the imports each time. `CALIBAN_TEST_STARTS` chooses: `forked` (where nothing is said)
forks what `can_fork` allows, `true` forks nothing, and `share` forks in three of four tests, always the same
ones. ADR 0064 says why both show the same.
"""

from __future__ import annotations

import atexit
import json
import os
import selectors
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hang_guard import HANG_S

CHOICE = "CALIBAN_TEST_STARTS"
TRUE_START = (sys.executable, "-m", "caliban")
PROGRAM = Path(__file__).with_name("template.py")
MAX_WORD_BYTES = 100_000
"""A longer one may be more than the system lets a program be started with: only a true start shows that."""

READ_BY_THE_INTERPRETER = ("PYTHON", "LC_", "LANG", "LD_", "MALLOC_", "GLIBC_", "OPENSSL_", "WCWIDTH_")
HARMLESS = frozenset(["PYTHON_KEYRING_BACKEND"])
"""Looks like what the interpreter reads, and is read by a library that the template does not load."""


class Ended(NamedTuple):
    """How a process ended: its code as `subprocess` has it, and what it wrote."""

    code: int
    out: bytes
    err: bytes


def run_command(
    words: Sequence[str], environ: Mapping[str, str], folder: Path, stdin: bytes | None = None
) -> Ended:
    """Run `caliban` with these words to its end; without `stdin` nothing can be read there."""
    if can_fork(words, environ):
        return template().run(words, environ, folder, stdin)
    given = {"stdin": subprocess.DEVNULL} if stdin is None else {"input": stdin}
    done = subprocess.run(
        [*TRUE_START, *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        timeout=HANG_S,
        check=False,
        **given,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


class Template:
    """The process that is forked; `run` may be called from several threads."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._control, self._lock = ours, threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, str(PROGRAM), str(theirs.fileno())],
            cwd="/",
            env=base_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )
        theirs.close()

    def run(
        self, words: Sequence[str], environ: Mapping[str, str], folder: Path, stdin: bytes | None
    ) -> Ended:
        """Run the command to its end, as `subprocess` would."""
        given = os.pipe() if stdin is not None else (os.open(os.devnull, os.O_RDWR), -1)
        out, err, report = os.pipe(), os.pipe(), os.pipe()
        theirs = [given[0], out[1], err[1], report[1]]
        try:
            self.ask(words, environ, folder, theirs)
        finally:
            for number in theirs:
                os.close(number)
        read = exchange([out[0], err[0], report[0]], given[1], stdin or b"")
        fields = read[report[0]].split()
        assert len(fields) == 3, f"{PROGRAM.name} has ended: see standard error; {CHOICE}=true does without"
        status = int(fields[1])
        return Ended(os.waitstatus_to_exitcode(status), read[out[0]], read[err[0]])

    def ask(
        self,
        words: Sequence[str],
        environ: Mapping[str, str],
        folder: Path,
        fds: Sequence[int],
        *,
        is_leader: bool = False,
    ) -> None:
        """Have a fork begin with three streams, and where to say how it ends; a leader has the terminal."""
        asked = {"words": list(words), "env": dict(environ), "cwd": os.fspath(folder)}
        request = json.dumps({**asked, "is_leader": is_leader}).encode()
        with self._lock, suppress(BrokenPipeError):
            socket.send_fds(self._control, [len(request).to_bytes(8, "big")], fds)
            self._control.sendall(request)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def close(self) -> None:
        """End the template; what it began goes on."""
        self._control.close()
        self._process.wait(HANG_S)


def exchange(descriptors: Sequence[int], into: int, data: bytes) -> dict[int, bytes]:
    """What comes from each descriptor to its end, while `data` goes `into` another; all are closed then.

    `into` may be -1: nothing is written.
    """
    read: dict[int, list[bytes]] = {number: [] for number in descriptors}
    end_s = time.monotonic() + HANG_S
    with selectors.DefaultSelector() as selector:
        for number in descriptors:
            selector.register(number, selectors.EVENT_READ)
        if into >= 0:
            os.set_blocking(into, False)
            selector.register(into, selectors.EVENT_WRITE)
        while selector.get_map():
            ready = selector.select(end_s - time.monotonic())
            assert ready, "the command does not end"
            for key, _ in ready:
                if key.fd == into:
                    data = write_some(into, data)
                    is_done = not data
                else:
                    read[key.fd].append(chunk := os.read(key.fd, 1 << 16))
                    is_done = not chunk
                if is_done:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return {number: b"".join(chunks) for number, chunks in read.items()}


def write_some(into: int, data: bytes) -> bytes:
    """What is left of `data`; nothing where nobody reads."""
    try:
        return data[os.write(into, data[: 1 << 16]) :]
    except BlockingIOError:
        return data
    except BrokenPipeError:
        return b""


@cache
def template() -> Template:
    """The one of this process."""
    made = Template()
    atexit.register(made.close)
    return made


def base_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What every start of the command gets of the environment of the tests."""
    return {name: environ[name] for name in ("PATH", "LANG", "PYTHONPATH") if name in environ}


def can_fork(words: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Whether a fork does what a true start would: not where it shows in what an interpreter does first."""
    choice = os.environ.get(CHOICE) or "forked"
    assert choice in ("true", "share", "forked"), f"{CHOICE} must be true, share or forked, not {choice!r}"
    if choice == "true" or (choice == "share" and _pays()) or not hasattr(os, "pidfd_open"):
        return False
    base = base_environment(os.environ)
    return (
        all(len(os.fsencode(word)) < MAX_WORD_BYTES and "\0" not in word for word in words)
        and "PYTHONPATH" not in base
        and _early(environ) == _early(base)
    )


def _pays() -> bool:
    """Whether the test at work is one of the quarter that have true starts."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]  # without the phase that it is in
    return zlib.crc32(test.encode()) % 4 == 0


def _early(environ: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(READ_BY_THE_INTERPRETER) and name not in HARMLESS
    }
