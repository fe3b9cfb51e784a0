"""Where sessions are kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Final

from caliban.cli.options import SessionOptions
from caliban.errors import MissingError, UsageError
from caliban_common.near import did_you_mean
from caliban_common.paths import data_dir, expand_user
from caliban_common.text import one_line
from caliban_sessions import SessionStore
from caliban_settings import Settings

CLEANUP: Final = "CALIBAN_CLEANUP_PERIOD_DAYS"


def session_store(options: SessionOptions) -> SessionStore:
    """The store of the directory that is asked for."""
    if options.sessions_dir is not None:
        return SessionStore(expand_user(options.sessions_dir).absolute(), defers_sync=True)
    return SessionStore(data_dir() / "sessions", defers_sync=True)


def has_directory(store: SessionStore) -> bool:
    """Whether the directory of the store is there yet. Raises `MissingError` for what cannot be listed."""
    try:
        os.scandir(store.directory).close()
    except FileNotFoundError:
        return False
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise MissingError(
            f"the sessions in {store.directory} cannot be listed: {reason}",
            hint="--sessions-dir says where they are",
        ) from error
    return True


def require_session(store: SessionStore, name: str, way: str = "caliban sessions list --all") -> None:
    """Raise `MissingError` where there is no session `name`; `way` is what else there is to do."""
    if not store.exists(name):
        meant = did_you_mean(name, (head.name for head in store.list()))
        raise MissingError(
            f"there is no session {name!r} in {store.directory}", hint=f"{meant} {way}".strip()
        )


def cleanup_days(settings: Settings, environ: Mapping[str, str]) -> int | None:
    """After how many days without use a session may go, with its checkpoints; `None`: nobody wants any to go.

    Raises `UsageError` for a variable that is no number of days.
    """
    text = environ.get(CLEANUP, "")
    if not text:
        days: int | None = settings.get("cleanup_period_days")
        return days
    if not (text.isascii() and text.isdigit() and len(text) <= 6 and int(text) > 0):
        raise UsageError(f"{CLEANUP} must be a number of days above 0, not {one_line(text, max_chars=40)!r}")
    return int(text)
