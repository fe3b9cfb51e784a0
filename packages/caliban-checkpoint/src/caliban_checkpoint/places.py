"""The roots below which files are looked at and put back, reached by directory handles.

Every component is opened below the last one without following a link, so a link that somebody plants between
two looks is met and not followed (security.md K9, SB11).
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct

from caliban_checkpoint.errors import CheckpointFailed, PlaceRefused
from caliban_checkpoint.state import ABSENT, DIRECTORY, FileState, is_text
from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK

SUPPORTED: Final = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd and NOFOLLOW != 0
MAX_HASHED_BYTES: Final = 256 << 20
"""A larger file is known by its status alone."""

MAX_BELOW: Final = 10_000
"""What is looked at in a directory that stands in the place of a file."""

_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_WALK = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NOFOLLOW | _CLOEXEC
_LINKED = (errno.ELOOP, errno.ENOTDIR)
_KINDS = (
    (stat.S_ISDIR, DIRECTORY.target),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class Place(Struct, frozen=True, kw_only=True):
    """A path below a root: `parts` lead from `root` to it, and there is at least one."""

    path: str
    root: str
    parts: tuple[str, ...]


class Look(Struct, frozen=True, kw_only=True):
    """What was at a place: its state, its bytes where they were asked for, and the mark of its version."""

    state: FileState
    data: bytes | None = None
    mark: tuple[int, ...] = ()


class Roots:
    """The directories that checkpoints speak of, the workspace first. Links in their names are resolved."""

    def __init__(self, roots: Sequence[Path]) -> None:
        self.paths: tuple[str, ...] = tuple(os.path.realpath(root) for root in roots)

    def add(self, root: Path) -> None:
        """From now on `root` is one of them too."""
        self.paths = tuple(dict.fromkeys((*self.paths, os.path.realpath(root))))

    def place(self, path: str) -> Place:
        """The place of an absolute `path` that holds no link. Raises `PlaceRefused`."""
        if "\0" in path or not path.startswith(os.sep) or os.path.normpath(path) != path:
            raise PlaceRefused(f"{path!r} is no canonical path")
        for root in self.paths:
            if path != root and path.startswith(root if root.endswith(os.sep) else root + os.sep):
                parts = Path(os.path.relpath(path, root)).parts
                if any(part.casefold() == ".git" for part in parts):
                    raise PlaceRefused(f"{path} is one of git's own files")
                return Place(path=path, root=root, parts=parts)
        raise PlaceRefused(f"{path} is outside of the workspace")

    def shown(self, path: str) -> str:
        """`path` as people read it: relative to the workspace where it lies inside."""
        workspace = self.paths[0]
        return os.path.relpath(path, workspace) if path.startswith(workspace + os.sep) else path


def look(place: Place, *, keep_bytes: int = 0) -> Look:
    """What is at `place` now, with its bytes where it is a file of at most `keep_bytes`.

    Raises `PlaceRefused` where a link leads to it, and `CheckpointFailed`.
    """
    try:
        with parent_of(place) as parent:
            return look_at(place.parts[-1], parent, keep_bytes=keep_bytes)
    except FileNotFoundError:
        return Look(state=ABSENT)
    except OSError as error:
        raise refused(place, error) from error


def look_at(name: str, parent: int, *, keep_bytes: int = 0) -> Look:
    """The same for `name` in an open directory. Raises `OSError`."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return Look(state=ABSENT)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(name, dir_fd=parent)
        if not is_text(target):
            state = FileState(kind="other", target="a link to a name that is no text")
            return Look(state=state, mark=mark_of(status))
        return Look(state=FileState(kind="link", target=target), mark=mark_of(status))
    if not stat.S_ISREG(status.st_mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(status.st_mode)), "a special file")
        return Look(state=FileState(kind="other", target=kind), mark=mark_of(status))
    descriptor = os.open(name, os.O_RDONLY | NOFOLLOW | NONBLOCK | BINARY | _CLOEXEC, dir_fd=parent)
    try:
        return _look_inside(descriptor, keep_bytes)
    finally:
        os.close(descriptor)


def mark_of(status: os.stat_result) -> tuple[int, ...]:
    """What changes when a file is written or replaced."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode))


def below(place: Place) -> tuple[list[str], list[str]] | None:
    """The directory at `place` and those below it, the inner ones first, and all else there is in them.

    Paths are absolute. No link is followed; a directory that cannot be looked into counts as something else.
    `None` where there are too many.
    """
    folders: list[str] = []
    others: list[str] = []
    waiting = [place.path]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(folder))
        except OSError:
            others.append(folder)
            continue
        folders.append(folder)
        for entry in entries:
            (waiting if entry.is_dir(follow_symlinks=False) else others).append(entry.path)
        if len(folders) + len(others) + len(waiting) > MAX_BELOW:
            return None
    return folders[::-1], others


@contextmanager
def parent_of(place: Place, *, create: bool = False) -> Iterator[int]:
    """A handle of the directory that holds `place`; with `create`, missing ones are made.

    Raises `OSError`.
    """
    handle = os.open(place.root, _WALK)
    try:
        for part in place.parts[:-1]:
            below = _step(part, handle, create=create)
            os.close(handle)
            handle = below
        yield handle
    finally:
        os.close(handle)


def missing_directories(place: Place) -> tuple[str, ...]:
    """The directories on the way to `place` that do not exist, the outermost first, as absolute paths."""
    handle = os.open(place.root, _WALK)
    path = Path(place.root)
    try:
        for index, part in enumerate(place.parts[:-1]):
            try:
                below = os.open(part, _WALK, dir_fd=handle)
            except FileNotFoundError:
                rest = place.parts[index:-1]
                return tuple(str(path.joinpath(*rest[: count + 1])) for count in range(len(rest)))
            os.close(handle)
            handle, path = below, path / part
    except OSError:
        return ()
    finally:
        os.close(handle)
    return ()


def refused(place: Place, error: OSError) -> PlaceRefused | CheckpointFailed:
    """What to say where the system refuses."""
    if error.errno in _LINKED:
        return PlaceRefused(f"{place.path}: a link, or something that is no directory, leads to it")
    return CheckpointFailed(f"{place.path}: {(error.strerror or str(error)).lower()}")


def _step(part: str, handle: int, *, create: bool) -> int:
    try:
        return os.open(part, _WALK, dir_fd=handle)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(part, dir_fd=handle)
    except FileExistsError:
        pass  # made meanwhile, or a link that leads nowhere: the next line decides
    return os.open(part, _WALK, dir_fd=handle)


def _look_inside(descriptor: int, keep_bytes: int) -> Look:
    status = os.fstat(descriptor)
    size, mode = status.st_size, stat.S_IMODE(status.st_mode) & 0o777
    if size > MAX_HASHED_BYTES:
        sha256 = f"stat-{status.st_ino}-{status.st_mtime_ns}"
        return Look(state=FileState(kind="file", sha256=sha256, mode=mode, size=size), mark=mark_of(status))
    digest, parts, total = hashlib.sha256(), [], 0
    while chunk := os.read(descriptor, 1 << 20):
        digest.update(chunk)
        total += len(chunk)
        if total <= keep_bytes:
            parts.append(chunk)
    state = FileState(kind="file", sha256=digest.hexdigest(), mode=mode, size=total)
    return Look(state=state, data=b"".join(parts) if total <= keep_bytes else None, mark=mark_of(status))
