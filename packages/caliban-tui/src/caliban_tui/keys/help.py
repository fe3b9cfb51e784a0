"""The keys and the commands there are, from their tables."""

from __future__ import annotations

from collections.abc import Iterable

from caliban_commands.command import GROUPS
from caliban_commands.registry import CommandRegistry
from caliban_tui.keys.custom import help_rows
from caliban_tui.keys.table import KeyRow
from caliban_tui.overlay.overlay import TextOverlay


def help_overlay(commands: CommandRegistry, rows: Iterable[KeyRow]) -> TextOverlay:
    """Keys first, those of a person's own with the others, then the commands by their groups."""
    keys = [f"{keys:27}  {words}" for keys, words in help_rows(rows)]
    lines = ["Keys", *keys, "", "At the start of a line: / command, ! shell, # note; @ names a file"]
    for group in GROUPS:
        shown = [row for row in commands if row.group == group and not row.hidden and not row.later]
        if shown:
            lines += [
                "",
                group,
                *(f"{'/' + row.name + ' ' + row.arguments:27}  {row.summary}" for row in shown),
            ]
    return TextOverlay(title="Help", text="\n".join(lines))
