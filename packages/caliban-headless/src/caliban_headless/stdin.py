"""Reading standard input without ever holding up the loop.

Pipes, sockets and terminals are waited for; files and what no selector takes are just read. A closed
descriptor is an empty input.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from typing import Protocol

import anyio
import anyio.lowlevel
import anyio.to_thread

from caliban_common.decoding import decode_text
from caliban_common.errors import DataError
from caliban_headless.errors import BadInput, InputTooLarge, MissingInput

CHUNK_BYTES = 1 << 16
MAX_TEXT_BYTES = 10 * 1024 * 1024
NO_INPUT = (errno.EBADF, errno.EIO)


class Stdin:
    """Bytes of a file descriptor, chunk by chunk; `None` is the end."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._waits = sys.platform != "win32" and _can_wait(descriptor)

    async def read(self) -> bytes | None:
        """The next bytes, or `None` at the end. Raises `MissingInput` when reading fails."""
        while True:
            try:
                if sys.platform == "win32":
                    data = await anyio.to_thread.run_sync(self._read, abandon_on_cancel=True)
                else:
                    await self._ready()
                    data = self._read()
            except BlockingIOError:
                continue
            except OSError as error:
                if error.errno in NO_INPUT:
                    return None
                raise MissingInput(f"standard input cannot be read: {error.strerror}") from error
            return data or None

    async def _ready(self) -> None:
        if not self._waits:
            await anyio.lowlevel.checkpoint()
            return
        try:
            await anyio.wait_readable(self._descriptor)
        except PermissionError:
            self._waits = False  # how a selector refuses the null device and its like: no read of them waits

    def _read(self) -> bytes:
        return os.read(self._descriptor, CHUNK_BYTES)


class ByteSource(Protocol):
    """Gives bytes, chunk by chunk; `None` is the end."""

    async def read(self) -> bytes | None:
        """The next bytes, or `None` at the end."""
        ...


async def read_text(stdin: ByteSource) -> str:
    """All of standard input as text: UTF-8, or what its byte order mark says.

    Raises `InputTooLarge` above 10 MiB, and `BadInput` for what is no text.
    """
    parts: list[bytes] = []
    total = 0
    while (chunk := await stdin.read()) is not None:
        total += len(chunk)
        if total > MAX_TEXT_BYTES:
            raise InputTooLarge(
                f"standard input has more than {MAX_TEXT_BYTES:,} bytes",
                hint="put the text into a file and name the file in the prompt",
            )
        parts.append(chunk)
    try:
        return decode_text(b"".join(parts))
    except DataError as error:
        raise BadInput(f"standard input is {error.message}", hint=error.hint) from error


def _can_wait(descriptor: int) -> bool:
    try:
        return not stat.S_ISREG(os.fstat(descriptor).st_mode)
    except OSError:
        return False
