"""The terminal itself: its modes, its size, and every byte that goes to it."""

from __future__ import annotations

import os
import struct
import termios
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from caliban_tui.boot import typed_ahead
from caliban_tui.errors import TerminalGone
from caliban_tui.screen import ScreenSize
from caliban_tui.terminal.outlet import TerminalOutlet

if TYPE_CHECKING:
    from caliban_tui.boot import FirstFrame

MODES: Final = b"\x1b[?2004h\x1b[?1004h"
RESTORE: Final = b"\x1b[?2026l\x1b[?2004l\x1b[?1004l\x1b[?1000l\x1b[?1002l\x1b[?1006l\x1b[?25h\x1b[?7h\x1b[m"
"""Puts back what we turn on; sent on every way out, behind what `TerminalOutlet.undo` takes back."""

LEAVE_S: Final = 1.0
"""So long a terminal that has stopped reading is waited for at the end."""

DEFAULT_SIZE: Final = ScreenSize(80, 24)


class Tty:
    """A terminal to read from and one to write to, as file descriptors. Modes that it has are given back.

    Where a `first` frame stands on it, that one is taken over, with the modes from before it. One that
    `is_dumb` is sent no sequence. `typed` is what was typed before it took keys.
    """

    def __init__(
        self, read_fd: int = 0, write_fd: int = 1, *, first: FirstFrame | None = None, is_dumb: bool = False
    ) -> None:
        self.read_fd: int = read_fd
        self.write_fd: int = write_fd
        self.outlet: TerminalOutlet = TerminalOutlet(write_fd)
        self.typed: bytes = b"" if first is None else first.typed
        self._first = first
        self._has_begun = False
        self._is_dumb = is_dumb
        self._before: list[Any] | None = None if first is None else first.before

    def size(self) -> ScreenSize:
        """What it says of itself now."""
        with suppress(OSError):
            columns, rows = os.get_terminal_size(self.write_fd)
            if columns > 0 and rows > 0:
                return ScreenSize(columns, rows)
        return DEFAULT_SIZE

    def cell(self) -> tuple[int, int] | None:
        """The pixels of one cell across and down, where the terminal says them."""
        import fcntl

        try:
            answer = fcntl.ioctl(self.write_fd, termios.TIOCGWINSZ, bytes(8))
        except OSError:
            return None
        rows, columns, width, height = struct.unpack("HHHH", answer)
        if not (rows and columns):
            return None
        across, down = width // columns, height // rows
        return (across, down) if 2 <= across <= 200 and 4 <= down <= 400 else None

    def enter(self) -> None:
        """Take every key as it is typed, with nothing shown. Raises `TerminalGone`."""
        try:
            before = termios.tcgetattr(self.read_fd)
            if self._before is None:
                self._before = before
            now = termios.tcgetattr(self.read_fd)
            now[0] &= ~(termios.ICRNL | termios.INLCR | termios.IXON)
            now[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
            if self._first is None and not self._has_begun:
                self.typed = typed_ahead(self.read_fd, now)
            now[6][termios.VMIN] = 1
            termios.tcsetattr(self.read_fd, termios.TCSADRAIN, now)
        except (OSError, termios.error) as error:
            raise TerminalGone(f"the terminal cannot be used: {error.args[-1]}") from error
        self._has_begun = True
        first, self._first = self._first, None
        if first is not None:
            self.write(first.cleared)
            first.handed_over()
        if not self._is_dumb:
            self.write(MODES)

    def leave(self) -> None:
        """Give the terminal back as it was; never raises."""
        with suppress(TerminalGone):
            if not self._is_dumb:
                self.write(self.outlet.undo + RESTORE)
            self.outlet.finish(LEAVE_S)
        self.outlet.close()
        if self._before is not None:
            with suppress(termios.error):
                # Not TCSADRAIN: a terminal that reads no more would keep it for ever.
                termios.tcsetattr(self.read_fd, termios.TCSANOW, self._before)
            self._before = None

    def write(self, data: bytes) -> None:
        """Send `data`; what the terminal does not take at once is sent later. Raises `TerminalGone`."""
        self.outlet.write(data)
