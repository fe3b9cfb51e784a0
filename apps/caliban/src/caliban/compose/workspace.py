"""The directory a run works in."""

from __future__ import annotations

from pathlib import Path

from caliban.errors import UsageError
from caliban_common.paths import expand_user
from caliban_common.text import one_line


def build_workspace(named: str | None) -> Path:
    """The workspace, `named` or else here: absolute, with links resolved.

    Raises `UsageError` when it is no directory.
    """
    if named is None:
        try:
            return Path.cwd().resolve()
        except OSError as error:
            raise UsageError(
                "the current directory does not exist any more", hint="cd somewhere else"
            ) from error
    path = expand_user(named)
    try:
        if not path.is_dir():
            what = "is not a directory" if path.exists() else "does not exist"
            raise UsageError(f"--workspace: {named} {what}")
        return path.resolve()
    except OSError as error:
        raise UsageError(f"--workspace: {one_line(named, max_chars=200)}: {error.strerror}") from error
