"""The keys and the commands there are, from their tables."""

from __future__ import annotations

from collections.abc import Iterable

from caliban_commands.command import GROUPS
from caliban_commands.registry import CommandRegistry
from caliban_tui.keys.table import KEYS, KeyRow
from caliban_tui.overlay import TextOverlay


def help_overlay(commands: CommandRegistry, rows: Iterable[KeyRow] = KEYS) -> TextOverlay:
    """Keys first, then the commands by their groups."""
    keys = [f"{' '.join(row.keys):16} {row.help}" for row in rows if row.context in ("draft", "empty")]
    lines = ["Keys", *keys, "", "At the start of a line: / command, ! shell, # note; @ names a file"]
    for group in GROUPS:
        shown = [row for row in commands if row.group == group and not row.hidden and not row.later]
        if shown:
            lines += [
                "",
                group,
                *(f"{'/' + row.name + ' ' + row.arguments:28} {row.summary}" for row in shown),
            ]
    return TextOverlay(title="Help", text="\n".join(lines))
