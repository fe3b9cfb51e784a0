"""Reading and writing files without surprises."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from caliban_common.errors import FileFailed, NotRegularFile, TooLarge
from caliban_common.text import clean

__all__ = [
    "BINARY",
    "NOFOLLOW",
    "NONBLOCK",
    "FileFailed",
    "NotRegularFile",
    "TooLarge",
    "ensure_private_dir",
    "failed",
    "read_canonical",
    "read_opened",
    "read_regular",
    "write_atomic",
]

NONBLOCK = getattr(os, "O_NONBLOCK", 0)
NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
BINARY = getattr(os, "O_BINARY", 0)
CHUNK_BYTES = 1 << 20


def read_regular(path: Path, *, max_bytes: int) -> bytes:
    """The whole of a regular file of at most `max_bytes`.

    A FIFO, device, socket or directory is refused without waiting and, where it was one before the call,
    without being opened. Raises `NotRegularFile`, `TooLarge`, `FileFailed`.
    """
    try:
        _refuse_special(path, path.stat())
        descriptor = os.open(path, os.O_RDONLY | NONBLOCK | BINARY | getattr(os, "O_CLOEXEC", 0))
    except (OSError, ValueError) as error:
        raise failed("read", path, error) from error
    return read_opened(descriptor, path, max_bytes=max_bytes)


def read_canonical(path: Path, *, max_bytes: int) -> bytes:
    """As `read_regular`, of a path that was found to have no link in it and is meant as that.

    It is walked by directory handles from the top: a link that was planted since is refused and not followed.
    """
    if not (NOFOLLOW and os.open in os.supports_dir_fd):
        return read_regular(path, max_bytes=max_bytes)
    walk = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0) | NOFOLLOW | os.O_CLOEXEC
    try:
        handle = os.open(path.anchor, walk)
        try:
            for part in path.parts[1:-1]:
                above, handle = handle, os.open(part, walk, dir_fd=handle)
                os.close(above)
            _refuse_special(path, os.stat(path.name, dir_fd=handle, follow_symlinks=False))
            flags = os.O_RDONLY | NONBLOCK | NOFOLLOW | os.O_CLOEXEC
            descriptor = os.open(path.name, flags, dir_fd=handle)
        finally:
            os.close(handle)
    except (OSError, ValueError) as error:
        raise failed("read", path, error) from error
    return read_opened(descriptor, path, max_bytes=max_bytes)


def read_opened(descriptor: int, path: Path, *, max_bytes: int) -> bytes:
    """The whole of the file behind `descriptor`, which is closed; `path` stands in errors.

    Raises as `read_regular` does.
    """
    try:
        status = os.fstat(descriptor)
        _refuse_special(path, status)
        if status.st_size > max_bytes:
            raise TooLarge(f"{path} has {status.st_size:,} bytes; at most {max_bytes:,} are read")
        return _read_all(descriptor, path, status.st_size, max_bytes)
    except OSError as error:
        raise failed("read", path, error) from error
    finally:
        os.close(descriptor)


def write_atomic(path: Path, data: bytes, *, mode: int | None = None, durable: bool = True) -> None:
    """Replace `path` by `data` so that every reader sees the old bytes or the new ones, never a mixture.

    The new file has `mode`, else the permissions of the old one without its set-id bits, else 0o600; it never
    has wider ones, not for an instant. `durable` waits until the bytes are on the disk. The path's last
    component is replaced even when it is a link: resolve it first where the link should stay. No device, pipe
    or socket is replaced. Raises `FileFailed`; the old file is then untouched.
    """
    try:
        _refuse_device(path)
        temporary = path.with_name(f".{path.name[:50]}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
        try:
            _write_new(temporary, data, mode=_mode_of(path) if mode is None else mode, durable=durable)
            temporary.replace(path)
        finally:
            _remove_quietly(temporary)
    except (OSError, ValueError) as error:
        raise failed("write", path, error) from error


def is_special(path: Path) -> bool:
    """Whether `path` is there and is neither a file nor a directory: a device, a pipe or a socket."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def write_through(path: Path, data: bytes) -> None:
    """Write `data` into what `is_special`. Raises `FileFailed`, also for a pipe that nobody reads.

    A reader who stops reading is waited for.
    """
    try:
        descriptor = os.open(path, os.O_WRONLY | NONBLOCK | BINARY | getattr(os, "O_NOCTTY", 0))
        try:
            if NONBLOCK:
                os.set_blocking(descriptor, True)
            _write_all(descriptor, data)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise FileFailed(f"cannot write {clean(str(path))}: nobody reads it") from error
        raise failed("write", path, error) from error


def ensure_private_dir(path: Path) -> None:
    """Make `path` and its missing parents; what is made is for its owner only. Raises `FileFailed`."""
    try:
        for folder in (*reversed(path.parents), path):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, exist_ok=True)
    except (OSError, ValueError) as error:
        raise failed("create", path, error) from error


def failed(verb: str, path: Path, error: OSError | ValueError) -> FileFailed:
    """The error that says that `verb` on `path` was refused, and why."""
    if isinstance(error, OSError):
        reason = (error.strerror or str(error)).lower()
        hint = _way_on(error)
    else:
        reason, hint = f"no file can have this name: {error}", None
    missing = isinstance(error, FileNotFoundError)
    return FileFailed(f"cannot {verb} {clean(str(path))}: {reason}", hint=hint, missing=missing)


_FULL = (errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC))


def _way_on(error: OSError) -> str | None:
    """What a person does about it, where that is known."""
    if error.errno in _FULL:
        return "free some space and try again"
    if isinstance(error, PermissionError):
        return "look whose it is, and each folder above it"
    if error.errno == errno.EROFS:
        return "look what it is mounted from: nothing can be written there"
    return None


def _refuse_special(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFile(f"{path} is {_kind(status.st_mode)}, not a regular file")


def _refuse_device(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode) or stat.S_ISDIR(mode)):
        raise NotRegularFile(f"{path} is {_kind(mode)}, not a regular file")


def _read_all(descriptor: int, path: Path, size_bytes: int, max_bytes: int) -> bytes:
    """All there is; in one piece where that is the `size_bytes` that are told, so that nothing is copied."""
    parts: list[bytes] = []
    total = 0
    while chunk := os.read(descriptor, max(size_bytes - total, CHUNK_BYTES)):
        total += len(chunk)
        if total > max_bytes:
            raise TooLarge(f"{path} grew above {max_bytes:,} bytes while it was read")
        parts.append(chunk)
    return b"".join(parts)


def _write_new(path: Path, data: bytes, *, mode: int, durable: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY, 0o600)
    try:
        _write_all(descriptor, data)
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, mode)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _mode_of(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode) & 0o777
    except OSError:
        return 0o600


def _remove_quietly(path: Path) -> None:
    try:
        path.unlink()
    except OSError:
        pass


def _kind(mode: int) -> str:
    kinds = (
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in kinds if test(mode)), "a special file")
