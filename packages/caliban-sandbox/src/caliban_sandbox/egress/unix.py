"""Connections by a Unix socket that may be cancelled at any moment.

Those of anyio (4.16) set the result of a future that is done already where a wait is cancelled or closed in
the same turn of asyncio's loop in which the socket becomes ready, which ends up in the log of the loop; its
waits for descriptors do not.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Final

import anyio
import anyio.lowlevel
from anyio import BrokenResourceError, EndOfStream
from anyio.abc import ByteStream

_BACKLOG: Final = 1024


class UnixStream(ByteStream):
    """One connection, over a socket that does not block."""

    def __init__(self, raw: socket.socket) -> None:
        raw.setblocking(False)
        self._raw = raw

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """What has come, at least a byte of it. Raises `EndOfStream`, `BrokenResourceError`."""
        await anyio.lowlevel.checkpoint()
        while True:
            try:
                data = self._raw.recv(max_bytes)
            except BlockingIOError:
                await anyio.wait_readable(self._raw)
            except OSError as error:
                raise BrokenResourceError from error
            else:
                if not data:
                    raise EndOfStream
                return data

    async def send(self, item: bytes) -> None:
        """All of `item`. Raises `BrokenResourceError`."""
        await anyio.lowlevel.checkpoint()
        view = memoryview(item)
        while view:
            try:
                view = view[self._raw.send(view) :]
            except BlockingIOError:
                await anyio.wait_writable(self._raw)
            except OSError as error:
                raise BrokenResourceError from error

    async def send_eof(self) -> None:
        """Nothing more is sent; a client that has gone needs no telling."""
        try:
            self._raw.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise BrokenResourceError from error

    async def aclose(self) -> None:
        """Both ways, at once."""
        if self._raw.fileno() >= 0:
            anyio.notify_closing(self._raw)
        self._raw.close()


class UnixListener:
    """A socket with a path, for its owner only. Raises `OSError` where it cannot be made."""

    def __init__(self, path: str) -> None:
        self._raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self._raw.setblocking(False)
            self._raw.bind(path)
            # Its directory is closed to others already, so nobody can come in between.
            Path(path).chmod(0o600)
            self._raw.listen(_BACKLOG)
        except OSError:
            self._raw.close()
            raise

    async def accept(self) -> ByteStream:
        """The next client. Raises `OSError` where the process has no descriptor left."""
        while True:
            try:
                return UnixStream(self._raw.accept()[0])
            except BlockingIOError:
                await anyio.wait_readable(self._raw)

    async def aclose(self) -> None:
        """Clients that wait are sent away."""
        if self._raw.fileno() >= 0:
            anyio.notify_closing(self._raw)
        self._raw.close()
