"""`caliban status`: which provider and model a run would use, and where its key comes from."""

from __future__ import annotations

import os
from collections.abc import Sequence

from caliban.commands.scope import report, scoped_options, scoped_parser
from caliban.compose.keys import find_place
from caliban.compose.provider import (
    DEFAULT_PROVIDER,
    chosen_names,
    find_factory,
    key_variables,
    provider_table,
)
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
    chosen, model = chosen_names(options.model, settings)
    provider = chosen or DEFAULT_PROVIDER
    table = provider_table(settings, provider)
    factory = find_factory(provider, table)
    place = find_place(provider, key_variables(factory, table), settings, os.environ)
    if place is not None:
        key = f"from {place[1]}"
    else:
        key = (
            f"none; caliban login {provider} stores one" if factory.needs_key else "none (not always needed)"
        )
    lines = (
        f"provider: {one_line(provider)}",
        f"model:    {one_line(options.model.model or model or factory.default_model)}",
        f"key:      {key}",
        f"settings: {', '.join(settings.sources) or 'none'}",
    )
    return write_out(clean("\n".join(lines) + "\n").encode())
