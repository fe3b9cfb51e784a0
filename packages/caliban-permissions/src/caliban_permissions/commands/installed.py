"""Where a program is found that is named without a directory."""

from __future__ import annotations

import os
import stat

from caliban_permissions.paths import PathContext
from caliban_permissions.protected import protection


def planted(name: str, place: PathContext, bases: tuple[str, ...]) -> bool:
    """Whether a search for the program ends where anyone, or a tool, may have put it.

    Those are directories of the workspace, unless no tool writes there unasked (`.venv/bin`), and directories
    that everyone may write.
    """
    suspects = [_suspect(directory, place) for directory in place.search_path]
    if not any(suspects):
        return False
    for directory, suspect in zip(place.search_path, suspects, strict=True):
        if any(_runs(os.path.join(base, directory, name)) for base in bases):  # noqa: PTH118 - many, and cheap
            return suspect
    return False


def _suspect(directory: str, place: PathContext) -> bool:
    if not directory.startswith("/"):
        return True
    real = os.path.realpath(directory)
    if place.inside(real):
        return protection(real + "/program", place) != "authority"
    try:
        return bool(os.stat(real).st_mode & stat.S_IWOTH)  # noqa: PTH116 - a str in
    except OSError:
        return False


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - many, and cheap
