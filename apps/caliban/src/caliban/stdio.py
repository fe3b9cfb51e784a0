"""The three standard streams as the program finds them: closed, full, or read by nobody."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable

READER_GONE = (errno.EPIPE, errno.ECONNRESET)


def hold_standard_descriptors() -> None:
    """Put the null device where a standard stream is closed.

    The number of a closed stream goes to the next file that is opened: what is printed would end up in a
    session or a socket. Writing to a closed standard output fails, so that no answer is lost without a word.
    """
    for descriptor, mode in ((0, os.O_RDWR), (1, os.O_RDONLY), (2, os.O_RDWR)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def can_be_written(descriptor: int) -> bool:
    """Whether `descriptor` is open for writing, as far as the system says."""
    try:
        import fcntl
    except ImportError:  # on Windows a write says it
        return True
    try:
        return fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDONLY
    except OSError:
        return False


def keep_stdout() -> None:
    """Send what packages print to standard error from now on: standard output is for results alone."""
    if sys.stdout is not sys.stderr:
        sys.stdout.flush()
        sys.stdout = sys.stderr


def write_out(data: bytes) -> int:
    """Write `data` to standard output; the exit code: 0, 141 when its reader is gone, 1 with words else."""
    if os.isatty(1):
        from caliban_common.terminal import visible

        data = visible(data.decode("utf-8", "replace")).encode()
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError as error:
        if error.errno in READER_GONE:
            return 141
        complain(f"caliban: standard output cannot be written: {os.strerror(error.errno or 0)}\n")
        return 1
    return 0


def print_text(text: str) -> int:
    """Write `text` to standard output, as UTF-8 whatever is in it; the exit code is that of `write_out`."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        from caliban_common.text import clean

        data = clean(text).encode()
    return write_out(data)


def print_lines(lines: Iterable[str]) -> int:
    """Write `lines` to standard output, each with its line feed; see `print_text`."""
    return print_text("".join(f"{line}\n" for line in lines))


def complain(text: str) -> None:
    """Write `text` to standard error; nobody listening is no reason to fail."""
    try:
        if sys.stderr.isatty():
            from caliban_common.terminal import visible

            text = visible(text)
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass
