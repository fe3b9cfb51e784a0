"""`caliban sessions copy`: a session in another directory, compared before it is replaced."""

from __future__ import annotations

import os
from typing import TypeAlias

from caliban.cli.invocation import Invocation
from caliban.compose.sessionstore import require_session, session_store
from caliban.compose.workspace import typed_path
from caliban.errors import CommandRefused
from caliban.stdio import complain, print_text
from caliban_common.message import Message
from caliban_sessions import SessionNotFound, SessionStore, SessionUnreadable
from caliban_sessions.files import SessionFiles
from caliban_sessions.records import DirectoryRecords, SessionRevision

Said: TypeAlias = tuple[Message, ...]
"""The messages of a session, system prompts aside, which runs rewrite."""


def copy_session(invocation: Invocation) -> int:
    """Copy one session; an existing copy is replaced only if this continues it, or with --force."""
    values = invocation.values
    name, place = values["name"], typed_path(values["to"])
    store, other = session_store(invocation.options.session), SessionStore(place)
    require_session(store, name)
    if store.is_unfolded(name):
        store.open(name, create=False).close()  # takes over what a killed run has left
    messages = _said(store, name)
    here, target = DirectoryRecords(store).get(name), DirectoryRecords(other)
    there = _get(target, name)
    if there is not None:
        before = _before(other, name, force=values["force"])
        if before == messages:
            return print_text(f"{name} is there already, as it is here\n")
        if not values["force"] and (before is None or messages[: len(before)] != before):
            raise CommandRefused(
                f"session {name!r} has gone another way in {place}; nothing was written",
                hint="rename one of the two, or let --force write over the one that is there",
            )
    target.put(name, here.data, expected=None if there is None else there.revision)
    if os.path.lexists(SessionFiles(store.directory, name).archive):
        complain(f"caliban: what summaries have taken the place of stays in {store.directory}\n")
    return print_text(f"copied {name} to {place}\n")


def _get(records: DirectoryRecords, name: str) -> SessionRevision | None:
    try:
        return records.get(name)
    except SessionNotFound:
        return None


def _before(store: SessionStore, name: str, *, force: bool) -> Said | None:
    """What is said where the copy is to be; `None` where that is no session and `force` writes over it."""
    try:
        return _said(store, name)
    except SessionUnreadable:
        if force:
            return None
        raise


def _said(store: SessionStore, name: str) -> Said:
    return tuple(message for message in store.load(name).messages if message.role != "system")
