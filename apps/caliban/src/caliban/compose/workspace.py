"""The directory a run works in."""

from __future__ import annotations

from pathlib import Path

from caliban.cli.options import Options
from caliban.errors import UsageError
from caliban_common.paths import expand_user
from caliban_common.text import one_line


def build_workspace(options: Options) -> Path:
    """The workspace, absolute with links resolved. Raises `UsageError` when it is no directory."""
    if options.workspace is None:
        try:
            return Path.cwd().resolve()
        except OSError as error:
            raise UsageError(
                "the current directory does not exist any more", hint="cd somewhere else"
            ) from error
    path = expand_user(options.workspace)
    try:
        if not path.is_dir():
            what = "is not a directory" if path.exists() else "does not exist"
            raise UsageError(f"--workspace: {options.workspace} {what}")
        return path.resolve()
    except OSError as error:
        raise UsageError(
            f"--workspace: {one_line(options.workspace, max_chars=200)}: {error.strerror}"
        ) from error
