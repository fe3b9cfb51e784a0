"""A strict reader of shell commands: what it does not fully understand is called opaque."""

from caliban_permissions.shell.line import HOLE, Opacity, ParsedLine, Redirect, SimpleCommand, Word
from caliban_permissions.shell.loose import loose_commands
from caliban_permissions.shell.parse import parse_line, read_line
from caliban_permissions.shell.print import print_line
from caliban_permissions.shell.variables import names_a_loader

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
    "print_line",
    "read_line",
]
