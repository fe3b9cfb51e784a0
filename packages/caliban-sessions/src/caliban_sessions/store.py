"""The sessions of one directory."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from caliban_common.files import FileFailed, ensure_private_dir
from caliban_sessions import stamp
from caliban_sessions.entry import StoredMessage
from caliban_sessions.errors import SessionError, SessionExists, SessionNotFound, SessionWriteError
from caliban_sessions.files import SessionFiles
from caliban_sessions.lock import Lock
from caliban_sessions.log import SessionLog
from caliban_sessions.name import check_name, dated_name, is_name
from caliban_sessions.state import SessionHead, SessionState
from caliban_sessions.transcript import whole_entries
from caliban_sessions.writer import SessionWriter, WriterParts

_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"


MAX_BYTES = 512 << 20
"""Where a session is full; twice this can still be read back."""


def random_id() -> str:
    """Twelve random hexadecimal digits."""
    return os.urandom(6).hex()


class SessionStore:
    """Sessions as files in `directory`, which is made when the first one is opened.

    `clock` must give aware times; `new_id` gives the ids of sessions, and of messages whose own is
    taken; a session's files may grow to `max_bytes` together. With `defers_sync` the writers of `open` and
    `fork` return once the system has what they wrote, which no end of this process takes back, and their
    `sync` waits for the disk.
    """

    def __init__(
        self,
        directory: Path,
        *,
        clock: Callable[[], datetime] = stamp.now,
        new_id: Callable[[], str] = random_id,
        max_bytes: int = MAX_BYTES,
        defers_sync: bool = False,
    ) -> None:
        self.directory = directory
        self._clock = clock
        self._new_id = new_id
        self._parts = WriterParts(clock=clock, new_id=new_id, max_bytes=max_bytes, defers_sync=defers_sync)

    def open(
        self, name: str, *, create: bool = True, provider: str = "", model: str = "", workspace: str = ""
    ) -> SessionWriter:
        """Open `name` for writing; a new session begins with `provider`, `model` and `workspace`.

        Raises `InvalidSessionName`, `SessionNotFound` when it is missing and `create` is false, `SessionBusy`
        when another process has it open, `SessionUnreadable` and `SessionCorrupt` for its files,
        `SessionWriteError` when the directory cannot be written.
        """
        files = SessionFiles(self.directory, check_name(name))
        if not create and not files.exist():
            raise self._missing(name)
        lock = self._locked(files)
        try:
            log = files.load(fallback_time=stamp.cut(self._clock()))
            if log is None:
                log = self._fresh(name)
                log.provider, log.model, log.workspace = provider, model, workspace
            elif files.journal.exists():
                files.remove_leftovers()
            return self._session(files, lock, log)
        except BaseException:
            lock.release()
            raise

    def fork(self, source: str, name: str) -> SessionWriter:
        """Begin `name` with the history of `source`, and open it for writing.

        The new session is whole on disk, or not there. It knows where it came from
        (`SessionState.forked_from`), keeps the ids of the messages, and has spent nothing yet. `source` is
        only read, as `load` does: it may be open elsewhere, and stays as it is. Raises `SessionExists` when
        `name` is taken, `SessionNotFound` when there is no `source`, else as `load` and `open` do.
        """
        origin = self._log(source)
        files = SessionFiles(self.directory, check_name(name))
        lock = self._locked(files)
        try:
            self._refuse_taken(files, "a fork")
            files.remove_leftovers()
            log = origin.fork(
                name=name, id=self._new_id(), created_at=stamp.cut(self._clock()), blobs=files.blobs
            )
            files.take_blobs(log, origin.blobs)
            files.save(log)
            return self._session(files, lock, log)
        except FileFailed as error:
            lock.release()
            raise self._unwritable(f"session {source!r} cannot be forked", error) from error
        except BaseException:
            lock.release()
            raise

    def create(self, state: SessionState, facts: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Write the session that `state` is, under its name, which no session may have; whole or not at all.

        `facts` are members to store with the messages of these ids, beside those that messages have.

        Raises `SessionExists`, `InvalidSessionName`, `SessionBusy`, `SessionWriteError`.
        """
        files = SessionFiles(self.directory, check_name(state.name))
        lock = self._locked(files)
        try:
            self._refuse_taken(files, "the new session")
            log = self._fresh(state.name)
            log.take(state, facts or {})
            files.save(log)
        except FileFailed as error:
            raise self._unwritable(f"session {state.name!r} cannot be written", error) from error
        finally:
            lock.release()

    def rename(self, name: str, new: str) -> None:
        """`name` is called `new` from now on, with its id and all that it has.

        A process that is killed meanwhile leaves the old session or the new one whole, or both. Raises as
        `fork` does, and `SessionBusy` for a session that is in use.
        """
        from caliban_sessions.removal import remove_files, write_copy

        source = SessionFiles(self.directory, check_name(name))
        target = SessionFiles(self.directory, check_name(new))
        if not source.exist():
            raise self._missing(name)
        if name == new:
            return
        with self._holding(source), self._holding(target):
            self._refuse_taken(target, "a session")
            log = self._log(name)
            log.renamed(new, target.blobs)
            try:
                write_copy(log, source, target)
                remove_files(source)
            except FileFailed as error:
                raise self._unwritable(f"session {name!r} cannot be renamed", error) from error

    def remove(self, name: str) -> int:
        """Remove `name` and all that it has; how many bytes that was. What is damaged can be removed too.

        Raises `InvalidSessionName`, `SessionNotFound`, `SessionBusy` for one that is in use, and
        `SessionWriteError`.
        """
        files = SessionFiles(self.directory, check_name(name))
        if not files.exist() and not self.has_leftovers(name):
            raise self._missing(name)
        with self._holding(files):
            return self.remove_held(files)

    def remove_held(self, files: SessionFiles) -> int:
        """Remove the session whose `files` are `held`. Raises `SessionWriteError`."""
        from caliban_sessions.removal import remove_files

        try:
            return remove_files(files)
        except FileFailed as error:
            raise self._unwritable(f"session {files.name!r} cannot be removed", error) from error

    def has_leftovers(self, name: str) -> bool:
        """Whether a removal of `name` was cut short: what is left belongs to no session."""
        from caliban_sessions.removal import has_leftovers

        return has_leftovers(SessionFiles(self.directory, check_name(name)))

    def is_unfolded(self, name: str) -> bool:
        """Whether `name` is open somewhere, or was when its process died: its journal is there."""
        return SessionFiles(self.directory, check_name(name)).journal.exists()

    @contextmanager
    def held(self, name: str) -> Iterator[SessionFiles]:
        """The files of `name` under its lock, for who changes them as a whole. Raises `SessionBusy`."""
        files = SessionFiles(self.directory, check_name(name))
        with self._holding(files):
            yield files

    def remove_unused(self, before: datetime, *, but: str | None = None) -> tuple[str, ...]:
        """Remove every session that was not used since `before`; the names of those that are gone.

        One that is in use, damaged or cannot be removed stays, and so does `but`.
        """
        gone: list[str] = []
        for head in self.list():
            if head.updated_at >= before or head.problem or head.name == but:
                continue
            try:
                self.remove(head.name)
            except SessionError:
                continue
            gone.append(head.name)
        return tuple(gone)

    def entries(self, name: str) -> tuple[SessionState, tuple[StoredMessage, ...]]:
        """`name` as `load` reads it, and each message of it with what its file knows about it.

        Where a summary has taken the place of messages that are still there, these are among them again.
        Raises as `load` does.
        """
        files = SessionFiles(self.directory, check_name(name))
        log = self._log(name)
        whole = whole_entries(log.entries, files.archived(), log.leaf, log.blobs)
        if whole is None:
            return log.state(), tuple(log.entries)
        leading = (entry for entry in log.entries if entry.message.role == "system")
        return log.state(), (*leading, *whole)

    def load(self, name: str) -> SessionState:
        """`name` as it stands on disk, without its lock: also while another process writes to it.

        Raises `InvalidSessionName`, `SessionNotFound`, `SessionUnreadable`, `SessionCorrupt`.
        """
        return self._log(name).state()

    def exists(self, name: str) -> bool:
        """Whether there is a session `name`; false for what cannot name one."""
        return is_name(name) and SessionFiles(self.directory, name).exist()

    def list(self) -> tuple[SessionHead, ...]:
        """All sessions, the one updated last first; a damaged one has a `problem`.

        Reads a few KiB of each that has changed since the last list, and an index of the others.
        """
        from caliban_sessions.index import heads_in

        return tuple(heads_in(self.directory, at_ns=time.time_ns()))

    def latest(self) -> str | None:
        """The name of the session updated last, `None` when there is none."""
        heads = self.list()
        return heads[0].name if heads else None

    def fresh_name(self) -> str:
        """A name that no session has: the date, the time and four random characters."""
        while True:
            suffix = "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(4))
            name = dated_name(self._clock(), suffix)
            if not self.exists(name):
                return name

    def _refuse_taken(self, files: SessionFiles, what: str) -> None:
        if files.exist():
            raise SessionExists(
                f"there is a session {files.name!r} already in {self.directory}",
                hint=f"{what} needs a name that no session has",
            )

    def _unwritable(self, what: str, error: FileFailed) -> SessionWriteError:
        return SessionWriteError(
            f"{what}: {error.message}",
            hint="free some space, or keep sessions in another directory; nothing was changed",
        ).with_remedy("session_space")

    @contextmanager
    def _holding(self, files: SessionFiles) -> Iterator[None]:
        lock = self._locked(files)
        try:
            yield
        finally:
            lock.release()

    def _log(self, name: str) -> SessionLog:
        files = SessionFiles(self.directory, check_name(name))
        log = files.load(fallback_time=stamp.cut(self._clock()))
        if log is None:
            raise self._missing(name)
        return log

    def _locked(self, files: SessionFiles) -> Lock:
        try:
            ensure_private_dir(self.directory)
        except FileFailed as error:
            raise SessionWriteError(
                error.message, hint="keep sessions in a directory you can write, or save nothing"
            ).with_remedy("session_directory") from error
        return Lock.take(files.lock, name=files.name)

    def _session(self, files: SessionFiles, lock: Lock, log: SessionLog) -> SessionWriter:
        return SessionWriter(files=files, lock=lock, log=log, parts=self._parts)

    def _fresh(self, name: str) -> SessionLog:
        return SessionLog(
            name=name,
            id=self._new_id(),
            created_at=stamp.cut(self._clock()),
            blobs=self.directory / name / "blobs",
        )

    def _missing(self, name: str) -> SessionNotFound:
        return SessionNotFound(
            f"there is no session {name!r} in {self.directory}",
            hint="open it with `create`, which begins it",
        ).with_remedy("session_new", name)
