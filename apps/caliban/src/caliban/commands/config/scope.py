"""`caliban settings print`: the settings of one scope alone."""

from __future__ import annotations

import json

from caliban.cli.invocation import Invocation
from caliban.cli.tables.config import FILES
from caliban.compose.settings import layers_of
from caliban.compose.shown import shown_value
from caliban.compose.workspace import build_workspace
from caliban.stdio import complain, print_text
from caliban_common.near import did_you_mean

NO_SCOPE = 2


def print_scope(invocation: Invocation) -> int:
    """Print the settings of one scope as JSON, without secrets. Exit: 2 for a word that is no scope."""
    scope = invocation.values["scope"]
    if scope not in FILES:
        near = did_you_mean(scope, FILES)
        complain(f"caliban: unknown scope {scope!r:.40}\nhint: {near} one of {', '.join(FILES)}\n")
        return NO_SCOPE
    workspace = build_workspace(invocation.options.workspace.workspace)
    layers = layers_of(invocation.options.settings, workspace)
    source = layers.given.get(scope)
    if source is None:
        complain(f"caliban: the scope {scope} has no file\n")
    shown = shown_value((), {} if source is None else source.data)
    return print_text(json.dumps(shown, ensure_ascii=False, indent=2) + "\n")
