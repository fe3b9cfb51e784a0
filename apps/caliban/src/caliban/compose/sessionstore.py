"""Where sessions are kept."""

from __future__ import annotations

from caliban.cli.options import SessionOptions
from caliban.errors import MissingError
from caliban_common.near import did_you_mean
from caliban_common.paths import data_dir, expand_user
from caliban_sessions import SessionStore
from caliban_settings import Settings


def session_store(options: SessionOptions) -> SessionStore:
    """The store of the directory that is asked for."""
    if options.sessions_dir is not None:
        return SessionStore(expand_user(options.sessions_dir).absolute(), defers_sync=True)
    return SessionStore(data_dir() / "sessions", defers_sync=True)


def require_session(store: SessionStore, name: str, way: str = "caliban sessions list --all") -> None:
    """Raise `MissingError` where there is no session `name`; `way` is what else there is to do."""
    if not store.exists(name):
        meant = did_you_mean(name, (head.name for head in store.list()))
        raise MissingError(
            f"there is no session {name!r} in {store.directory}", hint=f"{meant} {way}".strip()
        )


def cleanup_days(settings: Settings) -> int | None:
    """After how many days without use a session may go; `None` where nobody wants any to go."""
    days: int | None = settings.get("cleanup_period_days")
    return days
