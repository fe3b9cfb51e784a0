"""What is wrong with the themes of a plugin, said when it is looked at: each is read when it is chosen."""

from __future__ import annotations

from collections.abc import Iterator

from caliban_common.errors import CalibanError
from caliban_plugins import Plugin
from caliban_tui.theme.themes import TerminalKind, read_theme


def theme_problems(plugin: Plugin) -> Iterator[str]:
    """One line for each theme that cannot be used."""
    for file in plugin.themes:
        try:
            read_theme(file.path, TerminalKind())
        except CalibanError as error:
            words = error.message.replace(str(plugin.root), plugin.name)
            yield f"the theme {plugin.full_name(file.name)} cannot be used: {words}"
