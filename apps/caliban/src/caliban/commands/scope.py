"""The flags that say which settings a subcommand goes by."""

from __future__ import annotations

import argparse
import os

from caliban.cli.help import Parser
from caliban.cli.options import Options


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
        provider=os.environ.get("CALIBAN_PROVIDER") or getattr(said, "provider", None),
        model=getattr(said, "model", None),
        workspace=said.workspace,
        settings=said.settings,
        setting_sources=said.setting_sources,
        trust_project=said.trust_project,
        bare=said.bare,
    )
