"""Why a slash command was not carried out.

CommandError             a command cannot do what it was asked
├── UnknownCommand       no command has this name
├── CommandNotHere       the face, or a run at work, leaves no room for it
├── CommandDenied        a hook objects
└── BadArguments         the words behind its name are none that it takes
"""

from __future__ import annotations

from caliban_common.errors import CalibanError


class CommandError(CalibanError):
    """A command cannot do what it was asked."""


class UnknownCommand(CommandError):
    """No command has this name."""


class CommandNotHere(CommandError):
    """It does not run in this face, or not while a prompt is at work."""


class CommandDenied(CommandError):
    """A hook objects to it."""


class BadArguments(CommandError):
    """The words behind its name are none that it takes."""
