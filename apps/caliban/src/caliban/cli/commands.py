"""The commands as data: dispatch, help, completion, reference and refusals are made from these rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from caliban.cli.config import CONFIG, SETTINGS
from caliban.cli.flag import Flag, flag, positive, switch, words
from caliban.cli.groups import GROUPS, shared
from caliban.cli.mcp import MCP
from caliban.cli.perms import CALL_EXAMPLE, PERMS
from caliban.cli.plugins import PLUGIN
from caliban.cli.rewind import REWIND
from caliban.cli.sessions import SESSIONS
from caliban.cli.skills import SKILLS, STYLES
from caliban.cli.subcommand import Subcommand
from caliban.cli.trust import TRUST

__all__ = ["CALL_EXAMPLE", "COMMANDS", "Subcommand", "every_command", "find_command", "first_word", "shared"]

PRINT: Final = ("-p", "--print")
SAYS_PROMPT: Final = (*PRINT, "--prompt")
SHELLS: Final = ("bash", "zsh", "fish")
PURPOSES: Final = ("main_loop", "summarization", "fast_classifier", "sub_agent", "embedding", "other")
VERBS: Final = ("list", "show", "path", "rm", "rebuild-index", "imports", "approve", "revoke")

_PLACE: Final = (
    shared("--workspace", help="default: here"),
    shared("--settings"),
    shared("--setting-sources"),
    shared("--trust-project"),
)
_SCOPE: Final = (*_PLACE, shared("--bare", help="no settings of user or project"))
_PROVIDER: Final = flag("words", metavar="PROVIDER", nargs="*", help="default: the one a run would use")
_MODEL: Final = (shared("--provider", help="default: the one a run would use"), shared("--model"))


COMMANDS: Final = (
    Subcommand(
        "models",
        "what a provider offers",
        "caliban.commands.models:models",
        flags=(
            *_SCOPE,
            *_MODEL,
            switch("--providers", help="list the providers that --provider takes instead"),
            switch("--json", help="one JSON object a line"),
        ),
        usage="[--provider NAME | --providers]",
        description="List the models that a provider offers. Prices are in US dollars per million tokens: ? "
        "is unknown, + says that a long prompt costs more.",
    ),
    Subcommand(
        "login",
        "keep an API key",
        "caliban.commands.login:login",
        flags=(
            *_SCOPE,
            _PROVIDER,
        ),
        usage="[PROVIDER]",
        description="Store the API key of a provider, as its console shows it. Signing in with a "
        "subscription (OAuth) is not offered to third-party tools.",
        discreet=True,
    ),
    Subcommand(
        "logout",
        "forget an API key that was kept",
        "caliban.commands.login:logout",
        flags=(
            *_SCOPE,
            _PROVIDER,
        ),
        usage="[PROVIDER]",
        description="Forget the stored API key of a provider.",
        discreet=True,
    ),
    Subcommand(
        "status",
        "which provider and model a run would use, and where its key comes from",
        "caliban.commands.status:status",
        flags=(*_SCOPE, *_MODEL),
        description="Say which provider a run would use, and where its key comes from.",
    ),
    Subcommand(
        "doctor",
        "whether what a run needs is there (exit 1 when it is not)",
        "caliban.commands.doctor.checks:doctor",
        flags=(
            *_SCOPE,
            switch("--deep", help="ask every provider for its models"),
            shared("--provider", help="default: the one a run would use"),
            shared("--model", help="must be on its provider's list, where it is asked"),
            switch("--json", help="one JSON object"),
        ),
        usage="[--deep]",
        description="Check what a run needs. Exit: 1 when a check fails.",
    ),
    Subcommand(
        "sandbox",
        "whether commands would run in a sandbox here, and under which profile",
        "caliban.commands.sandbox:sandbox",
        flags=(
            *_SCOPE,
            shared("--sandbox"),
            flag(
                "--profile",
                choices=("bubblewrap", "seatbelt"),
                help="print what holds this workspace, for Linux or for macOS, instead",
            ),
        ),
        usage="[--profile bubblewrap|seatbelt]",
        description="Say whether commands would run in a sandbox here, after trying it. Exit: 1 when one is "
        "wanted and does not hold.",
    ),
    Subcommand(
        "context",
        "what the first request of a run would hold, piece by piece, with tokens",
        "caliban.commands.context:context",
        flags=(
            *_SCOPE,
            *_MODEL,
            *(shared(name) for name in ("--system", "--system-file", "--no-system", "--no-tools")),
            switch("--json", help="one JSON object"),
        ),
        description="Show the pieces of the first request with their sources and estimated tokens (four "
        "bytes make one): instructions, memory, tools, and what is left of the window. Nothing is sent, and "
        "no key is needed.",
    ),
    Subcommand(
        "memory",
        "the files of instructions and the notes that a run is told",
        "caliban.commands.memory.list:memory",
        flags=(
            flag("verb", nargs="?", choices=VERBS, default="list", metavar="VERB", help=", ".join(VERBS)),
            flag(
                "name",
                nargs="?",
                metavar="NAME",
                help="a note; with path also global, project or auto; a file with approve and revoke",
            ),
            switch("--yes", help="with approve: do not ask"),
            *_SCOPE,
        ),
        usage="[VERB] [NAME | FILE]",
        description="Look after memory: list the files and the notes, show a note, print the path of a file "
        "to edit, remove a note, or make the index of notes anew. The verb imports lists what a project "
        "imports from outside of it; approve lets it, while such a file is as it is now; revoke takes "
        "that back. Exit: 1 when nothing was approved of, or revoked.",
    ),
    Subcommand(
        "init",
        "a draft of CLAUDE.md, made from what lies in the project",
        "caliban.commands.init:init",
        flags=(
            shared("--workspace", help="default: here"),
            switch("--force", help="also where there is a CLAUDE.md, or an earlier draft to write over"),
            switch("--show", help="print it and write nothing"),
        ),
        usage="[--show] [--force]",
        description="Write CLAUDE.draft.md from README, build files and the instructions of other tools. "
        "CLAUDE.md itself is never touched, and nothing of the project is run.",
    ),
    REWIND,
    CONFIG,
    SETTINGS,
    PERMS,
    TRUST,
    SESSIONS,
    SKILLS,
    STYLES,
    PLUGIN,
    MCP,
    Subcommand(
        "router",
        "which models a request would go to, in which order",
        "caliban.commands.router:router",
        flags=(
            flag("verb", choices=("debug",), help="print the candidates for a made-up request"),
            flag(
                "--purpose",
                choices=PURPOSES,
                default=PURPOSES[0],
                metavar="PURPOSE",
                help=f"{', '.join(PURPOSES)} (default: {PURPOSES[0]})",
            ),
            switch("--has-vision", help="the request has pictures"),
            switch("--has-tools", help="the request offers tools"),
            flag("--effort", choices=("low", "medium", "high", "xhigh", "max"), help="default: the route's"),
            switch("--effort-table", help="the knobs of every level"),
            shared("--config", help="in place of the caliban.toml that would be found"),
            *(shared(name) for name in ("--provider", "--model", "--fallback-model")),
            *_PLACE,
        ),
        usage="debug",
        description="Show which routes a request would take: + is a candidate, - is none, and why.",
        needs_words=True,
    ),
    Subcommand(
        "replay",
        "a run that --record kept, played again without asking or running anything",
        "caliban.commands.replay:replay",
        flags=(
            flag("file", metavar="FILE", type=words, help="what --record wrote"),
            flag("--until", type=positive, metavar="N", help="stop after N turns"),
            flag(
                "--swap-model",
                type=words,
                metavar="PROVIDER/MODEL",
                help="ask this model from there on (without --until: from the beginning); recorded calls "
                "answer it",
            ),
            switch(
                "--strict",
                help="build every request as this version does here, and end at the first one that differs",
            ),
            shared("--output-format", help="default: as recorded"),
            shared("--include-partial-messages"),
            shared("--include-dispatch-events"),
            shared("--replay-user-messages"),
            shared("--quiet"),
            shared("--base-url", help="with --swap-model: where its provider's API is"),
            *_SCOPE,
        ),
        usage="FILE [--until N]",
        description="Play a recorded run again: the same loop, with the answers of the recording. Exit: that "
        "of the run; 75 where --until ended it, 1 where --strict found a difference.",
        needs_words=True,
    ),
    Subcommand(
        "completion",
        "what a shell needs to complete words after caliban",
        "caliban.commands.completion:completion",
        flags=(flag("shell", choices=SHELLS, help="whose words to write"),),
        usage="|".join(SHELLS),
        description='Write the completion of a shell, as in: eval "$(caliban completion bash)"',
        needs_words=True,
    ),
    Subcommand(
        "help",
        "all flags and commands, or all of one command",
        "caliban.commands.help:help_command",
        flags=(flag("words", metavar="COMMAND", nargs="*", help="default: all of them"),),
        usage="[COMMAND]",
        description="Show the help of a command, or of everything.",
    ),
    Subcommand(
        "version",
        "version and commit",
        "caliban.commands.help:version_command",
        description="Print the version and the commit it was built from.",
    ),
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
"""Commands of the guide that are refused: never sent to a model as a prompt by mistake."""


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
            return _verb_of(command, arguments[: word.place], arguments[word.place + 1 :], commands)
    return None


def every_command(commands: Sequence[Subcommand] = COMMANDS) -> Iterator[Subcommand]:
    """Each command, and its verbs behind it."""
    for command in commands:
        yield command
        yield from command.verbs


def _verb_of(
    command: Subcommand, before: Sequence[str], behind: Sequence[str], commands: Sequence[Subcommand]
) -> tuple[Subcommand, Sequence[str]]:
    """The verb that stands behind a command that has some, else the command; and what is said to it."""
    word = first_word(behind, commands) if command.verbs else None
    if word is not None and "--" not in behind[: word.place]:
        for verb in command.verbs:
            if verb.name == f"{command.name} {word.text}":
                return verb, [*before, *behind[: word.place], *behind[word.place + 1 :]]
    return command, [*before, *behind]


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
    for command in every_command(commands):
        yield from (row for row in command.flags if not row.is_positional)
