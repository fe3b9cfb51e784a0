"""What commands have in common: what the choice of a model goes by, and how they speak."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from caliban.cli.options import Options
from caliban.compose.choice import ModelInputs
from caliban.compose.settings import build_settings
from caliban.stdio import complain
from caliban_drive.notice import Notice


def model_inputs(options: Options, workspace: Path, environ: Mapping[str, str] | None = None) -> ModelInputs:
    """What the choice of a model goes by. Raises `SettingsError`."""
    return ModelInputs(
        options=options.model,
        settings=build_settings(options.settings, workspace),
        environ=os.environ if environ is None else environ,
        workspace=workspace,
        sources=options.settings,
    )


def report(notice: Notice) -> None:
    """Write a notice to standard error; how far something is, on a terminal only."""
    if notice.subtype != "status" or (sys.stderr is not None and sys.stderr.isatty()):
        complain(f"[caliban: {notice.message}]\n")
