"""A fork of the command that goes on beside a test, which talks with it as with a `subprocess.Popen`."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from hang_guard import HANG_S
from starts_kit import can_fork, template

STREAMS = ("stdin", "stdout", "stderr")
ALLOWED = frozenset([*STREAMS, "start_new_session"])
"""What a fork is given; whatever else somebody asks of a start has a true one."""


class Forked:
    """The part of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int, told: int, streams: Mapping[str, IO[bytes] | None]) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.stdin, self.stdout, self.stderr = (streams[name] for name in STREAMS)
        self._told = told

    def poll(self) -> int | None:
        """Its exit code, if it has ended."""
        return self._look(0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit code."""
        code = self._look(timeout)
        if code is None:
            raise subprocess.TimeoutExpired("caliban", timeout or 0)
        return code

    def communicate(
        self, input: bytes | None = None, timeout: float | None = None
    ) -> tuple[bytes | None, bytes | None]:
        """Say the last to it, and all that it says to its end."""
        output: dict[str, bytes] = {}
        readers = [
            threading.Thread(target=_read, args=(name, stream, output), daemon=True)
            for name, stream in (("stdout", self.stdout), ("stderr", self.stderr))
            if stream is not None and not stream.closed
        ]
        for reader in readers:
            reader.start()
        if self.stdin is not None and not self.stdin.closed:
            with suppress(BrokenPipeError):
                self.stdin.write(input or b"")
                self.stdin.flush()
            with suppress(BrokenPipeError):
                self.stdin.close()
        for reader in readers:
            reader.join(timeout)
            if reader.is_alive():
                raise subprocess.TimeoutExpired("caliban", timeout or 0)
        self.wait(timeout)
        return output.get("stdout"), output.get("stderr")

    def send_signal(self, number: int) -> None:
        """Send it a signal, unless it has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self.stdout, self.stderr, self.stdin):
            if stream is not None:
                stream.close()
        self.wait(HANG_S)

    def __del__(self) -> None:
        if self._told >= 0:
            os.close(self._told)

    def _look(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            poll = select.poll()
            poll.register(self._told, select.POLLIN)
            if poll.poll(None if timeout is None else timeout * 1000):
                status = _line(self._told).split()
                assert status, "the template has ended: see standard error"
                self.returncode = os.waitstatus_to_exitcode(int(status[0]))
                os.close(self._told)
                self._told = -1
        return self.returncode


def begin_command(
    words: Sequence[str], environ: Mapping[str, str], folder: Path, options: Mapping[str, Any]
) -> Forked | None:
    """Begin `caliban` as a fork, with the streams of `options`; `None` where only a true start shows it."""
    if not ALLOWED.issuperset(options) or not can_fork(words, environ):
        return None
    theirs, streams = [], {}
    for name in STREAMS:
        asked = options[name]
        streams[name] = None
        if asked == subprocess.PIPE:
            reader, writer = os.pipe()
            mine, given = (writer, reader) if name == "stdin" else (reader, writer)
            streams[name] = os.fdopen(mine, "wb" if name == "stdin" else "rb")
        elif asked == subprocess.DEVNULL:
            given = os.open(os.devnull, os.O_RDWR)
        elif asked == subprocess.STDOUT:
            given = os.dup(theirs[1])
        else:
            given = os.dup(asked if isinstance(asked, int) else asked.fileno())
        theirs.append(given)
    report, tells = os.pipe()
    try:
        template().ask(words, environ, folder, [*theirs, tells], is_leader="start_new_session" in options)
    finally:
        for number in (*theirs, tells):
            os.close(number)
    return Forked(int(_line(report)), report, streams)


def _line(descriptor: int) -> str:
    """What is said there up to the end of the line."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return line.decode()


def _read(name: str, stream: IO[bytes], said: dict[str, bytes]) -> None:
    said[name] = stream.read()
    stream.close()
