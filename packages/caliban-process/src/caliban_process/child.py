"""One child process on POSIX: its own session or group, and pipes that are used without blocking.

The child is not reaped before its owner says so: until then its number cannot be given to another process,
and its group can be signalled without doubt.
"""

from __future__ import annotations

import errno
import os
import select
import subprocess

from caliban_process.command import Command
from caliban_process.errors import NotStarted
from caliban_process.pump import CLOSED, Pipe

POLL_S = 0.005


class Child:
    """A started process and our ends of its pipes. Close it in every case.

    `handle` can be read once the process has ended, where the system has such a thing; else it is closed.
    """

    def __init__(self, process: subprocess.Popen[bytes], stdin: int, stdout: int, stderr: int) -> None:
        self._process = process
        self.pid: int = process.pid
        self.stdin: Pipe = Pipe(stdin)
        self.stdout: Pipe = Pipe(stdout)
        self.stderr: Pipe = Pipe(stderr)
        self.handle: Pipe = Pipe(_process_handle(process.pid))

    def pipe_names(self) -> frozenset[str]:
        """How the process table names the pipes that it writes to."""
        return frozenset(f"pipe:[{os.fstat(pipe.number).st_ino}]" for pipe in (self.stdout, self.stderr))

    @property
    def has_exited(self) -> bool:
        """Whether the process has ended, whoever has noticed."""
        if not self.handle.is_open:
            return self._process.poll() is not None
        return _is_readable(self.handle.number)

    def reap(self) -> int | None:
        """The exit code, negative for a signal; `None` while the process has not ended."""
        return self._process.poll()

    def close(self) -> None:
        """Close the pipes and the handle."""
        for pipe in (self.stdin, self.stdout, self.stderr, self.handle):
            pipe.close()


def spawn(command: Command) -> Child:
    """Start the program. Raises `NotStarted`."""
    ours: list[int] = []
    theirs: list[int] = []
    held: dict[str, int] = {}
    try:
        stdin, stdout, stderr = _pipes(command, ours, theirs)
        held.update((name, _holding(content)) for name, content in command.data.items())
        process = subprocess.Popen(
            [str(held.get(word, word)) for word in command.argv],
            cwd=command.cwd,
            env=dict(command.env),
            stdin=subprocess.DEVNULL if stdin == CLOSED else stdin,
            stdout=stdout,
            stderr=stdout if command.merged else stderr,
            pass_fds=tuple(held.values()),
            start_new_session=command.session,
            process_group=None if command.session else 0,
        )
    except (OSError, ValueError) as error:
        _close_all(*ours)
        raise not_started(command.argv[0], error) from error
    finally:
        _close_all(*theirs, *held.values())
    return Child(process, *ours)


def _pipes(command: Command, ours: list[int], theirs: list[int]) -> tuple[int, int, int]:
    """The program's ends of its three pipes; both lists know of each descriptor as soon as it is there."""
    for is_input in (True, False, False):
        if is_input and command.stdin is None:
            reading = writing = CLOSED
        else:
            reading, writing = os.pipe()
        ours.append(writing if is_input else reading)
        theirs.append(reading if is_input else writing)
    stdin, stdout, stderr = theirs
    return stdin, stdout, stderr


def not_started(program: str, error: OSError | ValueError) -> NotStarted:
    """Why the system would not start `program`."""
    number = error.errno if isinstance(error, OSError) else None
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return NotStarted(program, reason.lower(), errno=number)


def _holding(content: bytes) -> int:
    """A descriptor from which `content` can be read, once; at most what a pipe holds, 65,536 bytes."""
    reading, writing = os.pipe()
    try:
        os.set_blocking(writing, False)
        if os.write(writing, content) != len(content):
            raise OSError(errno.E2BIG, "too much data for a pipe")
    except OSError:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    return reading


def _close_all(*descriptors: int) -> None:
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
