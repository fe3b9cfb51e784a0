"""Bytes through pipes that are never blocked on; on asyncio and trio alike."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import anyio
import anyio.lowlevel

from caliban_process.poller import Poller

CLOSED = -1
MAX_CHUNKS_LEFT = 32
"""How many chunks are read from a pipe after the end: somebody may go on writing."""
_CHUNK_BYTES = 1 << 16


class Pipe:
    """Our end of a pipe. Its number is forgotten when it is closed: the system gives it to others."""

    def __init__(self, number: int) -> None:
        self.number: int = number
        self._never_empty = False
        self._is_awaited = False
        self._poller: Poller | None = None
        if number != CLOSED:
            os.set_blocking(number, False)

    @property
    def is_open(self) -> bool:
        return self.number != CLOSED

    async def read(self) -> bytes:
        """The next bytes; empty once nobody can write to it any more, or it is closed.

        Whoever writes faster than is read here holds nobody else up: everything else has its turn in between.
        """
        if self._never_empty:
            await anyio.lowlevel.checkpoint()
        self._never_empty = True
        while True:
            try:
                return os.read(self.number, _CHUNK_BYTES)
            except BlockingIOError:
                self._never_empty = False
                await self._ready(anyio.wait_readable)
            except OSError:
                return b""

    def read_rest(self, take: Callable[[bytes], object]) -> None:
        """Hand on what lies in it at this moment."""
        for _ in range(MAX_CHUNKS_LEFT):
            try:
                chunk = os.read(self.number, _CHUNK_BYTES)
            except OSError:
                return
            if not chunk:
                return
            take(chunk)

    async def write(self, data: bytes) -> bool:
        """Write all of `data`; False where nobody reads any more, or it is closed."""
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[os.write(self.number, rest[:_CHUNK_BYTES]) :]
            except BlockingIOError:
                await self._ready(anyio.wait_writable)
            except OSError:
                return False
        return True

    def write_now(self, data: bytes | memoryview) -> int:
        """Write what fits at once; how many bytes that were. Raises `OSError` where nobody reads any more."""
        try:
            return os.write(self.number, data)
        except BlockingIOError:
            return 0

    def read_now(self) -> bytes | None:
        """What lies in it, at most 64 KiB; `None` where that is nothing yet, empty as with `read`."""
        try:
            return os.read(self.number, _CHUNK_BYTES)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    def watch(self, poller: Poller, ready: Callable[[], None], *, writes: bool = False) -> None:
        """Have `poller` call `ready` whenever it can be read, or written, until it is closed or forgotten."""
        poller.watch(self.number, ready, writes=writes)
        self._poller = poller

    def forget(self) -> None:
        """Watch it no more."""
        if self._poller is not None:
            self._poller.forget(self.number)
            self._poller = None

    def close(self) -> None:
        """Close it; whoever waits for it is woken."""
        if self.number == CLOSED:
            return
        self.forget()
        number, self.number = self.number, CLOSED
        if self._is_awaited:
            anyio.notify_closing(number)
        os.close(number)

    async def _ready(self, wait: Callable[[int], Awaitable[None]]) -> None:
        self._is_awaited = True
        try:
            await wait(self.number)
        except anyio.ClosedResourceError:
            pass  # the next try finds it closed
        finally:
            self._is_awaited = False
