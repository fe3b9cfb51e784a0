"""The parsers and the texts of `--help`, made from the tables: nothing here imports more than argparse."""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NoReturn

from caliban.cli.commands import COMMANDS
from caliban.cli.environment import variables
from caliban.cli.flag import EITHER, ONCE, Flag, Group, WrongValue
from caliban.cli.groups import GROUPS
from caliban.cli.subcommand import Subcommand

DESCRIPTION: Final = "Run any language model in a loop with tools, under your control."
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
    'git diff | caliban -p "Review these changes."',
    'caliban --provider local -p "Name three colours."',
)
SHORT: Final = (
    "-p",
    "-c",
    "-r",
    "--output-format",
    "--provider",
    "--model",
    "--allow",
    "--permission-mode",
    "--no-tools",
)
"""The flags of the short help."""

UNRECOGNISED: Final = "unrecognized arguments: "
INVALID_CHOICE: Final = re.compile(r"invalid choice: '(.*)' \(choose from (.*)\)")
COLUMNS: Final = 80


class _StoreOnce(argparse.Action):
    """Stores a value, where there is none yet."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option: Any = None
    ) -> None:
        if isinstance(values, str) and isinstance(getattr(namespace, self.dest, None), str):
            raise argparse.ArgumentError(self, "is there twice, and one prompt is asked at a time")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours to print."""

    def __init__(self, **how: Any) -> None:
        super().__init__(**how)
        self.register("action", EITHER, argparse.BooleanOptionalAction)
        self.register("action", ONCE, _StoreOnce)

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`. What follows a flag that does not exist is not repeated: it may be a key."""
        from caliban.errors import UsageError

        extra = message.removeprefix(UNRECOGNISED)
        if extra != message:
            word = extra.split(" ")[0].split("=")[0]
            if word.startswith("-"):
                message = f"there is no flag {word}{' for ' + self.prog if ' ' in self.prog else ''}"
            advice = self._advice(word)
        else:
            advice = _choice(message)
        raise UsageError(message, hint=f"{advice}{self.prog} --help lists the flags")

    def _advice(self, word: str) -> str:
        """What was probably meant by an unknown argument."""
        from caliban.cli.foreign import FLAGS

        ours = FLAGS.get(word) or FLAGS.get(word[:2] if word[:2] != "--" else word.lower())
        named = [part.strip("(),;'") for part in (ours or "").split() if part.startswith("--")]
        if ours is not None and all(flag in self._option_string_actions for flag in named):
            return f"here that is {ours}; "
        if not word.startswith("--"):
            if " " in self.prog:  # a command takes no prompt
                return ""
            dashed = "a prompt that begins with a dash stands after --; "
            if word.startswith("-"):
                return dashed
            return "a prompt of several words stands in quotes; "
        from caliban_common.near import did_you_mean

        negates = word.startswith("--no-")
        likely = [name for name in self._option_string_actions if name.startswith("--no-") is negates]
        meant = did_you_mean(word, (name for name in likely if name.startswith("--")))
        return f"{meant} " if meant else ""


def _choice(message: str) -> str:
    """The near one of the choices that argparse lists in `message`."""
    match = INVALID_CHOICE.search(message)
    if match is None:
        return ""
    from caliban_common.near import did_you_mean

    choices = [name.strip(" '") for name in match[2].split(",")]
    meant = ""
    if message.startswith(("argument VERB", "argument ACTION")):  # uninstall is no slip of install
        from caliban.cli.foreign import VERBS

        same = (word for words in VERBS if match[1].lower() in words for word in words)
        meant = next((f"did you mean {word}?" for word in same if word in choices), "")
    meant = meant or did_you_mean(match[1], choices)
    return f"{meant} " if meant else ""


def build_parser(groups: Sequence[Group] = GROUPS, commands: Sequence[Subcommand] = COMMANDS) -> Parser:
    """The parser of `caliban [FLAGS] [PROMPT]`."""
    parser = Parser(
        prog="caliban",
        usage="caliban [FLAGS] [PROMPT]\n       caliban COMMAND …",
        description=DESCRIPTION,
        epilog=_epilog(groups, commands),
        formatter_class=_raw_formatter,
        allow_abbrev=False,
        add_help=False,
    )
    for group in groups:
        section = parser.add_argument_group(group.title)
        for row in group.flags:
            section.add_argument(*row.names, **_how(row))
    return parser


def _how(row: Flag) -> Mapping[str, Any]:
    """What argparse is told about a row."""
    convert = row.how.get("type")
    return row.how if convert is None else {**row.how, "type": _in_words(convert)}


def _in_words(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    """`convert`, whose error message argparse repeats."""

    def converted(text: str) -> Any:
        try:
            return convert(text)
        except WrongValue as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return converted


def command_parser(command: Subcommand) -> Parser:
    """The parser of `caliban COMMAND`."""
    parser = Parser(
        prog=f"caliban {command.name}",
        description=_description(command),
        epilog=_verbs(command),
        formatter_class=_raw_formatter if command.verbs else _formatter,
        allow_abbrev=False,
    )
    for row in command.flags:
        parser.add_argument(*row.names, **_how(row))
    return parser


def _description(command: Subcommand) -> str:
    """The head of a command's help; wrapped here where the formatter leaves it as it is."""
    return textwrap.fill(command.description, COLUMNS - 2) if command.verbs else command.description


def _verbs(command: Subcommand) -> str | None:
    if not command.verbs:
        return None
    rows = {verb.verb: verb.summary for verb in command.verbs}
    return "\n".join(("verbs:", *_columns(rows), "", f"caliban {command.name} VERB --help shows all of one."))


def full_help(groups: Sequence[Group] = GROUPS, commands: Sequence[Subcommand] = COMMANDS) -> str:
    """The text of --help: everything."""
    return build_parser(groups, commands).format_help()


def short_help(groups: Sequence[Group] = GROUPS, commands: Sequence[Subcommand] = COMMANDS) -> str:
    """The text of -h: one screen."""
    rows = {name: row for group in groups for row in group.flags for name in row.names}
    flags = {_spelled(rows[name]): _first(str(rows[name].how.get("help", ""))) for name in SHORT}
    names = textwrap.wrap(", ".join(row.name for row in commands), COLUMNS - 2)
    return "\n".join(
        (
            "usage: caliban [FLAGS] [PROMPT]",
            "       caliban COMMAND …",
            "",
            DESCRIPTION,
            "",
            *_columns(flags),
            "",
            "commands:",
            *(f"  {line}" for line in names),
            "",
            "caliban --help shows all flags, caliban help COMMAND a command.",
            "",
        )
    )


def _spelled(row: Flag) -> str:
    return (
        f"{', '.join(row.names)} {row.how.get('metavar') or ''}".rstrip() if row.takes_value else row.names[0]
    )


def _first(help_text: str) -> str:
    """The beginning of a help text, to fit on one line."""
    return textwrap.shorten(help_text, 48, placeholder=" …")


def _formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.HelpFormatter(prog, max_help_position=26, width=COLUMNS - 2)


def _raw_formatter(prog: str) -> argparse.HelpFormatter:
    return argparse.RawDescriptionHelpFormatter(prog, max_help_position=26, width=COLUMNS - 2)


def _epilog(groups: Sequence[Group], commands: Sequence[Subcommand]) -> str:
    return "\n".join(
        (
            "commands:",
            *(line for row in commands for line in (f"  caliban {row.line}", f"      {row.summary}")),
            "",
            "environment:",
            *_columns(variables(groups)),
            "",
            "exit codes:",
            *_columns({str(code): meaning for code, meaning in EXITS.items()}),
            "",
            "examples:",
            *(f"  {example}" for example in EXAMPLES),
            "",
        )
    )


def _columns(rows: Mapping[str, str]) -> Iterator[str]:
    """Names with their meanings beside them, or below where a name is long."""
    width = min(max(map(len, rows), default=0), 34)
    for name, meaning in rows.items():
        lines = textwrap.wrap(meaning, COLUMNS - width - 4) or [""]
        if len(name) > width:
            yield f"  {name}"
        else:
            yield f"  {name:{width}}  {lines.pop(0)}"
        yield from (f"  {'':{width}}  {line}" for line in lines)
