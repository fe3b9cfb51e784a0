"""`caliban sessions copy`: a session in another directory, compared before it is replaced."""

from __future__ import annotations

import json
from typing import Any

from caliban.cli.invocation import Invocation
from caliban.compose.sessionstore import require_session, session_store
from caliban.compose.workspace import typed_path
from caliban.errors import CommandRefused
from caliban.stdio import print_text
from caliban_sessions import SessionNotFound, SessionStore
from caliban_sessions.records import DirectoryRecords, SessionRevision


def copy_session(invocation: Invocation) -> int:
    """Copy one session; an existing copy is replaced only if this continues it, or with --force."""
    values = invocation.values
    name, place = values["name"], typed_path(values["to"])
    store = session_store(invocation.options.session)
    require_session(store, name)
    if store.is_unfolded(name):
        store.open(name, create=False).close()  # takes over what a killed run has left
    here, target = DirectoryRecords(store).get(name), DirectoryRecords(SessionStore(place))
    there = _get(target, name)
    if there is not None and _messages(there) == _messages(here):
        return print_text(f"{name} is there already, as it is here\n")
    if there is not None and not values["force"] and not _goes_on(there, here):
        raise CommandRefused(
            f"session {name!r} has gone another way in {place}; nothing was written",
            hint="rename one of the two, or let --force write over the one that is there",
        )
    target.put(name, here.data, expected=None if there is None else there.revision)
    return print_text(f"copied {name} to {place}\n")


def _get(records: DirectoryRecords, name: str) -> SessionRevision | None:
    try:
        return records.get(name)
    except SessionNotFound:
        return None


def _goes_on(before: SessionRevision, after: SessionRevision) -> bool:
    """Whether `after` starts with every message of `before`; system prompts aside, which runs rewrite."""
    old, new = ([_id(raw) for raw in _messages(kept)] for kept in (before, after))
    return new[: len(old)] == old


def _messages(kept: SessionRevision) -> list[Any]:
    messages: list[Any] = json.loads(kept.data)["messages"]
    return [raw for raw in messages if not isinstance(raw, dict) or raw.get("role") != "system"]


def _id(raw: Any) -> Any:
    return raw.get("id") if isinstance(raw, dict) else None
