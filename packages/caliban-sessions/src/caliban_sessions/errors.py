"""What can go wrong with a stored session.

CalibanError
└── SessionError
    ├── InvalidSessionName   the name is outside the grammar of session names
    ├── SessionNotFound      there is no session of that name
    ├── SessionExists        there is a session of that name already
    ├── SessionBusy          another process writes to it
    ├── SessionUnreadable    the system refuses its file, or it is no regular file, or far too large
    │   └── SessionCorrupt   its file was read and is not a session
    ├── SessionConflict      somebody else has written it since it was read
    └── SessionWriteError    something could not be made durable; the state in memory is whole
"""

from __future__ import annotations

from pathlib import Path

from caliban_common.errors import CalibanError


class SessionError(CalibanError):
    """A stored session cannot be used as asked."""


class InvalidSessionName(SessionError):
    """A session's name has 1 to 64 characters of `A-Z a-z 0-9 _ -`."""


class SessionNotFound(SessionError):
    """There is no session of that name in the directory."""


class SessionExists(SessionError):
    """There is a session of that name, and a new one was to have it."""


class SessionBusy(SessionError):
    """Another process holds the session; `pid` is its number, `None` when it did not say."""

    def __init__(self, message: str, *, hint: str | None = None, pid: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.pid = pid


class SessionUnreadable(SessionError):
    """The file at `path` cannot be read; it was left as it is."""

    def __init__(self, message: str, *, hint: str | None = None, path: Path) -> None:
        super().__init__(message, hint=hint)
        self.path = path


class SessionCorrupt(SessionUnreadable):
    """The file at `path` is not a session; it and its journal were left as they are."""


class SessionConflict(SessionError):
    """The session has another revision than the one it was to be written over; nothing was written."""


class SessionWriteError(SessionError):
    """The disk did not take it; what is in memory is whole, and the next write tries again."""
