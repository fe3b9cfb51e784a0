"""`caliban help` and `caliban version`."""

from __future__ import annotations

from caliban.cli.commands import LATER_COMMANDS, find_command
from caliban.cli.foreign import WAYS
from caliban.cli.help import command_parser, full_help
from caliban.cli.invocation import Invocation
from caliban.cli.lookalike import lookalike
from caliban.errors import UsageError
from caliban.stdio import print_text
from caliban.version import version_line
from caliban_common.text import one_line


def help_command(invocation: Invocation) -> int:
    """Show the help of the command that is named, or of everything."""
    words = invocation.values["words"]
    if not words:
        return print_text(full_help())
    name = words[0]
    called = find_command(words)
    if called is not None:
        command, further = called
        if further:
            raise UsageError(
                f"caliban {command.name} has no {one_line(further[0], max_chars=80)!r}",
                hint=f"caliban help {command.name} shows what it has",
            )
        return print_text(command_parser(command).format_help())
    near = lookalike(name)
    if near is not None and near in LATER_COMMANDS:
        raise UsageError(f"there is no command {name!r} in this version", hint=LATER_COMMANDS[near])
    ways = WAYS.get(name.lower())
    meant = f"did you mean caliban help {near}? " if near else ""
    if ways is not None:
        meant = f"here that is {ways}; "
    raise UsageError(f"there is no command {name!r}", hint=f"{meant}caliban help lists the commands")


def version_command(invocation: Invocation) -> int:
    """Print the line of --version."""
    return print_text(f"{version_line()}\n")
