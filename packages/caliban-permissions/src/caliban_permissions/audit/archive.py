"""Full logs put away under a name of their own, and compressed: no line is lost, whatever dies meanwhile.

    rename   under the lock, to a name that is taken exclusively (the date, then a number)
    compress a copy that is complete on the disk before it gets its name; then the original goes

Whoever comes later finishes what was left half done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Final

from caliban_common import filelock
from caliban_common.filelock import is_at, try_lock
from caliban_common.files import BINARY, NOFOLLOW, NONBLOCK
from caliban_common.lazy import lazy_pattern

STEM: Final = "permission-decisions"
_ARCHIVE: Final = lazy_pattern(r"permission-decisions-(\d{4}-\d\d-\d\d)(?:-(\d{1,9}))?\.jsonl(\.gz)?")
LEVEL: Final = 5
CHUNK_BYTES: Final = 1 << 20


def lock(descriptor: int) -> bool:
    """Lock a file for this process, without waiting; whether that worked."""
    try:
        return try_lock(descriptor)
    except OSError:
        return True  # a file system without locks: a line is one write all the same


def unlock(descriptor: int) -> None:
    """Let the next one in."""
    with suppress(OSError):
        filelock.unlock(descriptor)


def move_away(path: Path, now: datetime) -> Path | None:
    """Give the full log, which the caller has locked, a name that no other has; `None` where that fails."""
    for target in _free_names(path.parent, now):
        try:
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, 0o600))
        except FileExistsError:
            continue
        try:
            if target.with_name(f"{target.name}.gz").exists():
                target.unlink()
                continue
            path.replace(target)
        except OSError:
            target.unlink(missing_ok=True)  # a system that moves no open file: the log goes on growing
            return None
        return target
    return None


def compress_left(directory: Path) -> None:
    """Compress every log that was put away and is not; what another process is at is left to it."""
    for path in sorted(directory.glob(f"{STEM}-*.jsonl")):
        if _ARCHIVE.fullmatch(path.name):
            try:
                _compress(path)
            except FileNotFoundError:
                continue  # somebody else has finished it


def archives(directory: Path) -> tuple[Path, ...]:
    """The logs that were put away, oldest first; of one that is there twice the complete copy."""
    logs: dict[tuple[str, int], Path] = {}
    try:
        names = sorted(path.name for path in directory.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return ()
    for name in names:
        match = _ARCHIVE.fullmatch(name)
        if match is not None:  # sorted, `x.jsonl.gz` comes behind `x.jsonl`
            logs[match[1], int(match[2] or 1)] = directory / name
    return tuple(logs[key] for key in sorted(logs))


def _free_names(directory: Path, now: datetime) -> Iterator[Path]:
    day = now.astimezone(UTC).date().isoformat()
    for number in range(1, 10_000):
        counter = "" if number == 1 else f"-{number}"
        path = directory / f"{STEM}-{day}{counter}.jsonl"
        if not path.with_name(f"{path.name}.gz").exists():
            yield path


def _compress(path: Path) -> None:
    source = os.open(path, os.O_RDWR | NOFOLLOW | NONBLOCK | BINARY)
    with os.fdopen(source, "rb") as plain:
        if not lock(source) or not is_at(source, path):
            return
        if os.fstat(source).st_size == 0:
            return  # the name is taken, and the log that it is for is still to come
        packed = path.with_name(f"{path.name}.gz")
        for left in path.parent.glob(f"{packed.name}.*.part"):
            left.unlink(missing_ok=True)  # of a process that died: we hold the lock
        if not packed.exists():
            part = path.with_name(f"{packed.name}.{os.getpid()}.part")
            try:
                _copy(plain, part)
                part.replace(packed)
            finally:
                part.unlink(missing_ok=True)
        path.unlink()


def _copy(plain: IO[bytes], part: Path) -> None:
    import gzip

    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY
    with os.fdopen(os.open(part, flags, 0o600), "wb") as packed:
        with gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=LEVEL) as archive:
            while chunk := plain.read(CHUNK_BYTES):
                archive.write(chunk)
        packed.flush()
        os.fsync(packed.fileno())
