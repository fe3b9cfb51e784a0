"""Durable sessions: a JSON file that a person can read, and a journal that a kill cannot hurt."""

from caliban_sessions.errors import (
    InvalidSessionName,
    SessionBusy,
    SessionConflict,
    SessionCorrupt,
    SessionError,
    SessionExists,
    SessionNotFound,
    SessionUnreadable,
    SessionWriteError,
)
from caliban_sessions.name import check_name, is_name
from caliban_sessions.state import ForkOrigin, SessionHead, SessionState
from caliban_sessions.store import SessionStore
from caliban_sessions.writer import SessionWriter

__all__ = [
    "ForkOrigin",
    "InvalidSessionName",
    "SessionBusy",
    "SessionConflict",
    "SessionCorrupt",
    "SessionError",
    "SessionExists",
    "SessionHead",
    "SessionNotFound",
    "SessionState",
    "SessionStore",
    "SessionUnreadable",
    "SessionWriteError",
    "SessionWriter",
    "check_name",
    "is_name",
]
