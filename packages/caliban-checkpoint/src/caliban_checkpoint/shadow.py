"""What all files of a workspace are, so that what a command did to them can be told and taken back.

A table has a row for each file, and a pack the bytes, each content once. A look at the workspace reads only
files whose status changed since the last one. Both are a cache: whoever deletes them loses no checkpoint, for
the bytes of a file that changed are kept with its prompt.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from caliban_checkpoint.errors import CheckpointFailed
from caliban_checkpoint.places import Roots
from caliban_checkpoint.state import ABSENT, FileState, is_text
from caliban_common.errors import CalibanError
from caliban_common.filelock import try_lock
from caliban_common.files import (
    NOFOLLOW,
    NONBLOCK,
    FileFailed,
    ensure_private_dir,
    read_regular,
    write_atomic,
)

RACY_NS: Final = 50_000_000
"""A file that changed so shortly before it was looked at is read again: clocks of file systems are coarse."""

UNREAD: Final = "?"
VERSION: Final = 2
"""Of table and pack. The first one kept the bytes of all files: it is emptied."""

_WALK = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | NOFOLLOW | getattr(os, "O_CLOEXEC", 0)


class ShadowLimits(Struct, frozen=True, kw_only=True):
    """Beyond these a workspace is not watched, but for `file_bytes`: a larger file is known by its status."""

    files: int = 30_000
    file_bytes: int = 4 << 20
    total_bytes: int = 256 << 20
    scan_s: float = 10.0


class Row(NamedTuple):
    """A file as it was looked at; `ctime_ns` is 0 where it has to be read again in any case."""

    mode: int
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    digest: str
    target: str

    @property
    def state(self) -> FileState:
        """What a person would call it."""
        if stat.S_ISLNK(self.mode):
            return FileState(kind="link", target=self.target)
        sha256 = self.digest or f"stat-{self.inode}-{self.mtime_ns}"
        return FileState(kind="file", sha256=sha256, mode=stat.S_IMODE(self.mode) & 0o777, size=self.size)


class ShadowChange(Struct, frozen=True, kw_only=True):
    """What became of a file between two looks. `made` are its directories that held no file before."""

    path: str
    before: FileState
    after: FileState
    made: tuple[str, ...] = ()


class _Saved(Struct, frozen=True, array_like=True):
    version: int
    rows: dict[str, Row]
    contents: dict[str, tuple[int, int]]


def _keep_all(path: str) -> bool:
    return False


class Shadow:
    """The table and the pack of one workspace, in `place`; a pair of its own while another process has it.

    A file that is `withheld`, by its whole path, is known by its status alone: its bytes are not read.
    """

    def __init__(
        self,
        place: Path,
        roots: Roots,
        limits: ShadowLimits | None = None,
        *,
        withheld: Callable[[str], bool] = _keep_all,
    ) -> None:
        self._withheld = withheld
        self._place = place
        self._root = roots.paths[0]
        self._limits = limits or ShadowLimits()
        self._rows: dict[str, Row] = {}
        self._contents: dict[str, tuple[int, int]] = {}
        self._pack = -1
        self._lock = -1
        self._end = 0
        self._is_new = True

    def scan(self, names: Sequence[str]) -> list[ShadowChange]:
        """Look at the files `names`, and say what changed since the last look; nothing the first time.

        Raises `CheckpointFailed`.
        """
        if len(names) > self._limits.files:
            raise CheckpointFailed(f"the workspace has more than {self._limits.files:,} files")
        try:
            if self._pack < 0:
                self._open()
            old, is_first = self._rows, self._is_new
            rows = self._look(names)
            changes = [] if is_first else self._changes(old, rows)
            is_changed = rows != old
            self._rows, self._is_new = rows, False
            if is_changed and self._lock >= 0:
                self._save()
        except OSError as error:
            raise CheckpointFailed(f"{error.filename or self._place}: {error.strerror or error}") from error
        except FileFailed as error:
            raise CheckpointFailed(error.message) from error
        return changes

    def withholds(self, path: str) -> bool:
        """Whether the bytes of the file at `path` are not kept, whatever their number."""
        return self._withheld(path)

    def content(self, sha256: str) -> bytes | None:
        """The bytes of a file that was looked at, checked; `None` where they were not kept."""
        place = self._contents.get(sha256)
        if place is None:
            return None
        data = os.pread(self._pack, place[1], place[0])
        return data if hashlib.sha256(data).hexdigest() == sha256 else None

    def close(self) -> None:
        """Let go of the files."""
        for descriptor in (self._pack, self._lock):
            if descriptor >= 0:
                os.close(descriptor)
        self._pack = self._lock = -1

    def _open(self) -> None:
        ensure_private_dir(self._place)
        flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | getattr(os, "O_CLOEXEC", 0)
        lock = os.open(self._place / "lock", flags, 0o600)
        if try_lock(lock):
            self._lock = lock
            self._pack = os.open(self._place / "pack", flags, 0o600)
            self._read()
            return
        os.close(lock)
        name = self._place / f"pack-{os.getpid()}-{os.urandom(4).hex()}"
        self._pack = os.open(name, flags | os.O_EXCL, 0o600)
        name.unlink()

    def _read(self) -> None:
        """Take over what the last process knew; begin anew where that is damaged or mostly waste."""
        size = os.fstat(self._pack).st_size
        try:
            data = read_regular(self._place / "table", max_bytes=256 << 20)
            saved = msgspec.msgpack.decode(data, type=_Saved)
        except (CalibanError, msgspec.MsgspecError):
            saved = _Saved(0, {}, {})
        used = sum(length for _, length in saved.contents.values())
        is_whole = all(start + length <= size for start, length in saved.contents.values())
        if saved.version != VERSION or not is_whole or size > 2 * used + (64 << 20):
            os.ftruncate(self._pack, 0)
            return
        self._rows, self._contents, self._end = saved.rows, saved.contents, size
        self._is_new = False

    def _save(self) -> None:
        live = {row.digest for row in self._rows.values()}
        contents = {digest: place for digest, place in self._contents.items() if digest in live}
        data = msgspec.msgpack.encode(_Saved(VERSION, self._rows, contents))
        write_atomic(self._place / "table", data, mode=0o600, durable=False)

    def _look(self, names: Sequence[str]) -> dict[str, Row]:
        """A row for each file: first all are looked at, and what is too much is read by nobody."""
        began_ns, ends_s = time.time_ns(), time.monotonic() + self._limits.scan_s
        rows: dict[str, Row] = {}
        unread: list[str] = []
        for name, base, parent in self._reached(sorted(names)):
            row = self._row(name, base, parent)
            if row is not None:
                rows[name] = row
                if row.digest == UNREAD:
                    unread.append(name)
        total = sum(row.size for row in rows.values() if row.digest)
        if total > self._limits.total_bytes:
            raise CheckpointFailed(f"the workspace has more than {self._limits.total_bytes:,} bytes in files")
        for name, base, parent in self._reached(unread):
            if time.monotonic() > ends_s:
                raise CheckpointFailed(f"a look at the workspace takes over {self._limits.scan_s:g} s")
            digest = self._kept(base, parent)
            if digest is None:
                del rows[name]
                continue
            row = rows[name]
            is_racy = began_ns - row.ctime_ns < RACY_NS
            rows[name] = row._replace(digest=digest, ctime_ns=0 if is_racy else row.ctime_ns)
        return rows

    def _reached(self, names: Sequence[str]) -> Iterator[tuple[str, str, int]]:
        """Those of sorted `names` whose directory can be reached: name, last component, and its handle."""
        with _Directories(self._root) as directories:
            last, parent = None, None
            for name in names:
                folder, _, base = name.rpartition("/")
                if folder != last:
                    last, parent = folder, directories.open(folder)
                if parent is not None:
                    yield name, base, parent

    def _row(self, name: str, base: str, parent: int) -> Row | None:
        """The row of a file, its digest `UNREAD` where its bytes have to be looked at."""
        try:
            status = os.stat(base, dir_fd=parent, follow_symlinks=False)
        except OSError:
            return None
        known = self._rows.get(name)
        facts = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)
        if known is not None and known[:5] == facts:
            return known
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(base, dir_fd=parent)
            return Row(*facts, "", target) if is_text(target) else None
        if not stat.S_ISREG(status.st_mode):
            return None
        is_known_by_status = status.st_size > self._limits.file_bytes or self._withheld(
            f"{self._root}/{name}"
        )
        return Row(*facts, "" if is_known_by_status else UNREAD, "")

    def _kept(self, base: str, parent: int) -> str | None:
        """The digest of a file whose bytes are in the pack now; `None` where it cannot be read."""
        try:
            descriptor = os.open(base, os.O_RDONLY | NOFOLLOW | NONBLOCK, dir_fd=parent)
        except OSError:
            return None
        try:
            parts = []
            total = 0
            while chunk := os.read(descriptor, 1 << 20):
                parts.append(chunk)
                total += len(chunk)
                if total > 2 * self._limits.file_bytes:
                    return None
        finally:
            os.close(descriptor)
        data = b"".join(parts)
        digest = hashlib.sha256(data).hexdigest()
        if digest not in self._contents:
            view = memoryview(data)
            while view:
                view = view[os.pwrite(self._pack, view, self._end + len(data) - len(view)) :]
            self._contents[digest] = (self._end, len(data))
            self._end += len(data)
        return digest

    def _changes(self, old: Mapping[str, Row], new: Mapping[str, Row]) -> list[ShadowChange]:
        folders: set[str] = set()
        changes: list[ShadowChange] = []
        differ = [name for name in old.keys() | new.keys() if old.get(name) is not new.get(name)]
        for name in sorted(differ):
            first, last = old.get(name), new.get(name)
            before = ABSENT if first is None else first.state
            after = ABSENT if last is None else last.state
            if before == after:
                continue
            if first is None and not folders:
                folders = {folder for known in old for folder in _above(known)} | {""}
            made = () if first is not None else tuple(f for f in _above(name) if f not in folders)
            changes.append(
                ShadowChange(
                    path=f"{self._root}/{name}",
                    before=before,
                    after=after,
                    made=tuple(f"{self._root}/{folder}" for folder in made),
                )
            )
        return changes


class _Directories:
    """Open directories below a root, reached without following links: those on the way to the last name."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._open: list[tuple[str, int]] = []

    def __enter__(self) -> _Directories:
        self._open.append(("", os.open(self._root, _WALK)))
        return self

    def __exit__(self, *error: object) -> None:
        while self._open:
            os.close(self._open.pop()[1])

    def open(self, folder: str) -> int | None:
        """A handle of `folder`, which has no empty component; `None` where it cannot be reached so."""
        while not _is_at_or_above(self._open[-1][0], folder):
            os.close(self._open.pop()[1])
        there, handle = self._open[-1]
        for part in folder[len(there) :].strip("/").split("/") if folder != there else ():
            try:
                handle = os.open(part, _WALK, dir_fd=handle)
            except OSError:
                return None
            there = f"{there}/{part}" if there else part
            self._open.append((there, handle))
        return handle


def _is_at_or_above(folder: str, other: str) -> bool:
    return not folder or other == folder or other.startswith(f"{folder}/")


def _above(name: str) -> Iterator[str]:
    """The directories that hold `name`, the outermost first."""
    parts = name.split("/")[:-1]
    for count in range(1, len(parts) + 1):
        yield "/".join(parts[:count])
