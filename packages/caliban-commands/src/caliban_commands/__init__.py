"""The slash commands: one registry for every face, and the commands that need nothing but a session.

What the app knows (settings, servers, plugins, rules) comes as commands of the app, in the same registry.
"""

from caliban_commands.answer import (
    CommandAnswer,
    CommandEffect,
    ShownChange,
    ShownChoice,
    ShownTable,
    ShownText,
)
from caliban_commands.command import SlashCommand, SlashContext
from caliban_commands.errors import CommandError, UnknownCommand
from caliban_commands.registry import CommandRegistry

__all__ = [
    "CommandAnswer",
    "CommandEffect",
    "CommandError",
    "CommandRegistry",
    "ShownChange",
    "ShownChoice",
    "ShownTable",
    "ShownText",
    "SlashCommand",
    "SlashContext",
    "UnknownCommand",
]
