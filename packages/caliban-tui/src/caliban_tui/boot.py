"""The first frame, drawn before anything is imported: the kernel echoes until the editor is there.

Nothing but `os`, `sys`, `termios` and `_signal` may be imported here: see `first_frame`.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MARK = "> "
"""What stands before the draft, as in `caliban_tui.ui.DraftView`."""

BELOW = b"\x1b8\r\n\x1b[J\x1b[?2004l\x1b[m"
"""From the draft to the row below it, which is emptied; pastes come as they are again."""

ABOVE = b"\x1b8\r\x1b[J\x1b[1A\x1b[K"
"""All of the first frame taken away, and to where it begins; no screen is cleared from its first cell."""

ENDING = (1, 2, 15)
"""SIGHUP, SIGINT and SIGTERM: before anything can be told of them, they end the process, unless ignored."""

SIGNALLED = 128
TYPED_BYTES = 1 << 16
ASCII = ("ascii", "us-ascii", "ansi_x3.4-1968")


class FirstFrame:
    """A frame that stands on the screen while the program loads; `before` are the modes of the terminal.

    `typed` are the keys from before it was there. Later ones are not read: who reads standard input next has
    them. Whoever draws next sends `cleared` first, and calls `handed_over`; `restore` gives the terminal back
    where that does not come about.
    """

    cleared: bytes = ABOVE

    def __init__(self, before: list[Any], typed: bytes = b"") -> None:
        self.before = before
        self.typed = typed
        self._is_there = True

    def handed_over(self) -> None:
        """Somebody else gives the modes back from now on."""
        self._is_there = False

    def restore(self) -> None:
        """Give the terminal back, the cursor below the frame; does nothing a second time, and never raises.

        Keys that nobody has read are thrown away: a shell would take them for a command.
        """
        if not self._is_there:
            return
        self._is_there = False
        import termios

        try:
            os.write(1, BELOW)
            termios.tcsetattr(0, termios.TCSAFLUSH, self.before)
        except (OSError, termios.error):
            pass  # the terminal is gone

    def _end(self, number: int, frame: object) -> None:
        self.restore()
        os._exit(SIGNALLED + number)


def first_frame() -> FirstFrame | None:
    """Draw the first frame and let the kernel echo keys; `None` where there is no terminal for that.

    A terminal that moves no cursor (`TERM=dumb`) has none, nor has a program that is to start again in UTF-8.
    """
    if os.environ.get("TERM", "dumb") == "dumb" or sys.getfilesystemencoding() in ASCII:
        return None
    try:
        import termios
        from _signal import SIG_IGN, getsignal, signal  # type: ignore[import-not-found]
    except ImportError:
        return None
    try:
        if not (os.isatty(0) and os.isatty(1)):
            return None
        before = termios.tcgetattr(0)
        now = termios.tcgetattr(0)
        now[0] &= ~(termios.ICRNL | termios.INLCR | termios.IXON)
        now[3] = now[3] & ~(termios.ICANON | termios.IEXTEN) | termios.ECHO | termios.ECHOCTL
        frame = FirstFrame(before)
        for number in ENDING:
            if getsignal(number) != SIG_IGN:
                signal(number, frame._end)
        frame.typed = typed_ahead(0, now)
        now[6][termios.VMIN] = 1
        termios.tcsetattr(0, termios.TCSADRAIN, now)
        os.write(1, _drawn())
    except (OSError, ValueError, termios.error):
        return None
    return frame


def typed_ahead(fd: int, modes: list[Any]) -> bytes:
    """What was typed while the terminal still made a newline of Enter; each is an Enter again.

    `modes`, which take every key, count from then on, but for a read that waits for nothing. Raises what
    `os.read` and `termios` do.
    """
    import termios

    modes[6][termios.VMIN] = modes[6][termios.VTIME] = 0
    termios.tcsetattr(fd, termios.TCSADRAIN, modes)
    return os.read(fd, TYPED_BYTES).replace(b"\n", b"\r")


def _drawn() -> bytes:
    """The frame: a line left free, the draft and the folder; the place of the draft is kept."""
    try:
        shown = short_path(os.getcwd(), os.environ.get("HOME", ""))  # noqa: PTH109 - pathlib is an import
    except OSError:
        shown = ""
    if not shown.isprintable():
        shown = ""
    columns = os.get_terminal_size(1).columns
    below = f"\x1b[2m{shown}\x1b[m" if len(shown) < columns and shown.isascii() else ""
    return f"\x1b[?2004h\r\n{MARK}\r\n{below}\x1b[1A\r\x1b[{len(MARK)}C\x1b7".encode()


def short_path(path: str, home: str) -> str:
    """`path` with `~` for the home of its owner."""
    home = home.rstrip("/")
    if home and (path == home or path.startswith(f"{home}/")):
        return "~" + path[len(home) :]
    return path
