"""Reading standard input without ever holding up the loop.

Pipes, sockets and terminals are waited for; regular files are just read. A closed descriptor is an empty
input.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import anyio
import anyio.to_thread

CHUNK_BYTES = 1 << 16


class Stdin:
    """Bytes of a file descriptor, chunk by chunk; `None` is the end."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._mode = _mode(descriptor)

    async def read(self) -> bytes | None:
        """The next bytes, or `None` at the end."""
        if self._mode is None:
            return None
        try:
            if sys.platform == "win32":
                data = await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)
            else:
                if not stat.S_ISREG(self._mode) and not _is_null(self._descriptor):
                    await anyio.wait_readable(self._descriptor)
                data = self._read()
        except OSError:
            return None
        return data or None

    def _read(self) -> bytes:
        return os.read(self._descriptor, CHUNK_BYTES)


def _mode(descriptor: int) -> int | None:
    try:
        return os.fstat(descriptor).st_mode
    except OSError:
        return None


def _is_null(descriptor: int) -> bool:
    """Whether it is the null device, which no selector takes and no read waits for."""
    try:
        return os.fstat(descriptor).st_rdev == Path(os.devnull).stat().st_rdev
    except OSError:
        return False
