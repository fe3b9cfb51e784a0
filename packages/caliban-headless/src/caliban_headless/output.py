"""Standard output that gathers what is written in a burst and never holds up the loop.

A reader that goes away is an error of its own kind, never a traceback.
"""

from __future__ import annotations

import os
import select
import stat
import sys

import anyio

from caliban_headless.errors import OutputClosed

PIPE_BYTES = 4096
FLUSH_BYTES = 1 << 16


class Output:
    """Bytes on their way to a file descriptor."""

    def __init__(self, descriptor: int = 1) -> None:
        self._descriptor = descriptor
        self._buffer = bytearray()
        self._waitable = sys.platform != "win32" and _can_wait(descriptor)

    @property
    def full(self) -> bool:
        """Whether enough has gathered to be worth a write in the middle of a burst."""
        return len(self._buffer) >= FLUSH_BYTES

    def write(self, data: bytes) -> None:
        """Gather `data`."""
        self._buffer += data

    async def flush(self) -> None:
        """Write what was gathered. Raises `OutputClosed` when nobody reads any more."""
        data, self._buffer = self._buffer, bytearray()
        view = memoryview(data)
        try:
            while view:
                if self._waitable and not select.select([], [self._descriptor], [], 0)[1]:
                    await anyio.wait_writable(self._descriptor)
                view = view[os.write(self._descriptor, view[: PIPE_BYTES if self._waitable else None]) :]
        except OSError as error:
            raise OutputClosed(f"standard output is gone: {error.strerror}") from error


def _can_wait(descriptor: int) -> bool:
    """Pipes, sockets and terminals can be waited for; files cannot and need not."""
    try:
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return False
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return False
    return not stat.S_ISCHR(mode) or os.isatty(descriptor)
