"""What commands have in common: what the choice of a model goes by, and how they speak."""

from __future__ import annotations

import sys
from pathlib import Path

from caliban.cli.options import Options
from caliban.compose.choice import ModelInputs
from caliban.compose.host import this_host
from caliban.compose.project import open_project
from caliban.stdio import complain
from caliban_drive.notice import Notice


def model_inputs(options: Options, workspace: Path) -> ModelInputs:
    """What the choice of a model goes by. Raises `SettingsError`."""
    project = open_project(options.settings, workspace)
    return ModelInputs(
        options=options.model,
        settings=project.settings,
        host=this_host(),
        workspace=workspace,
        sources=options.settings,
        project=project,
    )


def report(notice: Notice) -> None:
    """Write a notice to standard error; how far something is, on a terminal only."""
    if notice.subtype != "status" or (sys.stderr is not None and sys.stderr.isatty()):
        hint = f"hint: {notice.hint}\n" if notice.hint else ""
        complain(f"caliban: {notice.message}\n{hint}")
