"""A prompt that a person keeps in a file and calls by name: `.caliban/commands/NAME.md`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, TypeAlias

from msgspec import Struct

from caliban_common.errors import DataError
from caliban_common.fields import HeadFields
from caliban_common.text import one_line
from caliban_skills.arguments import fill, takes_arguments
from caliban_skills.errors import ArgumentRefused, SkillRefused
from caliban_skills.read import MAX_HINT_CHARS, notes_of, read_tools
from caliban_skills.skill import MAX_DESCRIPTION_CHARS, Skill, SkillScope

IDLE: Final = ("context", "agent", "hooks", "disable-model-invocation", "shell")
MAX_DEPTH: Final = 4
"""Of folders that commands are in."""
MAX_LINES: Final = 16
"""Of the shell in one command."""
_LINE: Final = r"(?:^|(?<=[\s(]))!`([^`\n]+)`"
_PLAIN: Final = r"[\w@%+=:,./ -]*"


class CommandFile(Struct, frozen=True, kw_only=True):
    """A command: `body` is what is sent. `model` is asked in place of the run's, with `effort`.

    `allowed_tools` narrow which lines of the shell in it may run; they grant nothing.
    """

    name: str
    path: Path
    scope: SkillScope
    description: str = ""
    argument_hint: str = ""
    allowed_tools: tuple[str, ...] = ()
    model: str = ""
    effort: str = ""
    body: str = ""
    notes: tuple[str, ...] = ()

    @property
    def steers(self) -> bool:
        """Whether it does more than supply text: runs shell lines, or chooses a model."""
        return bool(self.model) or re.search(_LINE, self.body, re.M) is not None


class CommandText(Struct, frozen=True, kw_only=True):
    """Words of a command, with what was said put in."""

    text: str


class CommandLine(Struct, frozen=True, kw_only=True):
    """A line of the shell in a command, whose output stands in its place."""

    command: str


CommandPiece: TypeAlias = CommandText | CommandLine


def read_command(path: Path, data: bytes, scope: SkillScope, name: str) -> CommandFile:
    """The command in `data`, the content of the file at `path`. Front matter is not needed.

    Raises `SkillRefused`.
    """
    if not data.removeprefix(b"\xef\xbb\xbf").startswith((b"---", b"\xff\xfe", b"\xfe\xff")):
        data = b"---\n---\n" + data.removeprefix(b"\xef\xbb\xbf")
    try:
        fields = HeadFields(str(path), data)
        command = CommandFile(
            name=name,
            path=path,
            scope=scope,
            description=fields.text("description", max_chars=MAX_DESCRIPTION_CHARS),
            argument_hint=_hint(fields),
            allowed_tools=read_tools(fields),
            model=fields.text("model", max_chars=200),
            effort=fields.text("effort", max_chars=40).lower(),
            body=fields.body,
            notes=notes_of(fields, IDLE),
        )
    except DataError as error:
        raise SkillRefused(error.message, hint=error.hint) from error
    if not command.body:
        raise SkillRefused(f"{path}:1: expected a prompt, and there is none")
    return command


def _hint(fields: HeadFields) -> str:
    """`argument-hint: [file] [words]` is a list to YAML, and words to whoever wrote it."""
    try:
        return fields.text("argument-hint", max_chars=MAX_HINT_CHARS)
    except DataError:
        return " ".join(f"[{item}]" for item in fields.items("argument-hint", r"[^,\s]+", "words"))


def command_of(skill: Skill) -> CommandFile:
    """A skill as a person calls it: its body, and where its files are."""
    assert skill.path is not None, "built-in skills are no files"
    body = f"{skill.body}\n\nThe files of this skill are in {skill.path.parent}."
    return CommandFile(name=skill.name, path=skill.path, scope=skill.scope, body=body)


def command_pieces(command: CommandFile, arguments: str, *, lines: bool = True) -> tuple[CommandPiece, ...]:
    """The pieces of a command with its arguments. Without `lines` the shell's stay words.

    Arguments never become shell lines of their own. Raises `ArgumentRefused`, and `SkillRefused` for too
    many lines.
    """
    pieces: list[CommandPiece] = []
    end = 0
    for match in re.finditer(_LINE, command.body, re.M) if lines else ():
        pieces.append(CommandText(text=fill(command.body[end : match.start()], arguments)))
        pieces.append(CommandLine(command=fill(match[1], arguments, _plain)))
        end = match.end()
    if len(pieces) > 2 * MAX_LINES:
        raise SkillRefused(f"{command.path}: it has more than {MAX_LINES} lines of the shell")
    last = fill(command.body[end:], arguments)
    if arguments and not takes_arguments(command.body):
        last = f"{last}\n\n{arguments}"
    return (*pieces, CommandText(text=last))


def _plain(argument: str) -> str:
    if re.fullmatch(_PLAIN, argument) is None:
        raise ArgumentRefused(
            f"{one_line(argument, max_chars=80)!r} is not put into a line of the shell",
            hint="a command line takes letters, digits, blanks and @ % + = : , . / - _ alone",
        )
    return argument
