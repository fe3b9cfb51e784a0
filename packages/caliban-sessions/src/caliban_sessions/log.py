"""A session while it grows: the one fold behind the running session and behind a replay.

Both go through the same methods, so what is read back from disk is what was in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, assert_never

from msgspec.structs import replace

from caliban_common.codec import block_to_json, usage_to_json
from caliban_common.history import interrupted
from caliban_common.message import Message
from caliban_common.usage import Usage
from caliban_sessions import stamp
from caliban_sessions.entry import StoredMessage, entry_from_json, entry_of, usage_of
from caliban_sessions.record import (
    MessageRecord,
    NoteRecord,
    Record,
    ReplaceRecord,
    ResultRecord,
    SessionFacts,
    SessionRecord,
    record_of,
)
from caliban_sessions.state import ForkOrigin, SessionState


class SessionLog:
    """The mutable state of one session. Adding a message costs the same however long the history is."""

    def __init__(self, *, name: str, id: str, created_at: datetime, blobs: Path) -> None:
        self.name: str = name
        self.blobs: Path = blobs
        self.id: str = id
        self.created_at: datetime = created_at
        self.updated_at: datetime = created_at
        self.provider: str = ""
        self.model: str = ""
        self.workspace: str = ""
        self.prefix: Mapping[str, str] = {}
        self.usage: Usage = Usage()
        self.todos: tuple[Mapping[str, Any], ...] = ()
        self.plan_mode: bool = False
        self.pending: tuple[str, ...] = ()
        self.forked_from: ForkOrigin | None = None
        self.title: str = ""
        self.labels: tuple[str, ...] = ()
        self.spent: dict[str, Usage] = {}
        self.extra: dict[str, Any] = {}
        self.sequence: int = 0
        self.warnings: list[str] = []
        self.entries: list[StoredMessage] = []
        self._results: dict[str, list[Mapping[str, Any]]] = {}
        self._finished: dict[str, str] = {}
        self._by_id: dict[str, StoredMessage] = {}
        self._by_object: dict[int, StoredMessage] = {}

    @property
    def leaf(self) -> str | None:
        """The id of the last message."""
        return self.entries[-1].id if self.entries else None

    def add(self, entry: StoredMessage) -> None:
        """The history grows by `entry`; one of results says when each of them came."""
        if entry.message.tool_results:
            if self._finished and "finished" not in entry.raw:
                ids = [result.tool_use_id for result in entry.message.tool_results]
                finished = {id: self._finished[id] for id in ids if id in self._finished}
                entry = replace(entry, raw={**entry.raw, **({"finished": finished} if finished else {})})
            self._results.clear()
            self._finished = {}
        self.entries.append(entry)
        self._index(entry)

    def add_result(self, result: Mapping[str, Any], at: str | None) -> None:
        """A call of the last message has this result, as JSON, since `at`; the message of all is to come."""
        id = str(result.get("tool_use_id"))
        self._results.setdefault(id, []).append(result)
        if at is not None:
            self._finished[id] = at

    def holds(self, message: Message) -> bool:
        """Whether `message` says nothing but results that `add_result` has been given."""
        results = message.tool_results
        return len(results) == len(message.content) and all(
            result.tool_use_id in self._results for result in results
        )

    def settle(self) -> None:
        """Make a message of results that no message has followed: their process was killed before.

        Its id is made of the one before it, so that a replay makes the same again.
        """
        known, self._results = self._results, {}
        last = self.entries[-1] if self.entries else None
        if last is None or not known or not last.message.tool_uses:
            return
        content = []
        for call in last.message.tool_uses:
            results = known.get(call.id)
            content.append(results.pop(0) if results else block_to_json(interrupted(call.id)))
        raw: dict[str, Any] = {
            "id": f"{last.id}-results",
            "parent": last.id,
            "role": "user",
            "content": content,
        }
        self.add(entry_from_json(raw, parent=last.id, fallback_id=last.id, blobs=self.blobs)[0])

    def swap(self, entries: Sequence[StoredMessage]) -> None:
        """`entries` are the whole history from now on."""
        self._results.clear()
        self._finished = {}
        self.entries = list(entries)
        self._by_id, self._by_object = {}, {}
        for entry in self.entries:
            self._index(entry)

    def has(self, id: str) -> bool:
        """Whether a live message has this id."""
        return id in self._by_id

    def entry_for(self, message: Message) -> StoredMessage | None:
        """The live entry of this very message, if it is one of the history and unchanged."""
        entry = self._by_object.get(id(message))
        if entry is None:
            entry = self._by_id.get(message.id)
            if entry is not None and entry.message != message:
                entry = None
        return entry if entry is not None and self._by_id.get(entry.id) is entry else None

    def parent_of(self, message: Message) -> str | None:
        """The parent of the live message whose edited form `message` is; else the last message."""
        known = self._by_id.get(message.id)
        return known.parent if known is not None else self.leaf

    def fork(self, *, name: str, id: str, created_at: datetime, blobs: Path) -> SessionLog:
        """A new session that begins with this one's history; what this one has spent stays with it."""
        made = SessionLog(name=name, id=id, created_at=created_at, blobs=blobs)
        made.provider, made.model, made.prefix = self.provider, self.model, self.prefix
        made.workspace, made.title, made.labels = self.workspace, self.title, self.labels
        made.todos, made.plan_mode = self.todos, self.plan_mode
        made.extra = dict(self.extra)
        made.forked_from = ForkOrigin(session=self.name, id=self.id, entry=self.leaf)
        made.swap(self.entries)
        return made

    def renamed(self, name: str, blobs: Path) -> None:
        """It is called `name` from now on, and its images and documents are in `blobs`."""
        self.name = name
        self.blobs = blobs

    def note(self, facts: SessionFacts) -> None:
        """Take over what `facts` says."""
        for name in SessionFacts.__struct_fields__:
            value = getattr(facts, name)
            if value is not None:
                setattr(self, name, value)

    def apply(self, data: Mapping[str, Any]) -> list[str]:
        """Fold in one record of a journal, once, and say what of it was left out.

        Records count by `seq`, a whole number: one at or below the log's own was folded before and changes
        nothing. Raises `DataError` for one of a form that is not ours.
        """
        if data["seq"] <= self.sequence:
            return []
        self.sequence = data["seq"]
        record, remarks = record_of(data)
        remarks.extend(self._fold(record))
        self.updated_at = stamp.from_text(record.at) or self.updated_at
        return remarks

    def take(self, state: SessionState, facts: Mapping[str, Mapping[str, Any]]) -> None:
        """Be what `state` is, but for its id where it has none; `facts` are what else is stored, by id."""
        self.id = state.id or self.id
        self.created_at, self.updated_at = state.created_at, state.updated_at
        self.provider, self.model, self.workspace = state.provider, state.model, state.workspace
        self.usage, self.spent = state.total_usage, dict(state.spent)
        self.todos, self.plan_mode = state.todos, state.plan_mode
        self.title, self.labels, self.forked_from = state.title, state.labels, state.forked_from
        for message in state.messages:
            entry = entry_of(message, parent=self.leaf, id=message.id, blobs=self.blobs)
            known = facts.get(message.id)
            self.add(entry if known is None else replace(entry, raw={**known, **entry.raw}))

    def state(self) -> SessionState:
        """The session at this moment, frozen."""
        return SessionState(
            name=self.name,
            id=self.id,
            created_at=self.created_at,
            updated_at=self.updated_at,
            provider=self.provider,
            model=self.model,
            workspace=self.workspace,
            prefix=self.prefix,
            messages=tuple(entry.message for entry in self.entries),
            total_usage=self.usage,
            todos=self.todos,
            plan_mode=self.plan_mode,
            pending=self.pending,
            forked_from=self.forked_from,
            title=self.title,
            labels=self.labels,
            spent=dict(self.spent),
            warnings=tuple(self.warnings),
        )

    def _fold(self, record: Record) -> list[str]:
        match record:
            case SessionRecord():
                self.id = record.id or self.id
                self.created_at = stamp.from_text(record.created_at) or self.created_at
                self.forked_from = record.forked_from or self.forked_from
                self.note(record)
                return []
            case MessageRecord():
                raw = {**record.message, **({"at": record.at} if record.at else {})}
                entry, remarks = self._entry(raw, f"m{record.seq}")
                if not entry.message.tool_results:
                    self.settle()
                    entry, remarks = self._entry(raw, f"m{record.seq}")
                if self.has(
                    entry.id
                ):  # a file without ids numbers its messages as a journal without them does
                    entry, remarks = self._entry({**raw, "id": f"{entry.id}-{record.seq}"}, entry.id)
                self.add(entry)
                self.count(record.usage)
                return remarks
            case ResultRecord():
                self.add_result(record.result, record.at)
                return []
            case ReplaceRecord():
                self.settle()
                return self._replace(record)
            case NoteRecord():
                self.note(record)
                self.count(record.usage)
                return []
            case _:
                assert_never(record)

    def count(self, usage: Usage | None) -> None:
        """Tokens were spent: in all, by model, and for the last thing that the model said."""
        if usage is None:
            return
        self.usage += usage
        place = next((n for n in (-1, -2, -3) if n >= -len(self.entries) and self._is_reply(n)), None)
        model = self.model if place is None else self.entries[place].message.model or self.model
        name = f"{self.provider}/{model}"[:300]
        self.spent[name] = self.spent.get(name, Usage()) + usage
        if place is None:
            return
        entry = self.entries[place]
        before = usage_of(entry.raw)
        total = usage if before is None else before + usage
        entry = replace(entry, raw={**entry.raw, "usage": usage_to_json(total)})
        self.entries[place] = entry
        self._index(entry)

    def _is_reply(self, place: int) -> bool:
        return self.entries[place].message.role == "assistant"

    def _replace(self, record: ReplaceRecord) -> list[str]:
        entries: list[StoredMessage] = []
        remarks: list[str] = []
        for position, item in enumerate(record.messages):
            if not isinstance(item, str):
                entry, of_entry = self._entry(item, f"m{record.seq}.{position}")
                entries.append(entry)
                remarks.extend(of_entry)
            elif item in self._by_id:
                entries.append(self._by_id[item])
            else:
                remarks.append(f"record {record.seq} keeps message {item:.40}, which is lost")
        self.swap(entries)
        return remarks

    def _entry(self, raw: object, fallback_id: str) -> tuple[StoredMessage, list[str]]:
        entry, warning = entry_from_json(raw, parent=self.leaf, fallback_id=fallback_id, blobs=self.blobs)
        return entry, [] if warning is None else [f"message {entry.id}: {warning}"]

    def _index(self, entry: StoredMessage) -> None:
        self._by_id[entry.id] = entry
        self._by_object[id(entry.message)] = entry
        if entry.source is not None:
            self._by_object[id(entry.source)] = entry
