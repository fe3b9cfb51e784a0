"""Durable sessions: a JSON file that a person can read, and a journal that a kill cannot hurt."""

from caliban_sessions.errors import (
    InvalidSessionName,
    SessionBusy,
    SessionCorrupt,
    SessionError,
    SessionExists,
    SessionNotFound,
    SessionUnreadable,
    SessionWriteError,
)
from caliban_sessions.name import check_name, is_name
from caliban_sessions.session import Session
from caliban_sessions.state import Origin, SessionHead, SessionState
from caliban_sessions.store import SessionStore

__all__ = [
    "InvalidSessionName",
    "Origin",
    "Session",
    "SessionBusy",
    "SessionCorrupt",
    "SessionError",
    "SessionExists",
    "SessionHead",
    "SessionNotFound",
    "SessionState",
    "SessionStore",
    "SessionUnreadable",
    "SessionWriteError",
    "check_name",
    "is_name",
]
