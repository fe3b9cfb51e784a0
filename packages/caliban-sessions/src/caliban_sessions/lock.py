"""One writer per session: a lock that the system lets go of when its holder dies."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from caliban_common.filelock import is_at, try_lock
from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK
from caliban_sessions.errors import SessionBusy, SessionWriteError


class Lock:
    """The lock of one session, held from `take` to `release` or to the death of the process.

    The system binds it to the open file: a leftover file of a dead process blocks nobody. A child made by a
    bare `os.fork` shares it; programs that are started do not.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    @classmethod
    def take(cls, path: Path, *, name: str) -> Lock:
        """Lock `path`. Raises `SessionBusy` with the holder's pid, `SessionWriteError` when locking fails."""
        while True:
            descriptor = _open(path)
            try:
                if not try_lock(descriptor):
                    raise _busy(name, _pid_in(descriptor))
                if is_at(descriptor, path):
                    _write_pid(descriptor)
                    return cls(path, descriptor)
            except OSError as error:
                os.close(descriptor)
                raise _unlockable(path, error) from error
            except SessionBusy:
                os.close(descriptor)
                raise
            os.close(
                descriptor
            )  # its holder removed the file between our open and our lock: take the new one

    def release(self) -> None:
        """Remove the file and let the next one in."""
        if os.name == "posix":  # while it is locked, so that nobody can hold a file that is about to vanish
            _remove(self._path)
        os.close(self._descriptor)
        if os.name != "posix":
            _remove(self._path)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0)
    try:
        descriptor = os.open(path, flags, 0o600)
    except OSError as error:
        raise _unlockable(path, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise _unlockable(path, OSError("it is not a regular file"))
    return descriptor


def _write_pid(descriptor: int) -> None:
    try:
        os.ftruncate(descriptor, 0)
        os.lseek(descriptor, 0, os.SEEK_SET)
        os.write(descriptor, b"%d\n" % os.getpid())
    except OSError:
        pass  # a full disk: the lock holds all the same, only its holder stays unnamed


def _pid_in(descriptor: int) -> int | None:
    try:
        os.lseek(descriptor, 0, os.SEEK_SET)
        return int(os.read(descriptor, 32))
    except (OSError, ValueError):
        return None


def _remove(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass  # a leftover blocks nobody


def _busy(name: str, pid: int | None) -> SessionBusy:
    holder = "another process" if pid is None else f"process {pid}"
    if pid == os.getpid():
        holder = f"this process ({pid})"
    return SessionBusy(
        f"session {name!r} is in use by {holder}",
        hint="fork it to go on from here in a session of its own; else open another one, or save nothing",
        pid=pid,
    ).with_remedy("session_fork", name)


def _unlockable(path: Path, error: OSError) -> SessionWriteError:
    reason = (error.strerror or str(error)).lower()
    return SessionWriteError(
        f"cannot lock {path}: {reason}",
        hint="keep sessions in a directory you can write, or save nothing",
    ).with_remedy("session_directory")
