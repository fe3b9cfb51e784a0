"""An open session: one writer, every change durable when the call returns, or the next `sync`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from msgspec import Struct

from caliban_common.codec import block_to_json, dumps, usage_to_json
from caliban_common.files import FileFailed
from caliban_common.message import Message, ToolResultBlock
from caliban_common.usage import Usage
from caliban_sessions import stamp
from caliban_sessions.entry import StoredMessage, entry_of, without_data
from caliban_sessions.errors import SessionWriteError
from caliban_sessions.files import SessionFiles
from caliban_sessions.journal import Journal, line_of
from caliban_sessions.lock import Lock
from caliban_sessions.log import SessionLog
from caliban_sessions.record import MAX_LABEL_CHARS, MAX_LABELS, MAX_TITLE_CHARS, SessionFacts
from caliban_sessions.state import SessionState
from caliban_sessions.transcript import whole_transcript


class WriterParts(Struct, frozen=True, kw_only=True):
    """What all writers of a store share; see `SessionStore`."""

    clock: Callable[[], datetime]
    new_id: Callable[[], str]
    max_bytes: int
    defers_sync: bool


class SessionWriter:
    """A session that this process writes to; made by `SessionStore.open`, ended by `close`.

    Not for use by two threads at once, but for `sync`. A method that raises `SessionWriteError` has changed
    the state in memory all the same; what is owed to the disk goes out with the next call, at the latest with
    `close`.
    """

    def __init__(
        self,
        *,
        files: SessionFiles,
        lock: Lock,
        log: SessionLog,
        parts: WriterParts,
    ) -> None:
        self._files = files
        self._lock: Lock | None = lock
        self._log = log
        self._clock = parts.clock
        self._new_id = parts.new_id
        self._max_bytes = parts.max_bytes
        self._journal = Journal(files.journal, defers_sync=parts.defers_sync)
        self._archive = Journal(files.archive)
        self._unfolded = files.journal.exists()
        self._headed = self._unfolded or files.document.exists()
        self._is_used = self._headed
        self._size_bytes = files.size_bytes()

    @property
    def name(self) -> str:
        """The session's name, which is that of its files."""
        return self._log.name

    @property
    def path(self) -> Path:
        """The session file, which `close` writes."""
        return self._files.document

    @property
    def state(self) -> SessionState:
        """The session at this moment. Costs one pass over the messages' list: ask once, not per message."""
        return self._log.state()

    def append(self, message: Message, usage: Usage | None = None) -> None:
        """The history grows by `message`; `usage` is added to the total. Raises `SessionWriteError`.

        A message keeps its id; one with the id of another gets a new one in the state. O(1) in the length of
        the history.
        """
        log = self._log
        id = message.id if message.id and not log.has(message.id) else self._new_id()
        moment = stamp.cut(self._clock())
        at = stamp.to_text(moment)
        is_told = log.holds(message)
        log.add(entry_of(message, parent=log.leaf, id=id, blobs=log.blobs, at=at))
        raw = log.entries[-1].raw
        record: dict[str, Any] = {"message": {name: raw[name] for name in raw if name != "at"}}
        if usage is not None:
            log.count(usage)
            record["usage"] = usage_to_json(usage)
        self._write("message", record, durable=not is_told, moment=moment)

    def keep_result(self, result: ToolResultBlock) -> None:
        """A call of the last message has this result; the message with all of them follows later.

        Where the process is killed before it does, the next one finds the result. Raises `SessionWriteError`.
        """
        raw = without_data(block_to_json(result), self._log.blobs)
        moment = stamp.cut(self._clock())
        self._log.add_result(raw, stamp.to_text(moment))
        self._write("result", {"result": raw}, moment=moment)

    def replace(self, messages: tuple[Message, ...]) -> None:
        """`messages` are the whole history from now on (compaction). Raises `SessionWriteError`.

        What they leave out, or change, goes to the session's archive file and out of memory: nothing is lost.
        """
        log = self._log
        before = log.entries
        entries = self._entries_of(messages)
        log.swap(entries)
        kept = {id(entry) for entry in entries}
        old = {id(entry) for entry in before}
        gone = b"".join(dumps(entry.raw) + b"\n" for entry in before if id(entry) not in kept)
        listed = [entry.id if id(entry) in old else entry.raw for entry in entries]
        try:
            if gone:
                self._append(self._archive, gone)
        finally:
            self._write("replace", {"messages": listed})

    def transcript(self) -> tuple[Message, ...] | None:
        """All that was said, what was summarised too, but system messages; `None` where some of it is lost.

        Raises `SessionUnreadable`.
        """
        log = self._log
        return whole_transcript(log.entries, self._files.archived(), log.leaf, log.blobs)

    def add_usage(self, usage: Usage) -> None:
        """Count tokens of a call that left no message. Raises `SessionWriteError`."""
        if usage != Usage():
            self._log.count(usage)
            self._write("note", {"usage": usage_to_json(usage)}, durable=False)

    def note(
        self,
        *,
        provider: str | None = None,
        model: str | None = None,
        workspace: str | None = None,
        prefix: Mapping[str, str] | None = None,
        todos: tuple[Mapping[str, Any], ...] | None = None,
        plan_mode: bool | None = None,
    ) -> None:
        """Remember who answers from now on, where, what prompts begin with, the tasks, and plan mode.

        Raises `SessionWriteError`.
        """
        asked = {
            "provider": provider,
            "model": model,
            "workspace": workspace,
            "prefix": None if prefix is None else dict(prefix),
            "todos": todos,
            "plan_mode": plan_mode,
        }
        self._note(asked)

    def describe(self, *, title: str | None = None, labels: tuple[str, ...] | None = None) -> None:
        """Remember what a person calls it: a title of at most 200 characters, at most 20 labels of 40.

        What is longer is cut. It does not count as use of the session. Raises `SessionWriteError`.
        """
        self._note(
            {
                "title": None if title is None else title[:MAX_TITLE_CHARS],
                "labels": None if labels is None else _fitting(labels),
            },
            moment=self._log.updated_at,
        )

    def note_pending(self, ids: tuple[str, ...]) -> None:
        """Remember which calls of the last reply wait for a person. Raises `SessionWriteError`."""
        if ids != self._log.pending:
            self._log.note(SessionFacts(pending=ids))
            self._write("note", {"pending": ids})

    @property
    def unsynced(self) -> bool:
        """Whether `sync` has something to wait for: never, unless the store was made with `defers_sync`."""
        return self._journal.unsynced

    def sync(self) -> None:
        """Wait until the disk has all that was written; from a worker thread, if need be.

        Raises `SessionWriteError`.
        """
        try:
            self._journal.sync()
        except OSError as error:
            raise self._unsaved(self._journal, error) from error

    def close(self) -> None:
        """Fold the journal into the session file and let the next writer in. Does nothing the second time.

        A session that nothing was written to leaves no file, nor does a new one whose history is its system
        prompt. Raises `SessionWriteError` when the file cannot be written: the old one and the journal are
        then as they were, and a later open reads both.
        """
        if self._lock is None:
            return
        lock, self._lock = self._lock, None
        try:
            if self._unfolded and self._is_used:
                self._fold()
            elif self._unfolded:
                self._journal.close()
                self._files.retire_journal(keep=False)
        finally:
            self._journal.close()
            self._archive.close()
            lock.release()

    def __enter__(self) -> SessionWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _entries_of(self, messages: tuple[Message, ...]) -> list[StoredMessage]:
        log = self._log
        entries: list[StoredMessage] = []
        taken: set[str] = set()
        newest: str | None = None
        for message in messages:
            entry = log.entry_for(message)
            if entry is None or entry.id in taken:
                id = message.id if message.id and message.id not in taken else self._new_id()
                entry = entry_of(message, parent=newest or log.parent_of(message), id=id, blobs=log.blobs)
                newest = entry.id
            taken.add(entry.id)
            entries.append(entry)
        return entries

    def _note(self, asked: Mapping[str, Any], *, moment: datetime | None = None) -> None:
        facts: dict[str, Any] = {
            key: value for key, value in asked.items() if value not in (None, getattr(self._log, key))
        }
        if facts:
            self._log.note(SessionFacts(**facts))
            self._write("note", facts, moment=moment)

    def _write(
        self, type: str, body: Mapping[str, Any], *, durable: bool = True, moment: datetime | None = None
    ) -> None:
        moment = moment or stamp.cut(self._clock())
        lines = b""
        if not self._headed:
            lines = self._record("session", self._header(), moment)
            self._headed = True
        lines += self._record(type, body, moment)
        self._unfolded = True
        is_begun_only = type == "replace" and all(e.message.role == "system" for e in self._log.entries)
        self._is_used = self._is_used or not is_begun_only
        self._append(self._journal, lines, durable=durable)

    def _record(self, type: str, body: Mapping[str, Any], moment: datetime) -> bytes:
        log = self._log
        log.sequence += 1
        log.updated_at = moment
        return line_of({"seq": log.sequence, "type": type, "at": stamp.to_text(log.updated_at), **body})

    def _header(self) -> dict[str, Any]:
        log = self._log
        return {
            "name": log.name,
            "id": log.id,
            "created_at": stamp.to_text(log.created_at),
            "provider": log.provider,
            "model": log.model,
            **({"workspace": log.workspace} if log.workspace else {}),
        }

    def _append(self, journal: Journal, lines: bytes, *, durable: bool = True) -> None:
        if self._lock is None:
            raise RuntimeError(f"session {self.name!r} is closed")
        if self._size_bytes + len(lines) > self._max_bytes:
            raise SessionWriteError(
                f"session {self.name!r} is full: its files would pass {self._max_bytes:,} bytes",
                hint="start a new one of another name",
            ).with_remedy("session_other")
        try:
            journal.append(lines, durable=durable)
        except OSError as error:
            raise self._unsaved(journal, error) from error
        self._size_bytes += len(lines)

    def _unsaved(self, journal: Journal, error: OSError) -> SessionWriteError:
        reason = (error.strerror or str(error)).lower()
        return SessionWriteError(
            f"session {self.name!r} cannot be saved: writing {journal.path} failed: {reason}",
            hint="free some space; nothing shown so far is lost while this process lives",
        )

    def _fold(self) -> None:
        files = self._files
        try:
            files.save(self._log)
        except FileFailed as error:
            raise SessionWriteError(
                f"session {self.name!r} cannot be folded: {error.message}",
                hint=f"{files.journal} holds what is new; it is read with the session the next time",
            ) from error
        self._journal.close()
        files.retire_journal(keep=bool(self._log.warnings))


def _fitting(labels: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label[:MAX_LABEL_CHARS] for label in labels if label))[:MAX_LABELS]
