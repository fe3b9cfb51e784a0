"""Whether arguments call a command or ask a model: the first word decides, whatever flags stand before it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from caliban.cli.commands import COMMANDS, LATER_COMMANDS, Subcommand
from caliban.cli.flag import Flag
from caliban.cli.groups import GROUPS

PRINT: Final = ("-p", "--print")
SAYS_PROMPT: Final = (*PRINT, "--prompt")
MAX_LETTERS: Final = 2
"""How far a word may be from the name of a command and still be taken for it."""

SLASH: Final = frozenset(
    [
        "add-dir",
        "agents",
        "btw",
        "clear",
        "code-review",
        "commands",
        "compact",
        "config",
        "context",
        "cost",
        "diff",
        "doctor",
        "effort",
        "exit",
        "export",
        "feedback",
        "focus",
        "fork",
        "heapdump",
        "help",
        "hooks",
        "init",
        "keybindings",
        "loop",
        "login",
        "logout",
        "mcp",
        "memory",
        "model",
        "output-style",
        "permissions",
        "plan",
        "plugin",
        "plugins",
        "quit",
        "recap",
        "rename",
        "resume",
        "review",
        "rewind",
        "run",
        "sandbox",
        "skills",
        "setup-token",
        "status",
        "statusline",
        "terminal-setup",
        "todos",
        "tui",
        "undo",
        "usage",
        "verify",
        "view",
        "vim",
    ]
)
"""Commands of the terminal interface, which begin with a slash there."""


class FirstWord(NamedTuple):
    """The first argument that is no flag and no flag's value, and where it stands.

    `is_prompt` says that -p or --prompt came before or after it: then a prompt was meant, whatever it is.
    """

    text: str
    place: int
    is_prompt: bool


def find_command(
    arguments: Sequence[str], commands: Sequence[Subcommand] = COMMANDS
) -> tuple[Subcommand, Sequence[str]] | None:
    """The command that `arguments` call, and its own arguments; `None` for a run."""
    word = first_word(arguments, commands)
    if word is None or word.is_prompt or "--" in arguments[: word.place]:
        return None
    for command in commands:
        if command.name == word.text:
            return command, [*arguments[: word.place], *arguments[word.place + 1 :]]
    return None


def first_word(arguments: Sequence[str], commands: Sequence[Subcommand] = COMMANDS) -> FirstWord | None:
    """The first word of `arguments`, by what the tables say of the flags; `None` where there is none."""
    valued = {name for row in _rows(commands) if row.takes_value for name in row.names}
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


def lookalike(word: str) -> str | None:
    """The command that `word` is or resembles, one that is still to come included; else `None`.

    Text with a blank in it is a prompt.
    """
    if any(letter.isspace() for letter in word) or not word:
        return None
    from caliban.cli.foreign import COMMANDS as FOREIGN
    from caliban_common.near import distance

    plain = word.lower()
    if plain in FOREIGN:
        return FOREIGN[plain]
    names = (*(row.name for row in COMMANDS), *LATER_COMMANDS)
    letters = MAX_LETTERS if len(plain) > MAX_LETTERS else len(plain) - 1
    near = [(distance(plain, name), name) for name in names if abs(len(plain) - len(name)) <= letters]
    within = [pair for pair in near if pair[0] <= letters]
    return min(within, key=lambda pair: pair[0])[1] if within else None


def is_slash_command(word: str) -> bool:
    """Whether `word` is a command of the terminal interface."""
    return word.startswith("/") and word[1:].lower() in SLASH


def _flag_at(argument: str, valued: set[str]) -> tuple[str, bool]:
    """The last flag that `argument` holds, and whether its value is to follow."""
    if argument.startswith("--"):
        name, equals, _ = argument.partition("=")
        return name, not equals and (name in valued or name in PRINT)
    for index, letter in enumerate(argument[1:], 2):
        name = f"-{letter}"
        if name in valued or name in PRINT:
            return name, index == len(argument)
    return f"-{argument[-1]}", False


def _says_prompt(argument: str) -> bool:
    return argument.partition("=")[0] in SAYS_PROMPT or (argument[:2] in PRINT and argument[:2] != "--")


def _rows(commands: Sequence[Subcommand]) -> Iterator[Flag]:
    for group in GROUPS:
        yield from (row for row in group.flags if not row.is_positional)
    for command in commands:
        yield from (row for row in command.flags if not row.is_positional)
