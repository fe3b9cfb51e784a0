"""Locks on open files: the system lets go of one when its holder closes the file or dies."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_FAR: Final = 1 << 30
"""The byte that Windows locks, behind all that is ever written: others must be able to read what is."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this process alone, without waiting; false where another one holds it.

    Raises `OSError` where the file system knows no locks.
    """
    try:
        if sys.platform == "win32":
            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def unlock(descriptor: int) -> None:
    """Let the next one in. Raises `OSError` where the file system knows no locks."""
    if sys.platform == "win32":
        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
    else:
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is still the one of that name: whoever had the lock may have replaced it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    except FileNotFoundError:
        return False
