"""A session while it grows: the one fold behind the running session and behind a replay.

Both go through the same methods, so what is read back from disk is what was in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeGuard

from caliban_common.codec import usage_from_json
from caliban_common.errors import DataError
from caliban_common.message import Message
from caliban_common.usage import Usage
from caliban_sessions import stamp
from caliban_sessions.entry import StoredMessage, entry_from_json
from caliban_sessions.origin import origin_from_json
from caliban_sessions.state import ForkOrigin, SessionState

MAX_PARTS: Final = 1000
MAX_PART_CHARS: Final = 300
"""Of the table of what prompts begin with: a larger one is not ours."""


class SessionLog:
    """The mutable state of one session. Adding a message costs the same however long the history is."""

    def __init__(self, *, name: str, id: str, created_at: datetime) -> None:
        self.name = name
        self.id = id
        self.created_at = created_at
        self.updated_at = created_at
        self.provider = ""
        self.model = ""
        self.prefix: Mapping[str, str] = {}
        self.usage = Usage()
        self.todos: tuple[Mapping[str, Any], ...] = ()
        self.plan_mode = False
        self.forked_from: ForkOrigin | None = None
        self.extra: dict[str, Any] = {}
        self.sequence = 0
        self.warnings: list[str] = []
        self.entries: list[StoredMessage] = []
        self._by_id: dict[str, StoredMessage] = {}
        self._by_object: dict[int, StoredMessage] = {}

    @property
    def leaf(self) -> str | None:
        """The id of the last message."""
        return self.entries[-1].id if self.entries else None

    def add(self, entry: StoredMessage) -> None:
        """The history grows by `entry`."""
        self.entries.append(entry)
        self._index(entry)

    def swap(self, entries: Sequence[StoredMessage]) -> None:
        """`entries` are the whole history from now on."""
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

    def fork(self, *, name: str, id: str, created_at: datetime) -> SessionLog:
        """A new session that begins with this one's history; what this one has spent stays with it."""
        made = SessionLog(name=name, id=id, created_at=created_at)
        made.provider, made.model, made.prefix = self.provider, self.model, self.prefix
        made.todos, made.plan_mode = self.todos, self.plan_mode
        made.extra = dict(self.extra)
        made.forked_from = ForkOrigin(session=self.name, id=self.id, entry=self.leaf)
        made.swap(self.entries)
        return made

    def note(self, facts: Mapping[str, Any]) -> None:
        """Take over provider, model, prefix, plan mode and todos where `facts` has them in their shape."""
        for name in ("provider", "model"):
            if isinstance(facts.get(name), str):
                setattr(self, name, facts[name])
        if _are_digests(prefix := facts.get("prefix")):
            self.prefix = prefix
        if isinstance(facts.get("plan_mode"), bool):
            self.plan_mode = facts["plan_mode"]
        if isinstance(facts.get("todos"), list):
            self.todos = tuple(todo for todo in facts["todos"] if isinstance(todo, dict))

    def apply(self, record: Mapping[str, Any]) -> None:
        """Fold in one record of a journal, once. Raises `DataError` for one of a form that is not ours.

        Records count by `seq`: one at or below the ledger's own was folded before and changes nothing.
        """
        sequence = record["seq"]
        if sequence <= self.sequence:
            return
        self.sequence = sequence
        self._fold(record)
        self.updated_at = stamp.from_text(record.get("at")) or self.updated_at

    def state(self) -> SessionState:
        """The session at this moment, frozen."""
        return SessionState(
            name=self.name,
            id=self.id,
            created_at=self.created_at,
            updated_at=self.updated_at,
            provider=self.provider,
            model=self.model,
            prefix=self.prefix,
            messages=tuple(entry.message for entry in self.entries),
            total_usage=self.usage,
            todos=self.todos,
            plan_mode=self.plan_mode,
            forked_from=self.forked_from,
            warnings=tuple(self.warnings),
        )

    def _fold(self, record: Mapping[str, Any]) -> None:
        match record.get("type"):
            case "session":
                self.id = str(record.get("id") or self.id)
                self.created_at = stamp.from_text(record.get("created_at")) or self.created_at
                self.forked_from = origin_from_json(record.get("forked_from")) or self.forked_from
                self.note(record)
            case "message":
                self.add(self._entry(record.get("message"), record["seq"]))
                self._count(record)
            case "replace":
                self.swap(tuple(self._kept_or_new(record)))
            case "note":
                self.note(record)
                self._count(record)
            case other:
                raise DataError(f"record {record['seq']} has the unknown type {other!r:.60}")

    def _count(self, record: Mapping[str, Any]) -> None:
        if "usage" in record:
            self.usage += usage_from_json(record["usage"])

    def _kept_or_new(self, record: Mapping[str, Any]) -> Iterable[StoredMessage]:
        items = record.get("messages")
        if not isinstance(items, list):
            raise DataError(f"record {record['seq']} replaces the history by something that is no list")
        for position, item in enumerate(items):
            if isinstance(item, str):
                if item in self._by_id:
                    yield self._by_id[item]
                else:
                    self.warnings.append(f"record {record['seq']} keeps message {item:.40}, which is lost")
            else:
                yield self._entry(item, f"{record['seq']}.{position}")

    def _entry(self, raw: object, number: object) -> StoredMessage:
        entry, warning = entry_from_json(raw, parent=self.leaf, fallback_id=f"m{number}")
        if warning is not None:
            self.warnings.append(f"message {entry.id}: {warning}")
        return entry

    def _index(self, entry: StoredMessage) -> None:
        self._by_id[entry.id] = entry
        self._by_object[id(entry.message)] = entry
        if entry.source is not None:
            self._by_object[id(entry.source)] = entry


def _are_digests(value: object) -> TypeGuard[dict[str, str]]:
    """Whether `value` is a small table of texts."""
    return (
        isinstance(value, dict)
        and len(value) <= MAX_PARTS
        and all(
            isinstance(text, str) and len(text) <= MAX_PART_CHARS for pair in value.items() for text in pair
        )
    )
