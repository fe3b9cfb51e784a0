"""Completion for shells, made from the tables: one function a shell gives the script that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from caliban.cli.commands import COMMANDS, every_command
from caliban.cli.flag import Flag, Group
from caliban.cli.groups import GROUPS
from caliban.cli.subcommand import Subcommand

FOLDERS: Final = ("DIR",)
FILES: Final = ("PATH", "FILE_OR_JSON")


def bash(groups: Sequence[Group] = GROUPS, commands: Sequence[Subcommand] = COMMANDS) -> str:
    """The script for bash."""
    after = [
        *(f'        {_names(row)}) COMPREPLY=($(compgen -W "{words}" -- "$word")); return ;;'
          for row, words in _with_words(groups, commands)),
        f'        {_all(groups, commands, FOLDERS)}) COMPREPLY=($(compgen -d -- "$word")); return ;;',
        f'        {_all(groups, commands, FILES)}) COMPREPLY=($(compgen -f -- "$word")); return ;;',
    ]  # fmt: skip
    names = " ".join(row.name for row in commands)
    of_commands = [line for row in commands for line in _bash_words(row)]
    return "\n".join(
        (
            "_caliban() {",
            '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words',
            '    case "$before" in',
            *after,
            "    esac",
            '    case "${COMP_WORDS[1]}" in',
            *of_commands,
            f'        *) words="{_words_of(_rows(groups))}"',
            f'           [ "$COMP_CWORD" -gt 1 ] || words="{names} $words" ;;',
            "    esac",
            '    COMPREPLY=($(compgen -W "$words" -- "$word"))',
            "}",
            "complete -o default -F _caliban caliban",
            "",
        )
    )


def zsh(groups: Sequence[Group] = GROUPS, commands: Sequence[Subcommand] = COMMANDS) -> str:
    """The script for zsh."""
    listed = " ".join(_quoted(f"{row.name}:{row.summary}") for row in commands)
    return "\n".join(
        (
            "#compdef caliban",
            "_caliban() {",
            '    local before="${words[CURRENT-1]}"',
            "    local -a commands",
            f"    commands=({listed})",
            '    case "$before" in',
            *(f"        {_names(row)}) compadd -- {choices}; return ;;"
              for row, choices in _with_words(groups, commands)),
            f"        {_all(groups, commands, FOLDERS)}) _files -/; return ;;",
            f"        {_all(groups, commands, FILES)}) _files; return ;;",
            "    esac",
            '    case "${words[2]}" in',
            *(line for row in commands for line in _zsh_words(row)),
            "        *)",
            "            (( CURRENT > 2 )) || _describe command commands",
            f"            compadd -- {_words_of(_rows(groups))}",
            "            _files ;;",
            "    esac",
            "}",
            "compdef _caliban caliban",
            "",
        )
    )  # fmt: skip


def fish(groups: Sequence[Group] = GROUPS, commands: Sequence[Subcommand] = COMMANDS) -> str:
    """The script for fish."""
    names = " ".join(row.name for row in commands)
    lines = ["function __caliban_runs", f"    not __fish_seen_subcommand_from {names}", "end"]
    lines += [
        f"complete -c caliban -n __caliban_runs -a {row.name} -d {_quoted(row.summary)}" for row in commands
    ]
    lines += [_fish_line(row, "__caliban_runs") for row in _rows(groups)]
    lines += [
        _fish_line(row, f"__fish_seen_subcommand_from {command.name}")
        for command in commands
        for row in command.flags
    ]
    lines += [
        _fish_line(row, f"__fish_seen_subcommand_from {first}; and __fish_seen_subcommand_from {second}")
        for command in commands
        for verb in command.verbs
        for first, second in (verb.name.split(" "),)
        for row in verb.flags
    ]
    return "\n".join((*(line for line in lines if line), ""))


def _bash_words(command: Subcommand) -> list[str]:
    """What completes the words behind a command, or behind one of its verbs."""
    own = f'        {command.name}) words="{_words_of(command.flags)}"'
    verbs = [f'{verb.verb}) words="{_words_of(verb.flags)}" ;;' for verb in command.verbs]
    if not verbs:
        return [f"{own} ;;"]
    behind = '           [ "$COMP_CWORD" -le 2 ] || case "${COMP_WORDS[2]}" in'
    return [own, behind, *(f"               {line}" for line in verbs), "           esac ;;"]


def _zsh_words(command: Subcommand) -> list[str]:
    own = f"compadd -- {_words_of(command.flags)}"
    if not command.verbs:
        return [f"        {command.name}) {own} ;;"]
    return [
        f"        {command.name})",
        f"            (( CURRENT > 3 )) || {{ {own}; return; }}",
        '            case "${words[3]}" in',
        *(f"                {verb.verb}) compadd -- {_words_of(verb.flags)} ;;" for verb in command.verbs),
        "            esac ;;",
    ]


SCRIPTS: Final[Mapping[str, Callable[..., str]]] = MappingProxyType({"bash": bash, "zsh": zsh, "fish": fish})


def _fish_line(row: Flag, condition: str) -> str:
    """The line for a flag, or for a word at its place; empty where there is nothing to say of that."""
    start, choices = f"complete -c caliban -n {_quoted(condition)}", " ".join(_choices(row))
    if row.is_positional:
        return f"{start} -f -a {_quoted(choices)}" if choices else ""
    names = "".join(
        f" -l {name.removeprefix('--')}" if name.startswith("--") else f" -s {name.removeprefix('-')}"
        for name in row.spellings
    )
    if choices:
        value = f" -x -a {_quoted(choices)}"
    elif row.how.get("metavar") in FOLDERS:
        value = " -x -a '(__fish_complete_directories)'"
    elif row.takes_value:
        value = " -r"
    else:
        value = ""
    return f"{start}{names}{value} -d {_quoted(str(row.how.get('help', '')))}"


def _rows(groups: Sequence[Group]) -> tuple[Flag, ...]:
    return tuple(row for group in groups for row in group.flags)


def _every(groups: Sequence[Group], commands: Sequence[Subcommand]) -> tuple[Flag, ...]:
    """The flags of runs and commands that take a value, each once."""
    rows = (*_rows(groups), *(row for command in every_command(commands) for row in command.flags))
    return tuple({row.names: row for row in rows if row.takes_value and not row.is_positional}.values())


def _with_words(groups: Sequence[Group], commands: Sequence[Subcommand]) -> list[tuple[Flag, str]]:
    """The flags with a choice of values, and those values."""
    return [(row, " ".join(_choices(row))) for row in _every(groups, commands) if _choices(row)]


def _choices(row: Flag) -> tuple[str, ...]:
    return tuple(row.how.get("choices") or row.among)


def _all(groups: Sequence[Group], commands: Sequence[Subcommand], metavars: Sequence[str]) -> str:
    """The flags whose value is one of `metavars`, as a pattern of a `case`."""
    return "|".join(_names(row) for row in _every(groups, commands) if row.how.get("metavar") in metavars)


def _names(row: Flag) -> str:
    return "|".join(row.names)


def _words_of(rows: Sequence[Flag]) -> str:
    """What can be typed where no value is expected: flags, and the words of a choice."""
    words = [word for row in rows for word in (_choices(row) if row.is_positional else row.spellings)]
    return " ".join(words)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
