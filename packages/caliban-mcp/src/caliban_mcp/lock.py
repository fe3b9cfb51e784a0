"""A lock between processes, held for a moment: whoever writes is alone."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from caliban_common.filelock import try_lock
from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK, failed
from caliban_mcp.errors import PinsUnusable

TRIES: Final = 200
PAUSE_S: Final = 0.025


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Nobody else is between these lines for the same `path`.

    It may sleep: no event loop should run it itself. Raises `PinsUnusable` where somebody never ends.
    """
    flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise failed("lock", path, error) from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise PinsUnusable(f"{path} is no regular file")
        for _ in range(TRIES):
            if try_lock(descriptor):
                break
            time.sleep(PAUSE_S)
        else:
            raise PinsUnusable(f"another process has locked {path}", hint="try again once it has ended")
        yield
    finally:
        os.close(descriptor)  # this ends the lock as well
