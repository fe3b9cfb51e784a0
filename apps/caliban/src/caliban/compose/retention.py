"""Sessions that nobody used for long, removed at the end of a run where the settings ask for that."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from caliban.cli.options import SessionOptions
from caliban.compose.sessionstore import session_store
from caliban_common.text import plural
from caliban_drive.notice import Notice, Report

MARK: Final = ".cleaned"
"""Says when sessions were looked through last; no name of a session, for these have no dot."""
EVERY: Final = timedelta(days=1)
NAMED: Final = 10


def expire_sessions(options: SessionOptions, days: int, report: Report) -> None:
    """Remove what was not used for `days`, at most once a day, and say what is gone.

    What is in use stays, and so does what cannot be removed, until another day.
    """
    store = session_store(options)
    now = datetime.now(UTC)
    mark = store.directory / MARK
    if now - _touched(mark) < EVERY:
        return
    gone = store.remove_unused(now - timedelta(days=days))
    try:
        mark.touch(mode=0o600)
    except OSError:
        pass  # they are looked through again after the next run
    if gone:
        more = f" and {len(gone) - NAMED} more" if len(gone) > NAMED else ""
        report(
            Notice(
                subtype="sessions_removed",
                message=f"{plural(len(gone), 'session')} not used for {plural(days, 'day')} removed: "
                f"{', '.join(gone[:NAMED])}{more}",
            )
        )


def _touched(mark: Path) -> datetime:
    try:
        return datetime.fromtimestamp(mark.lstat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)
