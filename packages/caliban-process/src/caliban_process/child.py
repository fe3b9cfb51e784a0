"""One child process on POSIX: its own session or group, and pipes that are used without blocking.

The child is not reaped before its owner says so: until then its number cannot be given to another process,
and its group can be signalled without doubt.
"""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from caliban_process.command import Command
from caliban_process.errors import NotStarted

POLL_S = 0.005
CLOSED = -1


class Child:
    """A started process and our ends of its pipes. Close it in every case."""

    def __init__(self, process: subprocess.Popen[bytes], stdin: int, stdout: int, stderr: int) -> None:
        self._process = process
        self.pid = process.pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr
        self._handle = _process_handle(process.pid)

    def pipe_names(self) -> frozenset[str]:
        """How the process table names the pipes that it writes to."""
        return frozenset(f"pipe:[{os.fstat(pipe).st_ino}]" for pipe in (self.stdout, self.stderr))

    async def exited(self) -> None:
        """Wait until the process has ended; whoever still holds its pipes does not matter."""
        if self._handle != CLOSED:
            try:
                await anyio.wait_readable(self._handle)
            except anyio.ClosedResourceError:
                return
            except anyio.BusyResourceError:  # another task waits as well: one of them may ask the event loop
                while self._handle != CLOSED and not _is_readable(self._handle):
                    await anyio.sleep(POLL_S)
            return
        while self._process.poll() is None:
            await anyio.sleep(POLL_S)

    def reap(self) -> int:
        """The exit code, negative for a signal. Blocks until the process has ended: wait for that first."""
        return self._process.wait()

    def close_stdin(self) -> None:
        """End its input."""
        stdin, self.stdin = self.stdin, CLOSED
        _close(stdin)

    def close(self) -> None:
        """Close the pipes and the handle; whoever waits for one of them is woken."""
        descriptors = (self.stdin, self.stdout, self.stderr, self._handle)
        self.stdin = self.stdout = self.stderr = self._handle = CLOSED
        for descriptor in descriptors:
            _close(descriptor)


def spawn(command: Command) -> Child:
    """Start the program. Raises `NotStarted`."""
    with _pipes(with_stdin=command.stdin is not None) as (theirs, ours):
        try:
            process = subprocess.Popen(
                list(command.argv),
                cwd=command.cwd,
                env=dict(command.env),
                stdin=subprocess.DEVNULL if theirs[0] == CLOSED else theirs[0],
                stdout=theirs[1],
                stderr=theirs[2],
                start_new_session=command.session,
                process_group=None if command.session else 0,
            )
        except (OSError, ValueError) as error:
            raise not_started(command.argv[0], error) from error
        return Child(process, *ours)


def not_started(program: str, error: OSError | ValueError) -> NotStarted:
    """Why the system would not start `program`."""
    number = error.errno if isinstance(error, OSError) else None
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return NotStarted(program, reason.lower(), errno=number)


@contextmanager
def _pipes(*, with_stdin: bool) -> Iterator[tuple[tuple[int, int, int], tuple[int, int, int]]]:
    """The child's ends of three pipes, closed afterwards, and ours, closed where the child does not start."""
    stdin_read, stdin_write = os.pipe() if with_stdin else (CLOSED, CLOSED)
    stdout_read, stdout_write = os.pipe()
    stderr_read, stderr_write = os.pipe()
    theirs, ours = (stdin_read, stdout_write, stderr_write), (stdin_write, stdout_read, stderr_read)
    try:
        for descriptor in ours:
            if descriptor != CLOSED:
                os.set_blocking(descriptor, False)
        yield theirs, ours
    except BaseException:
        _close_all(ours)
        raise
    finally:
        _close_all(theirs)


def _close(descriptor: int) -> None:
    if descriptor != CLOSED:
        anyio.notify_closing(descriptor)
        os.close(descriptor)


def _close_all(descriptors: tuple[int, ...]) -> None:
    for descriptor in descriptors:
        if descriptor != CLOSED:
            os.close(descriptor)


def _is_readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _process_handle(pid: int) -> int:
    """A descriptor that becomes readable when the process ends, where the system has such."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else CLOSED
    except OSError:
        return CLOSED
