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
        return current_dir().resolve()
    path = expand_user(named)
    try:
        if not path.is_dir():
            what = "is not a directory" if path.exists() else "does not exist"
            raise UsageError(f"--workspace: {named} {what}")
        return path.resolve()
    except OSError as error:
        raise UsageError(f"--workspace: {one_line(named, max_chars=200)}: {error.strerror}") from error


def current_dir() -> Path:
    """The directory that the program was started in. Raises `UsageError` where it was removed since."""
    try:
        return Path.cwd()
    except OSError as error:
        raise UsageError("the current directory does not exist any more", hint="cd somewhere else") from error


def typed_path(text: str) -> Path:
    """A path as a person typed it, made absolute. Raises `UsageError` as `current_dir` does."""
    path = expand_user(text)
    return path if path.is_absolute() else current_dir() / path


def resolved(path: Path) -> Path:
    """`path` with its links resolved, whether or not it exists. Raises `UsageError` for a loop of links."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise UsageError(f"{one_line(str(path), max_chars=200)} cannot be looked at") from error
    if real.is_symlink():  # Python 3.13 leaves a loop as it is
        raise UsageError(f"{one_line(str(path), max_chars=200)} cannot be looked at")
    return real
