"""The parsers and the texts of `--help`, made from the tables: nothing here imports more than argparse."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NoReturn

from caliban.cli.commands import COMMANDS, Subcommand
from caliban.cli.flag import Flag, Group
from caliban.cli.groups import GROUPS

DESCRIPTION: Final = "Run any language model in a loop with tools, under your control."
OTHER_VARIABLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ANTHROPIC_API_KEY": "the key of the provider anthropic; others have theirs",
        "ANTHROPIC_BASE_URL": "the server of the provider anthropic; others have theirs",
        "CALIBAN_ROUTER_CONFIG": "the same as --config",
        "CALIBAN_RATES_YAML": "a file with prices that stand above those that are known",
        "CALIBAN_DEBUG": "1 shows where a fault happened",
    }
)
"""Environment variables that are no flag's."""

EXITS: Final[Mapping[int, str]] = MappingProxyType(
    {
        0: "success",
        1: "run-time error",
        2: "answer does not fit its schema, or was refused",
        64: "usage",
        66: "missing session or input",
        75: "turn limit",
        78: "configuration",
        124: "cancelled",
        130: "second Ctrl-C",
        137: "budget spent",
        141: "the reader of standard output went away",
    }
)
EXAMPLES: Final = (
    'caliban -p "What does this project do?"',
    'git diff | caliban -p - "Review these changes."',
    'caliban --provider local -p "Name three colours."',
)
UNRECOGNISED: Final = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours to print."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        from caliban.errors import UsageError

        raise UsageError(message, hint=f"{self._advice(message)}{self.prog} --help lists the flags")

    def _advice(self, message: str) -> str:
        """What was probably meant by arguments that mean nothing."""
        extra = message.removeprefix(UNRECOGNISED)
        if extra == message:
            return ""
        word = extra.split(" ")[0].split("=")[0]
        if word.startswith("--"):
            from difflib import get_close_matches

            close = get_close_matches(word, self._option_string_actions, 1)
            return f"did you mean {close[0]}? " if close else ""
        if word.startswith("-"):
            return "a prompt that begins with a dash stands after --; "
        return "a prompt of several words stands in quotes; "


def build_parser(groups: Sequence[Group] = GROUPS, commands: Sequence[Subcommand] = COMMANDS) -> Parser:
    """The parser of `caliban [FLAGS] [PROMPT]`."""
    parser = Parser(
        prog="caliban",
        usage="caliban [FLAGS] [PROMPT]\n       caliban COMMAND …",
        description=DESCRIPTION,
        epilog=_epilog(groups, commands),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    for group in groups:
        section = parser.add_argument_group(group.title)
        for row in group.flags:
            section.add_argument(*row.names, **row.how)
    return parser


def command_parser(command: Subcommand) -> Parser:
    """The parser of `caliban COMMAND`."""
    parser = Parser(prog=f"caliban {command.name}", description=command.description, allow_abbrev=False)
    for row in command.flags:
        parser.add_argument(*row.names, **row.how)
    return parser


def variables(groups: Sequence[Group] = GROUPS) -> Mapping[str, str]:
    """The environment variables that count, and what each says."""
    rows = [row for group in groups for row in group.flags if row.variable]
    return {**OTHER_VARIABLES, **{row.variable: _meaning(row) for row in rows}}


def _meaning(row: Flag) -> str:
    name = row.names[-1]
    if row.variable_first:
        return f"the same as {name}, and above it"
    return f"1 is the same as {name}, 0 is not" if row.is_switch else f"the same as {name}"


def _epilog(groups: Sequence[Group], commands: Sequence[Subcommand]) -> str:
    exits = [f"{code} {meaning}" for code, meaning in EXITS.items()]
    return "\n".join(
        (
            "commands:",
            *_columns({f"caliban {row.line}": row.summary for row in commands}),
            "",
            "environment:",
            *_columns(variables(groups)),
            "",
            "exit codes:",
            *(f"  {'   '.join(exits[place : place + 3])}" for place in range(0, len(exits), 3)),
            "",
            "examples:",
            *(f"  {example}" for example in EXAMPLES),
            "",
        )
    )


def _columns(rows: Mapping[str, str]) -> Iterator[str]:
    width = max(map(len, rows), default=0)
    return (f"  {name:{width}}  {meaning}" for name, meaning in rows.items())
