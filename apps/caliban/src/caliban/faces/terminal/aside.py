"""Output of libraries and programs while the screen is up: captured, and shown as notices."""

from __future__ import annotations

import os
from collections.abc import Callable

import anyio

from caliban_common.text import one_line

MAX_LINE_BYTES = 4096
STREAMS = (1, 2)


class OutputAside:
    """Standard output and standard error of this process lead into a pipe from `begin` to `end`.

    What is printed meanwhile is passed to `show` line by line; what comes too fast is lost.
    """

    def __init__(self, show: Callable[[str], None]) -> None:
        self._show = show
        self._kept: dict[int, int] = {}
        self._reader = -1

    def begin(self) -> int:
        """Begin; a descriptor of the terminal that nobody else writes to."""
        terminal = os.dup(1)
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        for stream in STREAMS:
            if os.isatty(stream):
                self._kept[stream] = os.dup(stream)
                os.dup2(writer, stream)
        os.close(writer)
        return terminal

    def end(self) -> None:
        """Give the streams back, and let go of the pipe; does nothing a second time."""
        for stream, kept in self._kept.items():
            os.dup2(kept, stream)
            os.close(kept)
        self._kept.clear()
        if self._reader >= 0:
            os.close(self._reader)
            self._reader = -1

    async def read(self) -> None:
        """Show what comes, line by line, until cancelled."""
        rest = b""
        while True:
            await anyio.wait_readable(self._reader)
            try:
                data = os.read(self._reader, 1 << 16)
            except BlockingIOError:
                continue
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            if len(rest) > MAX_LINE_BYTES:
                lines, rest = [*lines, rest], b""
            for line in lines:
                text = one_line(line.decode("utf-8", "replace"))
                if text:
                    self._show(text)
