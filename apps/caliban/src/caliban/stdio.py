"""The three standard streams as the program finds them: closed, full, or read by nobody."""

from __future__ import annotations

import errno
import os
import sys

READER_GONE = (errno.EPIPE, errno.ECONNRESET)


def hold_standard_descriptors() -> None:
    """Put the null device where a standard stream is closed.

    The number of a closed stream goes to the next file that is opened: what is printed would end up in a
    session or a socket.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = os.fdopen(1, "w", closefd=False)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", closefd=False)


def write_out(data: bytes) -> int:
    """Write `data` to standard output; the exit code: 0, 141 when its reader is gone, 1 with words else."""
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


def complain(text: str) -> None:
    """Write `text` to standard error; nobody listening is no reason to fail."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass
