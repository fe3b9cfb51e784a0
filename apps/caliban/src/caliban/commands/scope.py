"""What commands have in common: what the choice of a model goes by, and how they speak."""

from __future__ import annotations

import sys
from pathlib import Path

from caliban.cli.options import Options
from caliban.compose.choice import ModelInputs
from caliban.compose.host import this_host
from caliban.compose.settings import build_settings
from caliban.stdio import complain
from caliban_drive.notice import Notice


def model_inputs(options: Options, workspace: Path) -> ModelInputs:
    """What the choice of a model goes by. Raises `SettingsError`."""
    return ModelInputs(
        options=options.model,
        settings=build_settings(options.settings, workspace),
        host=this_host(),
        workspace=workspace,
        sources=options.settings,
    )


def report(notice: Notice) -> None:
    """Write a notice to standard error; how far something is, on a terminal only."""
    if notice.subtype != "status" or (sys.stderr is not None and sys.stderr.isatty()):
        complain(f"[caliban: {notice.message}]\n")
