"""A strict reader of shell commands: what it does not fully understand is called opaque."""

from caliban_permissions.shell.line import HOLE, Opacity, ParsedLine, Redirect, SimpleCommand, Word
from caliban_permissions.shell.loose import loose_commands
from caliban_permissions.shell.parse import names_a_loader, parse_line

__all__ = [
    "HOLE",
    "Opacity",
    "ParsedLine",
    "Redirect",
    "SimpleCommand",
    "Word",
    "loose_commands",
    "names_a_loader",
    "parse_line",
]
