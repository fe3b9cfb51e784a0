"""Rows that many commands share."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import Flag, flag, switch
from caliban.cli.groups import shared
from caliban.cli.subcommand import Subcommand

WORKSPACE: Final = shared("--workspace", help="default: here")
PLACE: Final = (WORKSPACE, shared("--settings"), shared("--setting-sources"), shared("--trust-project"))
"""Where a command looks, and what counts there."""
JSON_LINES: Final = switch("--json", help="one JSON object a line")
JSON_OBJECT: Final = switch("--json", help="one JSON object")


def verb_row(verbs: tuple[Subcommand, ...], default: str = "") -> Flag:
    """The first word behind a command with `verbs`; without a `default` it must be there."""
    names = tuple(verb.verb for verb in verbs)
    if not default:
        return flag("verb", metavar="VERB", choices=names, help="one of those below")
    return flag(
        "verb", metavar="VERB", nargs="?", choices=names, help=f"one of those below (default: {default})"
    )
