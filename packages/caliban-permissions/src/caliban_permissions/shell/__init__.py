"""A strict reader of shell commands: what it does not fully understand is called opaque."""

from caliban_permissions.shell.line import HOLE, Leaf, Line, Opacity, Redirect, Word
from caliban_permissions.shell.loose import loose_commands
from caliban_permissions.shell.parse import names_a_loader, parse_line

__all__ = [
    "HOLE",
    "Leaf",
    "Line",
    "Opacity",
    "Redirect",
    "Word",
    "loose_commands",
    "names_a_loader",
    "parse_line",
]
