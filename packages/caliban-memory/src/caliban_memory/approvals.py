"""Which files from outside a project may be imported there: exactly those, with exactly these bytes.

A file of approvals is believed only where it belongs to the user and nobody else may write it.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from caliban_common.errors import CalibanError
from caliban_common.filelock import try_lock
from caliban_common.files import (
    BINARY,
    NOFOLLOW,
    FileFailed,
    ensure_private_dir,
    read_regular,
    write_atomic,
)
from caliban_memory.errors import MemoryFailed

VERSION: Final = 1
MAX_BYTES: Final = 4 << 20
LOCK_TRIES, LOCK_PAUSE_S = 100, 0.02
_DIGEST: Final = "[0-9a-f]{64}"


class ImportApproval(Struct, frozen=True, kw_only=True):
    """A person's word: the project at `root` may import the file `target`, both canonical.

    It holds while the file's text has the digest `sha256`.
    """

    root: str
    target: str
    sha256: str
    approved_at: str


class _File(Struct, frozen=True, kw_only=True):
    version: int
    imports: tuple[ImportApproval, ...] = ()


class ImportApprovals:
    """The approvals in the file `path`. Making this value touches nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def load(self) -> tuple[ImportApproval, ...]:
        """All approvals. Raises `MemoryFailed` where they cannot be believed: then there are none."""
        try:
            status = self.path.lstat()
        except (OSError, ValueError):
            return ()
        try:
            _check(self.path, status)
            data = read_regular(self.path, max_bytes=MAX_BYTES)
            file = msgspec.json.decode(data, type=_File)
        except CalibanError as error:
            raise MemoryFailed(f"no import is approved: {error.message}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._damaged(str(error)) from error
        if file.version != VERSION:
            raise self._damaged(f"its version is {file.version}, not {VERSION}")
        if not all(re.fullmatch(_DIGEST, one.sha256) for one in file.imports):
            raise self._damaged("a digest in it is none")
        return file.imports

    def find(self, root: Path, target: Path) -> str | None:
        """The digest that `target` was approved with for the project at `root`. Raises `MemoryFailed`."""
        place = (str(root), str(target))
        return next((one.sha256 for one in self.load() if (one.root, one.target) == place), None)

    def keep(self, approvals: Iterable[ImportApproval]) -> None:
        """Add `approvals`, each in the place of the one that its file had. Raises `MemoryFailed`."""
        fresh = {(one.root, one.target): one for one in approvals}
        with self._locked():
            known = {(one.root, one.target): one for one in self.load()}
            self._write((known | fresh).values())

    def revoke(self, root: Path, target: Path | None = None) -> int:
        """Take back one approval of a project, or all of them; how many. Raises `MemoryFailed`."""
        with self._locked():
            known = self.load()
            left = [
                one
                for one in known
                if one.root != str(root) or (target is not None and one.target != str(target))
            ]
            if len(left) < len(known):
                self._write(left)
            return len(known) - len(left)

    def _write(self, approvals: Iterable[ImportApproval]) -> None:
        ordered = tuple(sorted(approvals, key=lambda one: (one.root, one.target)))
        try:
            text = msgspec.json.encode(_File(version=VERSION, imports=ordered))
            write_atomic(self.path, msgspec.json.format(text, indent=2) + b"\n", mode=0o600)
        except UnicodeEncodeError as error:
            raise MemoryFailed("the path of an import is no text: it cannot be approved") from error
        except FileFailed as error:
            raise MemoryFailed(error.message, hint=error.hint) from error

    @contextmanager
    def _locked(self) -> Iterator[None]:
        flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | BINARY | getattr(os, "O_CLOEXEC", 0)
        lock = self.path.with_suffix(".lock")
        try:
            ensure_private_dir(self.path.parent)
            descriptor = os.open(lock, flags, 0o600)
        except FileFailed as error:
            raise MemoryFailed(error.message, hint=error.hint) from error
        except OSError as error:
            raise MemoryFailed(f"{lock} cannot be locked: {error.strerror or error}") from error
        try:
            for _ in range(LOCK_TRIES):
                if try_lock(descriptor):
                    break
                time.sleep(LOCK_PAUSE_S)
            else:
                raise MemoryFailed(f"another process has locked {lock}", hint="try again once it has ended")
            yield
        finally:
            os.close(descriptor)

    def _damaged(self, why: str) -> MemoryFailed:
        hint = "move it away, and approve again of what you approve of"
        return MemoryFailed(f"no import is approved: {self.path} is damaged ({why})", hint=hint)


def _check(path: Path, status: os.stat_result) -> None:
    """Refuse what others could have written."""
    if stat.S_ISLNK(status.st_mode):
        raise MemoryFailed(f"{path} is a link")
    if os.name != "posix":
        return
    if status.st_uid != os.geteuid():
        raise MemoryFailed(f"{path} belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise MemoryFailed(f"{path} can be written by others")
