"""Sessions behind an interface that a directory, a server or a database can have: records with revisions.

A writer says which revision it has seen; where another one was written since, nothing is, and it is told. So
two machines can share sessions without a lock that spans them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from caliban_common.codec import dumps, message_to_json
from caliban_common.digest import sha256
from caliban_common.files import FileFailed, NotRegularFile, TooLarge, read_regular
from caliban_sessions import document, stamp
from caliban_sessions.blobs import REFERENCE
from caliban_sessions.entry import holds_data
from caliban_sessions.errors import (
    SessionConflict,
    SessionCorrupt,
    SessionNotFound,
    SessionUnreadable,
    SessionWriteError,
)
from caliban_sessions.files import MAX_READ_BYTES, SessionFiles
from caliban_sessions.name import check_name
from caliban_sessions.store import SessionStore


class SessionRevision(Struct, frozen=True, kw_only=True):
    """A session as it was at one time: the bytes of its session file, images inside, and their revision."""

    name: str
    revision: str
    data: bytes


class SessionRecords(Protocol):
    """Where whole sessions are kept. Every method may be called by several processes at once.

    Names have the grammar of session names: another one raises `InvalidSessionName`. A revision is an opaque
    text; equal data may have the same one.
    """

    def names(self) -> tuple[str, ...]:
        """The names of all sessions, sorted."""
        ...

    def get(self, name: str) -> SessionRevision:
        """The session `name` as it is now. Raises `SessionNotFound`, `SessionUnreadable`."""
        ...

    def put(self, name: str, data: bytes, *, expected: str | None) -> str:
        """Write `data`, a session file, over the revision `expected`, `None` for a new one; the new revision.

        Raises `SessionConflict` where the session has another revision, or is there or not against what was
        expected, `SessionCorrupt` for data that is no session, `SessionWriteError`. Then nothing is changed.
        """
        ...

    def delete(self, name: str, *, expected: str) -> None:
        """Remove the session. Raises `SessionConflict` as `put` does, and `SessionNotFound`."""
        ...


class DirectoryRecords:
    """The sessions of a `SessionStore` as records; a session that is open has the revision of its last close.

    Raises `SessionBusy`, too, where a session that is to be changed is open.
    """

    def __init__(self, store: SessionStore) -> None:
        self._store = store

    def names(self) -> tuple[str, ...]:
        """See `SessionRecords`."""
        return tuple(sorted(head.name for head in self._store.list() if not head.problem))

    def get(self, name: str) -> SessionRevision:
        """See `SessionRecords`."""
        files = SessionFiles(self._store.directory, check_name(name))
        data = _read(files.document)
        if data is None:
            raise missing(name)
        return SessionRevision(name=name, revision=revision_of(data), data=with_images(data, files))

    def put(self, name: str, data: bytes, *, expected: str | None) -> str:
        """See `SessionRecords`."""
        check_data(check_name(name), data)
        with self._store.held(check_name(name)) as files:
            self._expect(name, files, expected)
            try:
                files.put(data)
            except FileFailed as error:
                raise SessionWriteError(
                    f"session {name!r} cannot be written: {error.message}", hint="nothing was changed"
                ) from error
        return revision_of(data)

    def delete(self, name: str, *, expected: str) -> None:
        """See `SessionRecords`."""
        files = SessionFiles(self._store.directory, check_name(name))
        if not files.exist():
            raise missing(name)
        with self._store.held(name) as files:
            self._expect(name, files, expected)
            self._store.remove_held(files)

    def _expect(self, name: str, files: SessionFiles, expected: str | None) -> None:
        data = _read(files.document)
        actual = None if data is None else revision_of(data)
        has_more = files.journal.exists()
        if has_more or actual != expected:
            raise conflict(name)


class MemoryRecords:
    """Records in memory, for tests and for who wants to see how little a store needs."""

    def __init__(self) -> None:
        self._data: dict[str, bytes] = {}

    def names(self) -> tuple[str, ...]:
        """See `SessionRecords`."""
        return tuple(sorted(self._data))

    def get(self, name: str) -> SessionRevision:
        """See `SessionRecords`."""
        data = self._data.get(check_name(name))
        if data is None:
            raise missing(name)
        return SessionRevision(name=name, revision=revision_of(data), data=data)

    def put(self, name: str, data: bytes, *, expected: str | None) -> str:
        """See `SessionRecords`."""
        check_data(check_name(name), data)
        before = self._data.get(name)
        if (None if before is None else revision_of(before)) != expected:
            raise conflict(name)
        self._data[name] = data
        return revision_of(data)

    def delete(self, name: str, *, expected: str) -> None:
        """See `SessionRecords`."""
        if self.get(name).revision != expected:
            raise conflict(name)
        del self._data[name]


def revision_of(data: bytes) -> str:
    """The revision that `data` is: its SHA-256."""
    return sha256(data).hexdigest()


def check_data(name: str, data: bytes) -> None:
    """Raise `SessionCorrupt` where `data` is no session file."""
    path = Path(f"{name}.json")
    document.decode(data, path=path, name=name, fallback_time=stamp.now(), blobs=path.with_name(name))


def with_images(data: bytes, files: SessionFiles) -> bytes:
    """The session file `data` with the images and documents that it names, which are beside it."""
    if REFERENCE.encode() not in data:
        return data
    log = document.decode(
        data, path=files.document, name=files.name, fallback_time=stamp.now(), blobs=files.blobs
    )
    whole = [
        {**entry.raw, **message_to_json(entry.message)} if holds_data(entry.raw) else entry.raw
        for entry in log.entries
    ]
    return dumps({**json.loads(data), "messages": whole})


def missing(name: str) -> SessionNotFound:
    """There is no session `name`."""
    return SessionNotFound(f"there is no session {name!r}").with_remedy("session_new", name)


def conflict(name: str) -> SessionConflict:
    """Somebody else has written the session `name`."""
    return SessionConflict(
        f"session {name!r} was changed by somebody else meanwhile", hint="read it again; nothing was written"
    )


def _read(path: Path) -> bytes | None:
    try:
        return read_regular(path, max_bytes=MAX_READ_BYTES)
    except FileFailed as error:
        if error.missing:
            return None
        raise SessionUnreadable(error.message, hint=error.hint, path=path) from error
    except (NotRegularFile, TooLarge) as error:
        raise SessionCorrupt(error.message, hint="it was left as it is: move it away", path=path) from error
