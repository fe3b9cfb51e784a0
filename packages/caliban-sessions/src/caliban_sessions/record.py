"""What stands in a session's files, as types: the session file and the records of its journal.

Only the messages cannot be done without. `None` is what nobody said. Members that are not named here are
passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct

from caliban_common.typed import fitting
from caliban_common.usage import Count, Usage
from caliban_sessions.state import ForkOrigin

Digest: TypeAlias = Annotated[str, Meta(max_length=300)]
Prefix: TypeAlias = Annotated[Mapping[Digest, Digest], Meta(max_length=1000)]
"""What prompts begin with: a larger table is not ours."""

MAX_TITLE_CHARS: Final = 200
MAX_LABELS: Final = 20
MAX_LABEL_CHARS: Final = 40
Title: TypeAlias = Annotated[str, Meta(max_length=MAX_TITLE_CHARS)]
Labels: TypeAlias = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=MAX_LABEL_CHARS)], ...], Meta(max_length=MAX_LABELS)
]
Spent: TypeAlias = Annotated[Mapping[Digest, Usage], Meta(max_length=100)]
"""Tokens by `provider/model`."""


PendingCalls: TypeAlias = Annotated[tuple[Annotated[str, Meta(max_length=300)], ...], Meta(max_length=1000)]
"""Ids of calls of the last reply that wait for a person."""


class SessionFacts(Struct, frozen=True, kw_only=True):
    """What the session file says once and the records of the journal say again when it changes."""

    provider: str | None = None
    model: str | None = None
    workspace: str | None = None
    prefix: Prefix | None = None
    plan_mode: bool | None = None
    todos: tuple[Mapping[str, Any], ...] | None = None
    pending: PendingCalls | None = None
    title: Title | None = None
    labels: Labels | None = None


class SessionFile(SessionFacts, frozen=True, kw_only=True):
    """The members of a session file. The messages are left as they are: `entry` reads them one by one."""

    name: str | None = None
    id: str | None = None
    created_at: str | None = None
    updated_at: str | None = None
    forked_from: ForkOrigin | None = None
    total_usage: Usage | None = None
    spent: Spent | None = None
    message_count: Count | None = None
    turn_count: Count | None = None
    preview: str | None = None
    journal_seq: int | None = None
    messages: list[Any] | None = None


class SessionRecord(SessionFacts, frozen=True, kw_only=True, tag_field="type", tag="session"):
    """The first record of a journal that no session file stands beside."""

    seq: int
    at: str | None = None
    id: str | None = None
    created_at: str | None = None
    forked_from: ForkOrigin | None = None


class MessageRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="message"):
    """The history grew by a message; `usage` is that of the call that gave it."""

    seq: int
    message: Mapping[str, Any]
    at: str | None = None
    usage: Usage | None = None


class ResultRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="result"):
    """A call of the last message has this result, which stands in the message with all of them later."""

    seq: int
    result: Mapping[str, Any]
    at: str | None = None


class ReplaceRecord(Struct, frozen=True, kw_only=True, tag_field="type", tag="replace"):
    """The whole history from now on: ids of messages that stay, and new messages, which `entry` reads."""

    seq: int
    messages: tuple[Any, ...]
    at: str | None = None


class NoteRecord(SessionFacts, frozen=True, kw_only=True, tag_field="type", tag="note"):
    """Something else that changed."""

    seq: int
    at: str | None = None
    usage: Usage | None = None


Record: TypeAlias = SessionRecord | MessageRecord | ResultRecord | ReplaceRecord | NoteRecord
_BY_TYPE: Final[Mapping[str, Any]] = {
    "session": SessionRecord,
    "message": MessageRecord,
    "result": ResultRecord,
    "replace": ReplaceRecord,
    "note": NoteRecord,
}
"""The decoder takes 10 µs to look at a union, each time anew, and 1 µs for a record of a known type."""


def record_of(data: Mapping[str, Any]) -> tuple[Record, list[str]]:
    """The record in a line's JSON, and what is said of parts that were left out. Raises `DataError`."""
    type = data.get("type")
    kind = _BY_TYPE.get(type, Record) if isinstance(type, str) else Record
    return fitting(data, kind, what=f"record {data['seq']}")


def session_file_of(data: Mapping[str, Any]) -> tuple[SessionFile, list[str]]:
    """What of a session file's JSON has its form, and what is said of parts that were left out."""
    return fitting(data, SessionFile, what="the session")
