"""Directories that commands see in the place of /tmp: one for each process, gone with it.

A process that is killed cannot remove its own. Each is locked for as long as its process lives, which the
system sees to, so the next one that needs such a directory knows which are nobody's and removes them.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from typing import Final

from msgspec import Struct

PREFIX: Final = "caliban-tmp-"


class Scratch(Struct, frozen=True, kw_only=True):
    """One directory, and the descriptor that holds its lock; `None` where the file system has no locks."""

    path: str
    lock: int | None

    def close(self) -> None:
        """Remove it, whatever is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self.lock is not None:
            os.close(self.lock)


def make_scratch() -> Scratch:
    """A new directory for this process; those of processes that are no more are removed. Blocks."""
    _sweep(tempfile.gettempdir())
    while True:
        path = os.path.realpath(tempfile.mkdtemp(prefix=PREFIX))
        try:
            return Scratch(path=path, lock=_locked(path))
        except (BlockingIOError, FileNotFoundError):
            continue  # another process took it for one that is nobody's, before it was locked
        except OSError:
            return Scratch(path=path, lock=None)  # without locks nobody removes those of others either


def _sweep(folder: str) -> None:
    try:
        paths = [
            entry.path for entry in os.scandir(folder) if entry.name.startswith(PREFIX) and _is_own(entry)
        ]
    except OSError:
        return
    for path in paths:
        try:
            lock = _locked(path)
        except OSError:
            continue
        Scratch(path=path, lock=lock).close()


def _is_own(entry: os.DirEntry[str]) -> bool:
    return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid()


def _locked(path: str) -> int:
    """A descriptor of the directory with its lock.

    Raises `BlockingIOError` where another one has it, `FileNotFoundError` where it is gone, and other errors
    where it cannot be locked at all.
    """
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), os.lstat(path)):
            raise FileNotFoundError(path)
    except OSError:
        os.close(handle)
        raise
    return handle
