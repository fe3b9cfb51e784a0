"""One child process on POSIX: its own session or group, no input, two pipes that are read without blocking.

The child is not reaped before its owner says so: until then its number cannot be given to another process,
and its group can be signalled without doubt.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from caliban_tools_builtin.errors import ShellFailed

if TYPE_CHECKING:
    from subprocess import Popen

SUPPORTED = os.name == "posix"
POLL_S = 0.005
_CHUNK_BYTES = 1 << 16


class Child:
    """A started process and the reading ends of its pipes. Close it in every case."""

    def __init__(self, process: Popen[bytes], stdout: int, stderr: int) -> None:
        self._process = process
        self.pid = process.pid
        self.stdout = stdout
        self.stderr = stderr
        self._handle = _process_handle(process.pid)

    def pipe_names(self) -> frozenset[str]:
        """How the process table names the two pipes."""
        return frozenset(f"pipe:[{os.fstat(pipe).st_ino}]" for pipe in (self.stdout, self.stderr))

    async def exited(self) -> None:
        """Wait until the process has ended; whoever still holds its pipes does not matter."""
        import anyio

        if self._handle is not None:
            await anyio.wait_readable(self._handle)
            return
        while self._process.poll() is None:
            await anyio.sleep(POLL_S)

    async def read(self, pipe: int) -> bytes:
        """The next bytes of one of the two pipes; empty once nobody can write to it any more."""
        import anyio

        while True:
            try:
                return os.read(pipe, _CHUNK_BYTES)
            except BlockingIOError:
                await anyio.wait_readable(pipe)
            except OSError:
                return b""

    def read_now(self, pipe: int) -> bytes:
        """What lies in the pipe at this moment; empty if that is nothing."""
        try:
            return os.read(pipe, _CHUNK_BYTES)
        except OSError:
            return b""

    def reap(self) -> int:
        """The exit code, negative for a signal. Blocks until the process has ended: wait for that first."""
        return self._process.wait()

    def close(self) -> None:
        """Close the pipes and the handle."""
        for descriptor in (self.stdout, self.stderr, self._handle):
            if descriptor is not None:
                os.close(descriptor)


def start(argv: Sequence[str], *, cwd: str, env: Mapping[str, str], session: bool = True) -> Child:
    """Start a program by its absolute path with exactly these arguments and this environment.

    Without a `session` of its own it only has its own group: Linux schedules sessions against each other,
    which slows a short program beside a busy terminal by a third. Raises `ShellFailed`.
    """
    import subprocess

    out_read, out_write = os.pipe()
    err_read, err_write = os.pipe()
    try:
        os.set_blocking(out_read, False)
        os.set_blocking(err_read, False)
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=out_write,
            stderr=err_write,
            start_new_session=session,
            process_group=None if session else 0,
        )
    except (OSError, ValueError) as error:
        os.close(out_read)
        os.close(err_read)
        raise _not_started(argv[0], error) from error
    finally:
        os.close(out_write)
        os.close(err_write)
    return Child(process, out_read, err_read)


def _process_handle(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, where the system has such."""
    try:
        return os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        return None


def _not_started(program: str, error: OSError | ValueError) -> ShellFailed:
    number = error.errno if isinstance(error, OSError) else None
    if number == errno.E2BIG:
        return ShellFailed("the command is too long", hint="write it to a script file and run that")
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return ShellFailed(f"{program} could not be started: {reason.lower()}")
