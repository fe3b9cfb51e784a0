"""The names of one session's files, and how they are read and put aside."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from caliban_common.errors import DataError
from caliban_common.files import FileFailed, NotRegularFile, TooLarge, read_regular, write_atomic
from caliban_sessions import document, stamp
from caliban_sessions.entry import holds_data
from caliban_sessions.errors import SessionUnreadable
from caliban_sessions.journal import records_in, sync_directory
from caliban_sessions.log import SessionLog

MAX_READ_BYTES = 1 << 30


class SessionFiles:
    """The files of the session `name` in `directory`; making this value touches none of them."""

    def __init__(self, directory: Path, name: str) -> None:
        self.directory = directory
        self.name = name
        self.document: Path = directory / f"{name}.json"
        self.journal: Path = directory / f"{name}.journal"
        self.lock: Path = directory / f"{name}.lock"
        self.archive: Path = directory / f"{name}.archive"
        self.blobs: Path = directory / name / "blobs"

    def exist(self) -> bool:
        """Whether there is such a session: a session file, or the journal of one never closed."""
        return os.path.lexists(self.document) or os.path.lexists(self.journal)

    def size_bytes(self) -> int:
        """What the session takes, with its images and documents; its archive left out."""
        try:
            blobs = list(os.scandir(self.blobs))
        except OSError:
            blobs = []
        return sum(_size(path) for path in (self.document, self.journal, *map(Path, blobs)))

    def load(self, *, fallback_time: datetime) -> SessionLog | None:
        """The session as it stands on disk, `None` when there is none. Raises `SessionUnreadable`.

        The journal is read before the file: when a writer folds in between, the file has it all, and what the
        journal says again is passed over by its numbers.
        """
        journal = self._read(self.journal)
        data = self._read(self.document)
        if journal is None and data is None:
            return None
        if data is not None:
            moment = stamp.from_seconds(_mtime(self.document))
            log = document.decode(
                data, path=self.document, name=self.name, fallback_time=moment, blobs=self.blobs
            )
        else:
            log = SessionLog(name=self.name, id=self.name, created_at=fallback_time, blobs=self.blobs)
        self._replay(journal or b"", log)
        try:
            log.settle()
        except DataError as error:
            log.warnings.append(f"{self.journal}: a result is lost: {error.message}")
        return log

    def take_blobs(self, log: SessionLog, source: Path) -> None:
        """Copy the images and documents that `log` names from `source`. Raises `FileFailed`."""
        if not any(holds_data(entry.raw) for entry in log.entries):
            return
        from caliban_sessions.blobs import copy, names_in

        copy(set().union(*(names_in(entry.raw) for entry in log.entries)), source, self.blobs)

    def take_all_blobs(self, source: SessionFiles) -> None:
        """Copy every image and document of `source`, those of its archive too. Raises `FileFailed`."""
        if source.blobs.is_symlink() or not source.blobs.is_dir():
            return
        from caliban_sessions.blobs import copy

        copy({path.name for path in source.blobs.glob("*.bin")}, source.blobs, self.blobs)

    def put(self, data: bytes) -> None:
        """Write `data` as the session file; the old one stands until it is durable. Raises `FileFailed`."""
        write_atomic(self.document, data, mode=0o600)
        sync_directory(self.directory)

    def save(self, log: SessionLog) -> None:
        """Write the session file; the old one stands until the new one is durable. Raises `FileFailed`."""
        self.put(document.encode(log))

    def retire_journal(self, *, keep: bool) -> None:
        """Take the folded journal away; `keep` puts it aside, for it holds what could not be read."""
        try:
            if keep:
                self.journal.rename(self.journal.with_name(f"{self.name}.damaged-{os.urandom(4).hex()}"))
            else:
                self.journal.unlink()
        except OSError:
            pass  # it is read again and its records are passed over by their numbers

    def remove_leftovers(self) -> None:
        """Remove what a killed writer of the session file left half-written. For the holder of the lock."""
        for path in self.directory.glob(f".{self.document.name}.*.tmp"):
            try:
                path.unlink()
            except OSError:
                pass  # it is in nobody's way

    def archived(self) -> bytes:
        """What the history has lost, a line each. Raises `SessionUnreadable`."""
        return self._read(self.archive) or b""

    def raw(self) -> bytes:
        """All that the session's file and journal hold, as it is. Raises `SessionUnreadable`."""
        return (self._read(self.journal) or b"") + (self._read(self.document) or b"")

    def _read(self, path: Path) -> bytes | None:
        if path.is_symlink():
            raise SessionUnreadable(
                f"{path} is a link, not a session file",
                hint="use the file it points to, or remove it",
                path=path,
            )
        try:
            return read_regular(path, max_bytes=MAX_READ_BYTES)
        except FileFailed as error:
            if error.missing:
                return None
            raise SessionUnreadable(error.message, hint=error.hint, path=path) from error
        except (NotRegularFile, TooLarge) as error:
            raise SessionUnreadable(
                error.message, hint="it was left as it is: move it away", path=path
            ) from error

    def _replay(self, journal: bytes, log: SessionLog) -> None:
        records, damaged = records_in(journal)
        for number, record in records:
            try:
                remarks = log.apply(record)
            except DataError as error:
                remarks = [f"{error.message}; it is passed over"]
            log.warnings.extend(f"{self.journal}:{number}: {remark}" for remark in remarks)
        if damaged:
            lines = ", ".join(str(number) for number in damaged[:10])
            more = f" and {len(damaged) - 10} more" if len(damaged) > 10 else ""
            log.warnings.append(f"{self.journal}: damaged in line {lines}{more}; the other lines are in use")


def _size(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0


def _mtime(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
