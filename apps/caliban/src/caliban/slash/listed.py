"""The names of the commands, for a program that drives a run; their handlers are not loaded."""

from __future__ import annotations

import os

from caliban.compose.app import App
from caliban.compose.supplied import own_folders
from caliban.slash.table import BUILT_IN, HELP, NAMES


def listed_names(app: App) -> tuple[str, ...]:
    """The commands that prompts may call, ours first."""
    if app.options.extensions.no_commands or app.options.settings.bare:
        return ()
    own = (row.name for row in BUILT_IN if "headless" in row.places and not (row.later or row.hidden))
    catalog = app.extensions.skills
    skills = () if catalog is None else catalog.skills
    called = [skill.name for skill in skills if skill.path is not None and skill.user_invocable]
    if _has_files(app):
        from caliban.slash.further import FurtherRows

        called = [row.name for row in FurtherRows(app)(True)]
    return tuple(dict.fromkeys((HELP, *own, *(name for name in called if name.lower() not in NAMES))))


def _has_files(app: App) -> bool:
    """Whether there may be files of commands."""
    if app.live.read.files.commands or app.plugins:
        return True
    return any(os.path.isdir(folder) for folder in own_folders("commands"))  # noqa: PTH112 - on every start
