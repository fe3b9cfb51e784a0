"""The writer of the log: whole lines behind each other, whoever else writes at the same time.

A line is one `write` of a file opened for appending, under a lock that is held for microseconds; whoever
rotates the file takes the same lock. So no line is torn by another, and none goes to a file that is about to
be compressed. A line is with the system before the call that it is about runs: killing loses none.
It is not awaited on the disk, which takes milliseconds (ADR 0041).
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from caliban_common.filelock import is_at
from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK, FileFailed, ensure_private_dir, failed
from caliban_permissions.audit.archive import compress_left, lock, move_away, unlock
from caliban_permissions.audit.entry import AuditEntry, audit_line
from caliban_permissions.errors import AuditFailed

LOG_NAME: Final = "permission-decisions.jsonl"
MAX_BYTES: Final = 100 * 1024 * 1024
LOCK_TRIES: Final = 200
LOCK_PAUSE_S: Final = 0.005


def _utc_now() -> datetime:
    return datetime.now(UTC)


class AuditLog:
    """The log in `directory`. `mask` takes known secrets out; beyond `max_bytes` a file is put away."""

    def __init__(
        self,
        directory: Path,
        *,
        mask: Callable[[str], str] = str,
        max_bytes: int = MAX_BYTES,
        clock: Callable[[], datetime] = _utc_now,
    ) -> None:
        self._directory = directory
        self._path = directory / LOG_NAME
        self._mask = mask
        self._max_bytes = max_bytes
        self._clock = clock
        self._descriptor: int | None = None

    def write(self, entry: AuditEntry) -> None:
        """Append the line for `entry`; on return the system has it. Raises `AuditFailed`."""
        now = self._clock()
        line = audit_line(entry, now, self._mask)
        try:
            descriptor = self._locked()
            try:
                _append(descriptor, line)
                if os.fstat(descriptor).st_size > self._max_bytes:
                    move_away(self._path, now)
            finally:
                unlock(descriptor)
        except (OSError, ValueError) as error:
            self._forget()
            reason = failed("write", self._path, error)
            raise AuditFailed(reason.message, hint=reason.hint) from error
        except FileFailed as error:
            raise AuditFailed(error.message, hint=error.hint) from error

    def close(self) -> None:
        """Wait until the disk has what was written, and compress what was put away. Raises `AuditFailed`."""
        descriptor, self._descriptor = self._descriptor, None
        try:
            if descriptor is not None:
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
            compress_left(self._directory)
        except (OSError, ValueError) as error:
            raise AuditFailed(failed("finish", self._path, error).message) from error

    def _locked(self) -> int:
        """The log, locked, and still the file of its name: it may have been put away meanwhile."""
        for attempt in range(LOCK_TRIES):
            if self._descriptor is None:
                self._descriptor = _open(self._path)
            if not lock(self._descriptor) and attempt < LOCK_TRIES - 1:
                time.sleep(LOCK_PAUSE_S)  # somebody was stopped amid a write; at the end we go on without it
            elif is_at(self._descriptor, self._path):
                return self._descriptor
            else:
                self._forget()
        raise OSError("it is moved away again and again")

    def _forget(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _open(path: Path) -> int:
    """The log, open for appending; a new one is for its owner only, whatever the umask says."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | NOFOLLOW | NONBLOCK | BINARY
    if not path.parent.is_dir():
        ensure_private_dir(path.parent)
    descriptor = os.open(path, flags | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("it is no regular file")
        if hasattr(os, "fchmod") and stat.S_IMODE(status.st_mode) & 0o077:
            os.fchmod(descriptor, 0o600)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _append(descriptor: int, line: bytes) -> None:
    """Write the whole of `line`, or nothing; whoever was killed amid a line before us loses only that one."""
    size = os.fstat(descriptor).st_size
    if size and _last_byte(descriptor, size) != b"\n":
        line = b"\n" + line
    written = os.write(descriptor, line)
    if written < len(line):
        os.ftruncate(descriptor, size)
        raise OSError("the disk is full")


def _last_byte(descriptor: int, size: int) -> bytes:
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1)
