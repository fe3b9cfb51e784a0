"""The flags that say which settings a subcommand goes by."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from caliban.cli.help import Parser
from caliban.cli.options import ModelOptions, Options, SettingsOptions, WorkspaceOptions
from caliban.compose.choice import ModelInputs
from caliban.compose.settings import build_settings
from caliban.stdio import complain
from caliban_drive.notice import Notice


def scoped_parser(name: str, description: str) -> Parser:
    """A parser for `caliban NAME` with the flags that choose settings."""
    parser = Parser(prog=f"caliban {name}", description=description, allow_abbrev=False)
    parser.add_argument("--workspace", metavar="DIR", help="default: here")
    parser.add_argument("--settings", metavar="FILE_OR_JSON")
    parser.add_argument("--setting-sources", metavar="CSV")
    parser.add_argument("--trust-project", action="store_true", help="let the project's own helpers count")
    parser.add_argument("--bare", action="store_true", help="no settings of user or project")
    return parser


def scoped_options(said: argparse.Namespace) -> Options:
    """The options that those flags mean; the environment's provider comes before the flag's, as in a run."""
    return Options(
        model=ModelOptions(
            provider=os.environ.get("CALIBAN_PROVIDER") or getattr(said, "provider", None),
            model=getattr(said, "model", None),
        ),
        workspace=WorkspaceOptions(workspace=said.workspace),
        settings=SettingsOptions(
            settings=said.settings,
            setting_sources=said.setting_sources,
            trust_project=said.trust_project,
            bare=said.bare,
        ),
    )


def model_inputs(options: Options, workspace: Path) -> ModelInputs:
    """What the choice of a model goes by. Raises `SettingsError`."""
    return ModelInputs(
        options=options.model,
        settings=build_settings(options.settings, workspace),
        environ=os.environ,
        workspace=workspace,
        sources=options.settings,
    )


def report(notice: Notice) -> None:
    """Write a notice to standard error; how far something is, on a terminal only."""
    if notice.subtype != "status" or (sys.stderr is not None and sys.stderr.isatty()):
        complain(f"[caliban: {notice.message}]\n")
