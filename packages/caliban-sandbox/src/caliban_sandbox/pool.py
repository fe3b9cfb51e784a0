"""Empty directories that are kept for the next call: to move one takes 10 µs, to remove one up to 4 ms.

Nothing is ever replaced by a move (`RENAME_NOREPLACE`). Where the system has no such call, or the pool lies
on another file system than the workspace, there is none, and directories are made and removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from caliban_common.files import FileFailed, ensure_private_dir

_AT_FDCWD: Final = -100
_NOREPLACE: Final = 1
_MOST: Final = 256
"""Directories in a pool: more are removed."""


class _Rename(Protocol):
    def __call__(self, old_at: int, old: bytes, new_at: int, new: bytes, flags: int, /) -> int: ...


class GhostPool:
    """The directory `path`, which no program in a sandbox may reach, and the empty ones in it.

    Several processes may share it. `None` is a pool without anything, into which nothing goes.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._rename: _Rename | None = None
        self._names: list[str] = []
        self._serial = 0

    def gave(self, path: str) -> bool:
        """Whether a directory of the pool stands at `path` now, where nothing was."""
        if not self._is_open():
            return False
        if not self._names:
            self._names = self._listed()
        while self._names:
            if self._moved(f"{self._path}/{self._names.pop()}", path):
                return True
            if os.path.lexists(path):
                return False
        return False

    def took(self, path: str, is_untouched: Callable[[], bool]) -> bool:
        """Whether the directory at `path` is in the pool now: not where somebody has put something in."""
        if not self._is_open() or len(self._names) >= _MOST:
            return False
        self._serial += 1
        name = f"{os.getpid()}-{self._serial}-{os.urandom(4).hex()}"
        if not self._moved(path, f"{self._path}/{name}"):
            return False
        if is_untouched():
            self._names.append(name)
            return True
        self._moved(f"{self._path}/{name}", path)
        return False

    def _is_open(self) -> bool:
        if self._path is None:
            return False
        if self._rename is None:
            self._rename = _system_call()
            try:
                ensure_private_dir(Path(self._path))
            except FileFailed:
                self._rename = None
        if self._rename is None:
            self._path = None
        return self._path is not None

    def _listed(self) -> list[str]:
        try:
            with os.scandir(self._path) as entries:
                return [entry.name for entry in entries][:_MOST]
        except OSError:
            return []

    def _moved(self, old: str, new: str) -> bool:
        assert self._rename is not None, "an open pool has it"
        return self._rename(_AT_FDCWD, os.fsencode(old), _AT_FDCWD, os.fsencode(new), _NOREPLACE) == 0


def _system_call() -> _Rename | None:
    import ctypes

    try:
        rename: _Rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError):
        return None
    return rename
