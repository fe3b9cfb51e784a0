"""Names that must not come to be: an empty directory stands at each while programs run, and goes with them.

A mount needs something to lie on, so a protected name that is not there yet is made for the time of a call.
Such a ghost is told by its time stamp, so that one which a crash left behind is known and put away by the
next run; whoever needs it holds a shared lock on it, and the last one puts it away (SB3). They are moved out
of a pool and back into it: to remove a directory takes a file system up to 4 ms, and a call has forty.
"""

from __future__ import annotations

import fcntl
import os
import stat
from typing import Final

from caliban_sandbox.pool import GhostPool

_STAMP: Final = 1
"""Seconds after 1970: when a ghost was changed, as far as it says."""
_TRIES: Final = 8
_WALK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Ghosts:
    """The ghosts that one call of a program needs. Close it when the program has ended."""

    def __init__(self, pool: GhostPool | None = None) -> None:
        self._pool = GhostPool(None) if pool is None else pool
        self._held: list[tuple[str, int, bytes | None]] = []

    def hold(self, path: str, content: str | None = None) -> bool:
        """See to it that there is something at `path`: a directory, or a file with `content`.

        False where nothing can be made there: then no program can make anything there either. What is there
        and is no ghost is left as it is.
        """
        data = None if content is None else content.encode()
        for _ in range(_TRIES):
            if not _made(path, data, self._pool):
                return os.path.lexists(path)
            held = _locked(path)
            if held is None:
                continue
            if _is_ghost(held, data):
                self._held.append((path, held, data))
                self._stamp_above(path)
            else:
                os.close(held)
            return True
        return False

    def _stamp_above(self, path: str) -> None:
        """A ghost in a ghost has changed that one."""
        above = os.path.dirname(path)
        if any(other == above for other, _, _ in self._held):
            os.utime(above, (_STAMP, _STAMP), follow_symlinks=False)

    def close(self) -> None:
        """Remove the ghosts that nobody else holds, the deepest first."""
        for path, held, data in sorted(self._held, reverse=True):
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                # A directory that is not empty stays, whatever its stamp says by now.
                if not _is_same(path, held):
                    continue
                if _is_ghost(held, data):
                    _put_away(path, held, data, self._pool)
                elif data is None:
                    os.rmdir(path)
            except OSError:
                pass  # somebody holds it, or has put something into it
            finally:
                os.close(held)
        self._held.clear()


def _put_away(path: str, held: int, data: bytes | None, pool: GhostPool) -> None:
    if data is not None:
        os.unlink(path)
    elif not pool.took(path, lambda: _is_ghost(held, None) and not os.listdir(held)):
        os.rmdir(path)


def _made(path: str, data: bytes | None, pool: GhostPool) -> bool:
    """Whether there is something at `path`, made now if need be."""
    try:
        if data is None and pool.gave(path):
            return True
        if data is None:
            os.mkdir(path, 0o755)
        else:
            number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
            try:
                os.write(number, data)
            finally:
                os.close(number)
        os.utime(path, (_STAMP, _STAMP), follow_symlinks=False)
    except FileExistsError:
        return True
    except OSError:
        return False
    return True


def _locked(path: str) -> int | None:
    """A descriptor of what is at `path`, under a shared lock; `None` where it went meanwhile."""
    try:
        number = os.open(path, _WALK)
    except OSError:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        pass  # a file system without locks, or one who is about to remove it: the next look tells
    if _is_same(path, number):
        return number
    os.close(number)
    return None


def _is_same(path: str, number: int) -> bool:
    try:
        there, own = os.lstat(path), os.fstat(number)
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (own.st_dev, own.st_ino)


def _is_ghost(number: int, data: bytes | None) -> bool:
    """Whether nobody has touched it: an empty directory, or a file with nothing but our content."""
    status = os.fstat(number)
    if int(status.st_mtime) != _STAMP:
        return False
    if data is None:
        return stat.S_ISDIR(status.st_mode)
    return stat.S_ISREG(status.st_mode) and os.pread(number, len(data) + 1, 0) == data
