"""The commands by name: dispatch, help, completion, reference and refusals are made from their rows.

A start with a prompt needs only the names: a row is loaded when it is first used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, overload

from caliban.cli.groups import GROUPS

if TYPE_CHECKING:
    from caliban.cli.subcommand import Subcommand

PRINT: Final = ("-p", "--print")
SAYS_PROMPT: Final = (*PRINT, "--prompt")
TABLES: Final = "caliban.cli.tables"


class CommandTable(Sequence["Subcommand"]):
    """Commands in the order of the help: names, each with the `module:NAME` of its row in `TABLES`."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = places
        self.names: Final = tuple(places)

    def find(self, name: str) -> Subcommand | None:
        """The row of the command `name`; `None` where there is none."""
        place = self._places.get(name)
        return None if place is None else _row(place)

    def __len__(self) -> int:
        return len(self.names)

    @overload
    def __getitem__(self, index: int) -> Subcommand: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Subcommand]: ...
    def __getitem__(self, index: int | slice) -> Subcommand | Sequence[Subcommand]:
        if isinstance(index, slice):
            return tuple(map(_row, tuple(self._places.values())[index]))
        return _row(self._places[self.names[index]])


def _row(place: str) -> Subcommand:
    module, _, name = place.partition(":")
    row: Subcommand = getattr(import_module(f"{TABLES}.{module}"), name)
    return row


COMMANDS: Final = CommandTable(
    MappingProxyType(
        {
            "models": "general:MODELS",
            "login": "general:LOGIN",
            "logout": "general:LOGOUT",
            "status": "general:STATUS",
            "doctor": "general:DOCTOR",
            "sandbox": "general:SANDBOX",
            "context": "general:CONTEXT",
            "memory": "general:MEMORY",
            "init": "general:INIT",
            "rewind": "rewind:REWIND",
            "config": "config:CONFIG",
            "settings": "config:SETTINGS",
            "perms": "perms:PERMS",
            "trust": "trust:TRUST",
            "sessions": "sessions:SESSIONS",
            "skills": "skills:SKILLS",
            "styles": "skills:STYLES",
            "plugin": "plugins:PLUGIN",
            "mcp": "mcp:MCP",
            "router": "general:ROUTER",
            "replay": "general:REPLAY",
            "completion": "general:COMPLETION",
            "help": "general:HELP",
            "version": "general:VERSION",
        }
    )
)

LATER_COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "agents": "background agents are not part of this version",
        "attach": "background agents are not part of this version",
        "daemon": "background agents are not part of this version",
        "kill": "background agents are not part of this version",
        "logs": "background agents are not part of this version",
        "respawn": "background agents are not part of this version",
        "rm": "background agents are not part of this version",
        "stop": "background agents are not part of this version",
    }
)
"""Commands of the guide that this version refuses, rather than send them to a model as a prompt."""


class FirstWord:
    """The first argument that is neither a flag nor a flag's value, and its position.

    `is_prompt` says that -p or --prompt came before or after it: then a prompt was meant, whatever it is.
    """

    __slots__ = ("is_prompt", "place", "text")  # a named tuple is made from text, 1 ms of each start

    def __init__(self, text: str, place: int, is_prompt: bool) -> None:
        self.text = text
        self.place = place
        self.is_prompt = is_prompt


class ValuedFlags:
    """The flags that take a value. Those of commands are loaded only for a flag that no run has."""

    def __init__(self, commands: Sequence[Subcommand]) -> None:
        self._commands = commands
        self._of_commands: frozenset[str] | None = None

    def __contains__(self, name: str) -> bool:
        known = _flag_of_runs(name)
        if known is not None:
            return known
        if self._of_commands is None:
            rows = (row for command in every_command(self._commands) for row in command.flags)
            self._of_commands = frozenset(
                name for row in rows if row.takes_value and not row.is_positional for name in row.names
            )
        return name in self._of_commands


def _flag_of_runs(name: str) -> bool | None:
    """Whether a value follows this flag of a run; `None` where there is no such flag."""
    for group in GROUPS:
        for row in group.flags:
            if name in row.names or (name.startswith("--no-") and name in row.spellings):
                return row.takes_value
    return None


def find_command(
    arguments: Sequence[str], commands: Sequence[Subcommand] = COMMANDS
) -> tuple[Subcommand, Sequence[str]] | None:
    """The command that `arguments` call, and its own arguments; `None` for a run."""
    word = first_word(arguments, commands)
    if word is None or word.is_prompt or "--" in arguments[: word.place]:
        return None
    command = _named(word.text, commands)
    if command is None:
        return None
    return _verb_of(command, arguments[: word.place], arguments[word.place + 1 :], commands)


def _named(name: str, commands: Sequence[Subcommand]) -> Subcommand | None:
    if isinstance(commands, CommandTable):
        return commands.find(name)
    return next((row for row in commands if row.name == name), None)


def every_command(commands: Sequence[Subcommand] = COMMANDS) -> Iterator[Subcommand]:
    """Each command, and its verbs behind it."""
    for command in commands:
        yield command
        yield from command.verbs


def _verb_of(
    command: Subcommand, before: Sequence[str], behind: Sequence[str], commands: Sequence[Subcommand]
) -> tuple[Subcommand, Sequence[str]]:
    """The verb named after `command`, else the command itself; and its arguments."""
    word = first_word(behind, commands) if command.verbs else None
    if word is not None and "--" not in behind[: word.place]:
        for verb in command.verbs:
            if verb.name == f"{command.name} {word.text}":
                return verb, [*before, *behind[: word.place], *behind[word.place + 1 :]]
    return command, [*before, *behind]


def first_word(arguments: Sequence[str], commands: Sequence[Subcommand] = COMMANDS) -> FirstWord | None:
    """The first word of `arguments`, by what the tables say of the flags; `None` where there is none."""
    valued = ValuedFlags(commands)
    is_prompt = False
    place = 0
    while place < len(arguments):
        argument = arguments[place]
        if argument == "--":
            place += 1
            return FirstWord(arguments[place], place, is_prompt) if place < len(arguments) else None
        if argument == "-" or not argument.startswith("-"):
            return FirstWord(argument, place, is_prompt or any(map(_says_prompt, arguments[place:])))
        name, is_open = _flag_at(argument, valued)
        is_prompt = is_prompt or name in SAYS_PROMPT
        follows = arguments[place + 1] if place + 1 < len(arguments) else "--"
        optional = name in PRINT and follows != "-" and follows.startswith("-")
        place += 2 if is_open and not optional else 1
    return None


def _flag_at(argument: str, valued: ValuedFlags) -> tuple[str, bool]:
    """The last flag in `argument`, and whether its value is the next argument."""
    if argument.startswith("--"):
        name, equals, _ = argument.partition("=")
        return name, not equals and (name in valued or name in PRINT)
    for index, letter in enumerate(argument[1:], 2):
        name = f"-{letter}"
        if name in PRINT or name in valued:
            return name, index == len(argument)
    return f"-{argument[-1]}", False


def _says_prompt(argument: str) -> bool:
    return argument.partition("=")[0] in SAYS_PROMPT or (argument[:2] in PRINT and argument[:2] != "--")
