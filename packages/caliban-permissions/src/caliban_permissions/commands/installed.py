"""Where a program is found that is named without a directory."""

from __future__ import annotations

import os
import stat

from caliban_permissions.paths import PathContext, real_path
from caliban_permissions.protected import protection


def planted(name: str, place: PathContext, bases: tuple[str, ...]) -> bool:
    """Whether a search for the program ends where anyone, or a tool, may have put it.

    Those are directories of the workspace, unless no tool writes there unasked (`.venv/bin`), and directories
    that everyone may write.
    """
    for directory in place.search_path:
        paths = [os.path.join(base, directory, name) for base in bases]  # noqa: PTH118 - many, and cheap
        programs = [path for path in paths if _runs(path)]
        if programs:
            return _suspect(directory, place) or any(_leads_inside(path, place) for path in programs)
    return False


def _leads_inside(path: str, place: PathContext) -> bool:
    """Whether a program is a link to a file of the workspace that a tool may have written."""
    real = real_path(path)
    return place.inside(real) and protection(real, place) != "authority"


def _suspect(directory: str, place: PathContext) -> bool:
    if not directory.startswith("/"):
        return True
    real = real_path(directory)
    if place.inside(real):
        return protection(real + "/program", place) != "authority"
    try:
        return bool(os.stat(real).st_mode & stat.S_IWOTH)  # noqa: PTH116 - a str in
    except OSError:
        return False


def _runs(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - many, and cheap
