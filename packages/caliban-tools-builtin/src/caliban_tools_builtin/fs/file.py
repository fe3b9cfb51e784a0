"""Loading a file whole and putting new bytes in its place, by directory handles.

A replacement is atomic: a twin with the same owner, mode and attributes is written beside the file and
renamed over it. A file that has several names, or whose twin cannot be made equal (owner, directory or mount
forbid it), is written in place, and restored if that fails half-way. Where it has names that are not found
inside the fence (`fs/names.py`), this one alone becomes another file: nothing outside changes.

The disk is not waited for (5 ms and more per change): a power cut may cost the last seconds of edits, as with
any build tool; a killed process costs nothing.
"""

from __future__ import annotations

import errno
import os
import stat

from msgspec import Struct

from caliban_common.files import BINARY, NOFOLLOW
from caliban_tools_builtin import handles
from caliban_tools_builtin.errors import FileMissing, FileRefused
from caliban_tools_builtin.fence import AdmittedPath
from caliban_tools_builtin.fs import named

NEW_FILE_MODE = 0o644
_CHUNK_BYTES = 1 << 20
_SHARED = "has other names (hard links) that were not found inside the workspace"
_NO_TWIN = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV)


class Snapshot(Struct, frozen=True, kw_only=True):
    """The bytes of a file and its status at the moment they were read."""

    data: bytes
    status: os.stat_result

    def is_still(self, status: os.stat_result | None) -> bool:
        """Whether `status`, taken later, is that of the same, untouched file."""
        return status is not None and _version(status) == _version(self.status)


def load(place: AdmittedPath, *, max_bytes: int) -> Snapshot | None:
    """The file, or `None` when there is none. Raises `FileRefused`, also for more than `max_bytes`."""
    if not handles.SUPPORTED:
        read = named.load(place, max_bytes=max_bytes)
        return None if read is None else Snapshot(data=read[0], status=read[1])
    try:
        with handles.parent_of(place) as parent:
            if handles.status_of(place, parent) is None:
                return None
            descriptor = handles.open_file(place, parent, os.O_RDONLY)
    except FileMissing:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_size > max_bytes:
            raise too_large(place, status.st_size, max_bytes)
        data = _read(descriptor, max_bytes + 1)
    except OSError as error:
        raise handles.refused(place, error) from error
    finally:
        os.close(descriptor)
    if len(data) > max_bytes:
        raise too_large(place, len(data), max_bytes)
    return Snapshot(data=data, status=status)


def store(place: AdmittedPath, data: bytes, *, old: Snapshot | None) -> str:
    """Make `data` the content of the file; `old` is what `load` gave. Missing directories are made.

    What else there is to say of it, mostly nothing. Raises `FileRefused` when the file is no longer what
    `old` says, or the system refuses; the file then has its old content.
    """
    if not handles.SUPPORTED:
        named.store(place, data, exists=old is not None)
        return ""
    with handles.parent_of(place, create=True) as parent:
        status = handles.status_of(place, parent)
        if (old is None and status is not None) or (old is not None and not old.is_still(status)):
            raise FileRefused(f"{place.shown} changed while it was being written", hint="Read it again")
        try:
            if old is None:
                _replace(place, parent, data, old=None)
                return ""
            if not os.access(place.path.name, os.W_OK, dir_fd=parent):
                raise FileRefused(f"{place.shown} is write-protected")
            if old.status.st_nlink > 1:
                return _stored_under_all_names(place, parent, data, old)
            if not _replaced(place, parent, data, old):
                _overwrite(place, parent, data, old)
        except OSError as error:
            raise handles.refused(place, error) from error
    return ""


