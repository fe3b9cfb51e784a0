"""The grammar of session names."""

from __future__ import annotations

import re
from datetime import datetime

from caliban_sessions.errors import InvalidSessionName

MAX_CHARS = 64
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def check_name(name: str) -> str:
    """`name` itself, when it may name a session. Raises `InvalidSessionName`."""
    if not is_name(name):
        shown = name if len(name) <= MAX_CHARS else name[:MAX_CHARS] + "…"
        raise InvalidSessionName(
            f"{shown!r} cannot name a session",
            hint=f"use 1 to {MAX_CHARS} letters (a-z, A-Z), digits, _ or -",
        )
    return name


def is_name(name: str) -> bool:
    """Whether `name` may name a session: no separator, no dot, no line end."""
    return _NAME.fullmatch(name) is not None


def dated_name(moment: datetime, suffix: str) -> str:
    """A name that sorts by time and says when the session began."""
    return f"{moment:%Y%m%d-%H%M%S}-{suffix}"
