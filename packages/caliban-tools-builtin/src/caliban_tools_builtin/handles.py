"""Opening admitted places by directory handles, component by component, without following a link.

Between the check of a path and its use another process may swap a directory for a link. A walk that opens
each component below the last handle cannot be led astray: it fails (security.md SB11). Where the system has
no such calls (Windows), the handle is `NO_HANDLE` and paths are opened by name.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK
from caliban_tools_builtin.errors import FileMissing, FileRefused
from caliban_tools_builtin.fence import AdmittedPath

NO_HANDLE = -1
SUPPORTED = os.open in os.supports_dir_fd and os.rename in os.supports_dir_fd and NOFOLLOW != 0
_CLOEXEC = getattr(os, "O_CLOEXEC", 0)
_PASSES = hasattr(os, "O_PATH")
"""Whether a directory can be passed through that may not be read."""
_WALK = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | NOFOLLOW | _CLOEXEC
_REASONS: Mapping[int, str] = {
    errno.EACCES: "may not be accessed (permission denied)",
    errno.EPERM: "may not be changed (operation not permitted)",
    errno.EISDIR: "is a directory",
    errno.ENOTDIR: "leads through something that is not a directory",
    errno.ELOOP: "leads through a link that was not there before, or through a loop of links",
    errno.ENAMETOOLONG: "is too long a name",
    errno.ENOSPC: "cannot be written: the disk is full",
    errno.EROFS: "lies on a read-only file system",
}


@contextmanager
def parent_of(place: AdmittedPath, *, create: bool = False) -> Iterator[int]:
    """A handle of the directory that holds `place`; with `create`, missing directories are made.

    Raises `FileRefused`, which is `FileMissing` when a directory is missing.
    """
    if not SUPPORTED:
        yield NO_HANDLE
        return
    try:
        handle = _parent(place, create=create)
    except OSError as error:
        raise refused(place, error) from error
    try:
        yield handle
    finally:
        os.close(handle)


@contextmanager
def directory(place: AdmittedPath) -> Iterator[int]:
    """A handle of the directory that `place` names. Raises `FileRefused`."""
    if not SUPPORTED:
        yield NO_HANDLE
        return
    try:
        handle = _walk(place, place.path.relative_to(place.root).parts, create=False)
    except OSError as error:
        raise refused(place, error) from error
    try:
        yield handle
    finally:
        os.close(handle)


def status_of(place: AdmittedPath, parent: int) -> os.stat_result | None:
    """The status of the regular file `place` below its parent's handle, or `None` if there is nothing.

    A directory, device, socket or FIFO is refused without being opened. Raises `FileRefused`.
    """
    try:
        name, below = _at(place, parent)
        status = os.stat(name, dir_fd=below, follow_symlinks=False)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refused(place, error) from error
    if stat.S_ISREG(status.st_mode):
        return status
    if stat.S_ISDIR(status.st_mode):
        raise FileRefused(f"{place.shown} is a directory", hint="list it with Glob")
    raise FileRefused(f"{place.shown} is not a regular file")


def open_file(place: AdmittedPath, parent: int, flags: int) -> int:
    """Open the regular file `place` below its parent's handle, without following a link.

    Raises `FileRefused`.
    """
    name, below = _at(place, parent)
    try:
        descriptor = os.open(name, flags | BINARY | NONBLOCK | NOFOLLOW | _CLOEXEC, dir_fd=below)
    except OSError as error:
        raise refused(place, error) from error
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise FileRefused(f"{place.shown} is not a regular file")


def enter(name: str, handle: int) -> int:
    """A handle of the directory `name` below `handle`; a link is not followed. Raises `OSError`."""
    return os.open(name, _WALK, dir_fd=handle)


def working_directory(place: AdmittedPath, handle: int) -> str:
    """A path by which a child process enters the opened directory itself, where the system has one."""
    if handle == NO_HANDLE:
        return str(place.path)
    through_handle = Path(f"/proc/self/fd/{handle}")
    return str(through_handle if through_handle.is_dir() else place.path)


def refused(place: AdmittedPath, error: OSError) -> FileRefused:
    """What the model is told when the operating system refuses."""
    if error.errno == errno.ENOENT:
        return FileMissing(f"{place.shown} does not exist")
    reason = _REASONS.get(error.errno or 0) or f"failed: {(error.strerror or str(error)).lower()}"
    return FileRefused(f"{place.shown} {reason}")


def _at(place: AdmittedPath, parent: int) -> tuple[str, int | None]:
    """The name of `place` and the handle that it is relative to."""
    return (str(place.path), None) if parent == NO_HANDLE else (place.path.name, parent)


def _parent(place: AdmittedPath, *, create: bool) -> int:
    parts = place.path.relative_to(place.root).parts
    if parts:
        return _walk(place, parts[:-1], create=create)
    return _descend(_top(place.root), place.root.parts[1:-1])  # a root itself, which may be a single file


def _walk(place: AdmittedPath, parts: tuple[str, ...], *, create: bool) -> int:
    return _descend(_root(place), parts, create=create)


def _root(place: AdmittedPath) -> int:
    """A handle of the root: the directory that it was at first, else what its name leads to without links.

    The name alone would not do: a directory above the root may have been swapped for a link since.
    """
    root = place.root
    handle = os.open(root, _WALK)
    if place.identity is None and (root == root.parent or not _PASSES):
        return handle
    status = os.fstat(handle)
    if (status.st_dev, status.st_ino) == place.identity:
        return handle
    os.close(handle)
    return _descend(_top(root), root.parts[1:])


def _top(path: Path) -> int:
    return os.open(path.anchor, _WALK)


def _descend(handle: int, parts: tuple[str, ...], *, create: bool = False) -> int:
    """The handle of what is below `handle`, which is closed, on the way `parts`, none of them a link."""
    for part in parts:
        try:
            below = _step(part, handle, create=create)
        finally:
            os.close(handle)
        handle = below
    return handle


def _step(part: str, handle: int, *, create: bool) -> int:
    try:
        return enter(part, handle)
    except FileNotFoundError:
        if not create:
            raise
    try:
        os.mkdir(part, dir_fd=handle)
    except FileExistsError:
        pass  # made by somebody else meanwhile, or a link that leads nowhere: the next line decides
    return enter(part, handle)
