"""Sessions that go: removed, or moved to another name, never by halves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from caliban_common.files import failed, write_atomic
from caliban_sessions.files import SessionFiles
from caliban_sessions.journal import sync_directory
from caliban_sessions.log import SessionLog


def remove_files(files: SessionFiles) -> int:
    """Remove all files of a session whose lock is held; how many bytes they had. Raises `FileFailed`.

    The journal goes first and the session file next: whoever is killed between leaves the session as it was
    when it was closed last. What is left behind it belongs to no session, and goes with the next removal.
    """
    removed = sum(map(_remove, (files.journal, files.document)))
    sync_directory(files.directory)
    removed += sum(map(_remove, _others(files)))
    for folder in (files.blobs, files.blobs.parent):
        try:
            folder.rmdir()
        except OSError:
            pass  # there is none, or what is in it is not ours
    return removed


def has_leftovers(files: SessionFiles) -> bool:
    """Whether a removal that was cut short has left something of a session that is gone."""
    return any(True for _ in _others(files))


def write_copy(log: SessionLog, source: SessionFiles, target: SessionFiles) -> None:
    """Write `log` as the session `target`, with all that `source` has beside it. Raises `CalibanError`.

    The session file comes last: until it is there, so is no session `target`.
    """
    archive = source.archived()
    if archive:
        write_atomic(target.archive, archive, mode=0o600)
    target.take_all_blobs(source)
    target.save(log)


def _others(files: SessionFiles) -> Iterator[Path]:
    """What a session has beside its file and its journal."""
    if os.path.lexists(files.archive):
        yield files.archive
    yield from sorted(files.directory.glob(f"{files.name}.damaged-*"))
    yield from sorted(files.directory.glob(f".{files.document.name}.*.tmp"))
    if not files.blobs.is_symlink() and not files.blobs.parent.is_symlink():
        yield from sorted(files.blobs.glob("*.bin"))


def _remove(path: Path) -> int:
    try:
        size_bytes = path.lstat().st_size
        path.unlink()
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise failed("remove", path, error) from error
    return size_bytes
