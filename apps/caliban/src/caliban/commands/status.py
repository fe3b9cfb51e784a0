"""`caliban status`: which provider and model a run would use, and where its key comes from."""

from __future__ import annotations

import os
from collections.abc import Sequence

from caliban.commands.scope import report, scoped_options, scoped_parser
from caliban.compose.catalog import find_provider, provider_tables
from caliban.compose.choice import choose_model
from caliban.compose.keys import find_place
from caliban.compose.settings import build_settings
from caliban.compose.workspace import build_workspace
from caliban.stdio import write_out
from caliban_common.text import clean, one_line
from caliban_drive.notice import Notice


def status(arguments: Sequence[str]) -> int:
    """Tell it in a few lines; the key itself is in none. No helper is run and no server asked."""
    parser = scoped_parser("status", "Say which provider a run would use, and where its key comes from.")
    parser.add_argument("--provider", metavar="NAME")
    parser.add_argument("--model", metavar="MODEL")
    if "-h" in arguments or "--help" in arguments:
        return write_out(parser.format_help().encode())
    options = scoped_options(parser.parse_args(list(arguments)))
    settings = build_settings(options.settings, build_workspace(options.workspace.workspace))
    for warning in settings.warnings:
        report(Notice(subtype="warning", message=warning))
    choice = choose_model(options.model, settings)
    entry = find_provider(choice.provider, provider_tables(settings))
    place = find_place(entry.name, entry.key_variables, settings, os.environ)
    if place is not None:
        key = f"from {place[1]}"
    else:
        needs_key = entry.factory.needs_key
        key = f"none; caliban login {entry.name} stores one" if needs_key else "none (not always needed)"
    lines = (
        f"provider: {one_line(entry.name)}",
        f"model:    {one_line(choice.model or entry.factory.default_model)}",
        f"key:      {key}",
        f"settings: {', '.join(settings.sources) or 'none'}",
    )
    return write_out(clean("\n".join(lines) + "\n").encode())
