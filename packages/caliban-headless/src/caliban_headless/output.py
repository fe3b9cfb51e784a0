"""Standard output that gathers what is written in a burst and never holds up the loop.

A reader that goes away is an error of its own kind, never a traceback.
"""

from __future__ import annotations

import errno
import math
import os
import select
import stat
import sys

import anyio

from caliban_headless.errors import OutputClosed, OutputFailed

PIPE_BYTES = 4096
FLUSH_BYTES = 1 << 16
READER_GONE = (errno.EPIPE, errno.ECONNRESET)


class Output:
    """Bytes on their way to a file descriptor."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._waitable = sys.platform != "win32" and _can_wait(descriptor)
        self._deadline = math.inf
        self._wait: anyio.CancelScope | None = None

    @property
    def full(self) -> bool:
        """Whether enough has gathered to be worth a write in the middle of a burst."""
        return len(self._buffer) >= FLUSH_BYTES

    def write(self, data: bytes) -> None:
        """Gather `data`."""
        self._buffer += data

    def hurry(self, grace_s: float) -> None:
        """From now on, wait for a reader that does not read for `grace_s` seconds in all, and no longer."""
        self._deadline = min(self._deadline, anyio.current_time() + grace_s)
        if self._wait is not None:
            self._wait.deadline = self._deadline

    async def flush(self) -> None:
        """Write what was gathered. Raises `OutputClosed` when nobody reads any more, else `OutputFailed`."""
        data, self._buffer = self._buffer, bytearray()
        view = memoryview(data)
        try:
            while view:
                if not self._has_room():
                    await self._room()
                try:
                    view = self._take(view)
                except BlockingIOError:
                    await self._room()
        except OSError as error:
            raise _failure(error) from error
        finally:
            self._buffer[:0] = view

    def push(self) -> None:
        """Write of it what can be written without waiting: for a process that is about to end."""
        view = memoryview(bytes(self._buffer))
        self._buffer.clear()
        try:
            while view and self._has_room():
                view = self._take(view)
        except OSError:
            pass

    def _has_room(self) -> bool:
        return not self._waitable or bool(select.select([], [self._descriptor], [], 0)[1])

    def _take(self, view: memoryview) -> memoryview:
        return view[os.write(self._descriptor, view[: PIPE_BYTES if self._waitable else None]) :]

    async def _room(self) -> None:
        with anyio.CancelScope(deadline=self._deadline) as self._wait:
            await anyio.wait_writable(self._descriptor)
        wait, self._wait = self._wait, None
        if wait.cancelled_caught:
            raise OutputClosed("nobody reads standard output")


def _failure(error: OSError) -> OutputFailed:
    if error.errno in READER_GONE:
        return OutputClosed(f"standard output is gone: {error.strerror}")
    return OutputFailed(
        f"standard output cannot be written: {error.strerror}",
        hint="the answer is in the session, unless --no-save was given",
    )


def _can_wait(descriptor: int) -> bool:
    """Pipes, sockets and terminals can be waited for; files cannot and need not."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return False
    return not stat.S_ISCHR(mode) or os.isatty(descriptor)
