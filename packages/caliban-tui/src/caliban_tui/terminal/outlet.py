"""Bytes on their way to a terminal that may stop reading: nobody waits for it, and nothing is lost."""

from __future__ import annotations

import os
import select
import time
from typing import Final

import anyio

from caliban_common.lazy import lazy_pattern
from caliban_tui.errors import TerminalGone

_SWITCH: Final = lazy_pattern("\x1b\\[(?:\\?1049(?P<screen>[hl])|(?P<keys>>1u|<u)|(?P<shape>[0-6]) q)")
_OFF_SCREEN: Final = b"\x1b[?7h\x1b[?1049l"
_OFF_KEYS: Final = b"\x1b[<u"
_OFF_SHAPE: Final = b"\x1b[0 q"
PIECE: Final = 512


class TerminalOutlet:
    """What is written to `fd`. A write takes what the terminal takes at once and keeps the rest.

    While something is kept, `is_clear` is false and nobody should add a frame: one that is not sent now is
    not needed later. The terminal is opened a second time, for writes that do not wait: the descriptor itself
    is shared with the shell, which must not find it changed.
    """

    def __init__(self, fd: int) -> None:
        self._shared_fd = fd
        self._own_fd: int | None = None
        self._kept = b""
        self._undo: list[bytes] = []

    @property
    def is_clear(self) -> bool:
        """Whether all was taken."""
        return not self._kept

    @property
    def undo(self) -> bytes:
        """What takes back the switches that were sent: the alternate screen, the keys, the cursor's shape."""
        return b"".join(reversed(self._undo))

    def write(self, data: bytes) -> None:
        """Send `data` behind what is kept. Raises `TerminalGone`."""
        if b"\x1b" in data:
            self._note(data)
        self._kept += data
        self.push()

    def push(self) -> None:
        """Send as much of what is kept as the terminal takes now. Raises `TerminalGone`."""
        left = memoryview(self._kept)
        try:
            while left:
                left = left[self._send(left) :]
        except BlockingIOError:
            pass
        except OSError as error:
            self._kept = b""
            raise TerminalGone(f"the terminal takes nothing any more: {error.strerror}") from error
        self._kept = bytes(left)

    async def cleared(self) -> None:
        """Wait until all was taken; the terminal may never read again. Raises `TerminalGone`."""
        while self._kept:
            await anyio.wait_writable(self._fd())
            self.push()

    def finish(self, timeout_s: float) -> bool:
        """Send what is kept, for so long at most; whether all was taken. Raises `TerminalGone`."""
        end_s = time.monotonic() + timeout_s
        self.push()
        while self._kept and (left_s := end_s - time.monotonic()) > 0:
            select.select([], [self._fd()], [], left_s)
            self.push()
        return self.is_clear

    def close(self) -> None:
        """Drop what is kept and the second opening; the next write begins anew."""
        self._kept = b""
        if self._own_fd is not None:
            os.close(self._own_fd)
            self._own_fd = None

    def _fd(self) -> int:
        if self._own_fd is None:
            try:
                flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK
                self._own_fd = os.open(os.ttyname(self._shared_fd), flags)
            except OSError:
                return self._shared_fd
        return self._own_fd

    def _send(self, data: memoryview) -> int:
        fd = self._fd()
        if fd != self._shared_fd:
            return os.write(fd, data)
        if not select.select([], [fd], [], 0)[1]:  # a terminal without a name: small pieces hardly ever wait
            raise BlockingIOError
        return os.write(fd, data[:PIECE])

    def _note(self, data: bytes) -> None:
        for match in _SWITCH.finditer(data.decode("latin-1")):
            if match["shape"] is not None:
                self._undo = [off for off in self._undo if off != _OFF_SHAPE]
                self._undo += [] if match["shape"] == "0" else [_OFF_SHAPE]
                continue
            off = _OFF_SCREEN if match["screen"] else _OFF_KEYS
            if match["screen"] == "h" or match["keys"] == ">1u":
                self._undo.append(off)
            elif off in self._undo:
                del self._undo[len(self._undo) - 1 - self._undo[::-1].index(off)]
