"""Sessions that nobody used for long, removed at the end of a run where the settings ask for that."""

from __future__ import annotations

import os
from collections.abc import Mapping
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
MAX_DAYS: Final = 36_500


def expire_sessions(options: SessionOptions, days: int, environ: Mapping[str, str], report: Report) -> None:
    """Remove what was not used for `days`, at most once a day, and say what is gone: checkpoints go with it.

    What is in use stays, and so does what cannot be removed, until another day.
    """
    store = session_store(options)
    now = datetime.now(UTC)
    mark = store.directory / MARK
    if timedelta(0) <= now - _touched(mark) < EVERY:  # a mark of the future is one of a wrong clock
        return
    workspaces = {head.name: head.workspace for head in store.list()}
    gone = store.remove_unused(now - timedelta(days=min(days, MAX_DAYS)))
    for problem in forget_checkpoints({name: workspaces.get(name, "") for name in gone}, environ):
        report(Notice(subtype="checkpoint", message=problem))
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


def forget_checkpoints(workspaces: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """Remove the checkpoints of sessions that are gone, by name and workspace; what could not be removed."""
    from caliban.compose.recorder import checkpoint_root
    from caliban_checkpoint import CheckpointFailed, workspace_dir
    from caliban_checkpoint.expiry import remove_checkpoints

    root, problems = checkpoint_root(environ), []
    for name, workspace in workspaces.items():
        if not workspace:
            continue
        try:
            remove_checkpoints(workspace_dir(root, Path(workspace)), name)
        except CheckpointFailed as error:
            problems.append(error.message)
    return problems


def move_checkpoints(name: str, new: str, workspace: str, environ: Mapping[str, str]) -> list[str]:
    """Let the checkpoints of the session `name` be those of `new`; what is to be said of that."""
    from caliban.compose.recorder import checkpoint_root
    from caliban_checkpoint import workspace_dir

    if not workspace:
        return []
    store = workspace_dir(checkpoint_root(environ), Path(workspace)) / "checkpoints"
    before, after = store / name, store / new
    if not before.is_dir() or before.is_symlink():
        return []
    try:
        if os.path.lexists(after):
            return [f"the checkpoints stay in {before}: {after} is there already"]
        before.rename(after)
    except OSError as error:
        return [f"the checkpoints stay in {before}: {error.strerror or error}"]
    return []


def _touched(mark: Path) -> datetime:
    try:
        return datetime.fromtimestamp(mark.lstat().st_mtime, UTC)
    except (OSError, ValueError, OverflowError):
        return datetime.min.replace(tzinfo=UTC)