def _stored_under_all_names(place: AdmittedPath, parent: int, data: bytes, old: Snapshot) -> str:
    """Write in place what has several names, as long as none of them is known to be outside."""
    from caliban_tools_builtin.fs.names import all_names_inside

    if not place.fenced or all_names_inside(place, old.status):
        _overwrite(place, parent, data, old)
        return ""
    if not _replaced(place, parent, data, old):
        raise FileRefused(f"{place.shown} {_SHARED}, and cannot be replaced alone")
    return f"[{place.shown} {_SHARED}: it is a file of its own now, and they are as they were]"


def with_note(text: str, note: str) -> str:
    """What the model reads of a change, and what `store` had to say."""
    return f"{text}\n{note}" if note else text


def too_large(place: AdmittedPath, size_bytes: int, max_bytes: int) -> FileRefused:
    """The refusal of a file that is above a bound."""
    return FileRefused(f"{place.shown} is too large: {size_bytes:,} bytes, the limit is {max_bytes:,}")


def _version(status: os.stat_result) -> tuple[int, int, int, int]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _read(descriptor: int, bound: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    while total < bound and (chunk := os.read(descriptor, min(_CHUNK_BYTES, bound - total))):
        parts.append(chunk)
        total += len(chunk)
    return b"".join(parts)


def _replaced(place: AdmittedPath, parent: int, data: bytes, old: Snapshot) -> bool:
    """Replace the file by an equal twin; False when no such twin can be made."""
    try:
        _replace(place, parent, data, old=old)
    except OSError as error:
        if error.errno in _NO_TWIN:
            return False
        raise
    return True


def _replace(place: AdmittedPath, parent: int, data: bytes, *, old: Snapshot | None) -> None:
    twin = f".caliban-{os.urandom(6).hex()}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY
    descriptor = os.open(twin, flags, NEW_FILE_MODE if old is None else 0o600, dir_fd=parent)
    try:
        try:
            _write(descriptor, data)
            if old is not None:
                _dress(descriptor, place, parent, old.status)
        finally:
            os.close(descriptor)
        os.rename(twin, place.path.name, src_dir_fd=parent, dst_dir_fd=parent)
    except OSError:
        _unlink_quietly(twin, parent)
        raise


def _dress(descriptor: int, place: AdmittedPath, parent: int, status: os.stat_result) -> None:
    """Give the twin the owner, attributes and mode of the file, in the order that never widens access."""
    fresh = os.fstat(descriptor)
    if (fresh.st_uid, fresh.st_gid) != (status.st_uid, status.st_gid):
        os.fchown(descriptor, status.st_uid, status.st_gid)
    if hasattr(os, "listxattr"):
        _copy_attributes(descriptor, place, parent)
    os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _copy_attributes(descriptor: int, place: AdmittedPath, parent: int) -> None:
    source = handles.open_file(place, parent, os.O_RDONLY)
    try:
        for name in _attributes(source):
            try:
                os.setxattr(descriptor, name, os.getxattr(source, name))
            except OSError:
                if name.startswith("system."):  # an access list: without it the twin is not equal
                    raise PermissionError(errno.EPERM, "the access list cannot be kept") from None
    finally:
        os.close(source)


def _attributes(descriptor: int) -> list[str]:
    try:
        return os.listxattr(descriptor)
    except OSError:
        return []


def _overwrite(place: AdmittedPath, parent: int, data: bytes, old: Snapshot) -> None:
    descriptor = handles.open_file(place, parent, os.O_WRONLY)
    try:
        if not old.is_still(os.fstat(descriptor)):
            raise FileRefused(f"{place.shown} changed while it was being written", hint="Read it again")
        try:
            _write_from_start(descriptor, data)
        except OSError:
            _write_from_start(descriptor, old.data)  # its blocks are still there
            raise
    finally:
        os.close(descriptor)


def _write_from_start(descriptor: int, data: bytes) -> None:
    os.lseek(descriptor, 0, os.SEEK_SET)
    _write(descriptor, data)
    os.ftruncate(descriptor, len(data))


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _unlink_quietly(name: str, parent: int) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except OSError:
        pass
