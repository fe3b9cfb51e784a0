"""Bytes through pipes that are never blocked on; on asyncio and trio alike."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable

import anyio

_CHUNK_BYTES = 1 << 16


async def read(pipe: int) -> bytes:
    """The next bytes; empty once nobody can write to the pipe any more."""
    while True:
        try:
            return os.read(pipe, _CHUNK_BYTES)
        except BlockingIOError:
            if not await _ready(anyio.wait_readable, pipe):
                return b""
        except OSError:
            return b""


def read_now(pipe: int) -> bytes:
    """What lies in the pipe at this moment; empty if that is nothing."""
    try:
        return os.read(pipe, _CHUNK_BYTES)
    except OSError:
        return b""


async def write(pipe: int, data: bytes) -> bool:
    """Write all of `data`; False where nobody reads any more."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(pipe, rest[:_CHUNK_BYTES]) :]
        except BlockingIOError:
            if not await _ready(anyio.wait_writable, pipe):
                return False
        except OSError:
            return False
    return True


async def _ready(wait: Callable[[int], Awaitable[None]], pipe: int) -> bool:
    """Wait for the pipe; False where our end of it is closed meanwhile."""
    try:
        await wait(pipe)
    except anyio.ClosedResourceError:
        return False
    return True
