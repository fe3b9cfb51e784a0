"""The rules of a profile for files: of two paths the deeper one wins, and nothing protected is moved away."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

from caliban_sandbox.errors import SandboxError
from caliban_sandbox.policy import FilePolicy

_ALWAYS_READ: Final = ("/System", "/usr/lib", "/private/var/db/dyld", "/private/var/db/timezone")
"""Without these no program starts."""

_REPOSITORY: Final = ".git"
_EXECUTED: Final = ("hooks", "config", "config.worktree", "info/attributes", "commondir", "gitdir")
"""What of a repository decides which programs git runs; the rest of it git has to write."""


class ParameterTable:
    """Paths and names as parameters of the profile; one text has one parameter."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def reference(self, value: str) -> str:
        """How the profile speaks of `value`. Raises `SandboxError` for what is no argument of a program."""
        try:
            os.fsencode(value)
        except UnicodeEncodeError:
            raise SandboxError(f"{value!r} has characters that no file name has") from None
        if "\0" in value:
            raise SandboxError(f"{value!r} has a NUL in it")
        name = self._names.setdefault(value, f"P{len(self._names)}")
        return f'(param "{name}")'

    def definitions(self) -> tuple[tuple[str, str], ...]:
        """Names and values."""
        return tuple((name, value) for value, name in self._names.items())


def file_rules(files: FilePolicy, table: ParameterTable) -> Iterator[str]:
    """Rules in the order in which Seatbelt takes them: the last one that fits decides."""
    for paths in (files.readable or (), files.hidden, files.writable, files.protected):
        _refuse_odd(paths)
    if files.readable is None:
        yield "(allow file-read* file-map-executable)"
    else:
        # Whoever opens a file passes what is above it.
        yield "(allow file-read-metadata)"
        yield '(allow file-read* (literal "/"))'
        for path in _ALWAYS_READ:
            yield f'(allow file-read* file-map-executable (subpath "{path}"))'
    ranked = [
        *((_depth(path), 0, path) for path in files.readable or ()),
        *((_depth(path), 1, path) for path in files.writable),
        *((_depth(path), 2, path) for path in files.protected),
        *((_depth(path), 3, path) for path in files.hidden),
    ]
    for _, rank, path in sorted(ranked):
        yield from _path_rules(rank, path, table)
    yield from _standing(files, table)


def _path_rules(rank: int, path: str, table: ParameterTable) -> Iterator[str]:
    place = f"(subpath {table.reference(path)})"
    if rank == 0:
        yield f"(allow file-read* file-map-executable {place})"
    elif rank == 1:
        yield f"(allow file-read* file-map-executable file-write* {place})"
    elif rank == 3:
        yield f"(deny file* {place})"
    elif PurePosixPath(path).name == _REPOSITORY:
        # A file of that name leads to the repository elsewhere, and must not lead anywhere else.
        yield f"(deny file-write* (require-all (literal {table.reference(path)}) (vnode-type REGULAR-FILE)))"
        for part in _EXECUTED:
            yield f"(deny file-write* (subpath {table.reference(f'{path}/{part}')}))"
        modules = f"(subpath {table.reference(f'{path}/modules')})"
        yield f'(deny file-write* (require-all {modules} (regex #"/(hooks|config|config.worktree)(/|$)")))'
    else:
        yield f"(deny file-write* {place})"


def _standing(files: FilePolicy, table: ParameterTable) -> Iterator[str]:
    """Nothing protected or hidden, nor what is above it, is unlinked or renamed: it would be elsewhere."""
    kept: set[str] = set()
    for path in (*files.protected, *files.hidden):
        parts = [path]
        if path in files.protected and PurePosixPath(path).name == _REPOSITORY:
            parts += [f"{path}/info", f"{path}/modules"]
        for part in parts:
            kept.update((part, *map(str, PurePosixPath(part).parents)))
    for path in sorted(kept - {"/"}):
        yield f"(deny file-write-unlink (literal {table.reference(path)}))"


def _refuse_odd(paths: tuple[str, ...]) -> None:
    for path in paths:
        if not path.startswith("/") or os.path.normpath(path) != path or path.startswith("//"):
            raise SandboxError(f"{path!r} is no absolute path in its shortest spelling")


def _depth(path: str) -> int:
    return path.rstrip("/").count("/")
