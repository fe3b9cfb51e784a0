"""`caliban status`: which provider and model a run would use, and where its key comes from."""

from __future__ import annotations

import os

from caliban.cli.invocation import Invocation
from caliban.commands.report import report
from caliban.compose.catalog import find_provider, provider_tables
from caliban.compose.choice import ModelChoice, choose_model
from caliban.compose.keys import locate_key
from caliban.compose.project import build_settings
from caliban.compose.settings import unbuilt_words
from caliban.compose.workspace import build_workspace
from caliban.stdio import print_text
from caliban_common.text import one_line
from caliban_drive.notice import Notice
from caliban_settings import Settings


def status(invocation: Invocation) -> int:
    """Print it in a few lines, without the key itself. No helper is run and no server asked."""
    options = invocation.options
    settings = build_settings(options.settings, build_workspace(options.workspace.workspace))
    for warning in (*settings.warnings, *map(unbuilt_words, settings.unbuilt)):
        report(Notice(subtype="warning", message=warning))
    choice = choose_model(options.model, settings)
    return print_text("\n".join((*status_lines(choice, settings), "")))


def status_lines(choice: ModelChoice, settings: Settings) -> tuple[str, ...]:
    """The provider, the model, where its key comes from, and the settings in force."""
    entry = find_provider(choice.provider, provider_tables(settings))
    place = locate_key(entry.name, entry.key_variables, settings, os.environ)
    if place is not None:
        key = f"from {place[1]}"
    else:
        needs_key = entry.factory.needs_key
        key = f"none; caliban login {entry.name} stores one" if needs_key else "none (not always needed)"
    return (
        f"provider: {one_line(entry.name)}",
        f"model:    {one_line(choice.model or entry.default_model)}",
        f"key:      {key}",
        f"settings: {', '.join(settings.sources) or 'none'}",
    )
