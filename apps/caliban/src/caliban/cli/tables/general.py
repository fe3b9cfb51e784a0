"""The rows of the commands that stand alone: what would run, with which model, and the program itself."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import flag, positive, switch, words
from caliban.cli.groups import shared
from caliban.cli.subcommand import Subcommand
from caliban.cli.tables.rows import JSON_LINES, JSON_OBJECT, PLACE, WORKSPACE

SHELLS: Final = ("bash", "zsh", "fish")
PURPOSES: Final = ("main_loop", "summarization", "fast_classifier", "sub_agent", "embedding", "other")
VERBS: Final = ("list", "show", "path", "rm", "rebuild-index", "imports", "approve", "revoke")

_SCOPE: Final = (*PLACE, shared("--bare", help="no settings of user or project"))
_PROVIDER: Final = flag("words", metavar="PROVIDER", nargs="*", help="default: the one a run would use")
_MODEL: Final = (shared("--provider", help="default: the one a run would use"), shared("--model"))


MODELS: Final = Subcommand(
    "models",
    "what a provider offers",
    "caliban.commands.models:models",
    flags=(
        *_SCOPE,
        *_MODEL,
        switch("--providers", help="list the providers that --provider takes instead"),
        JSON_LINES,
    ),
    usage="[--provider NAME | --providers]",
    description="List the models that a provider offers. Prices are in US dollars per million tokens: ? "
    "is unknown, + says that a long prompt costs more.",
)

LOGIN: Final = Subcommand(
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
)

LOGOUT: Final = Subcommand(
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
)

STATUS: Final = Subcommand(
    "status",
    "which provider and model a run would use, and where its key comes from",
    "caliban.commands.status:status",
    flags=(*_SCOPE, *_MODEL),
    description="Say which provider a run would use, and where its key comes from.",
)

DOCTOR: Final = Subcommand(
    "doctor",
    "whether what a run needs is there (exit 1 when it is not)",
    "caliban.commands.doctor.checks:doctor",
    flags=(
        *_SCOPE,
        switch("--deep", help="ask every provider for its models"),
        shared("--provider", help="default: the one a run would use"),
        shared("--model", help="must be on its provider's list, where it is asked"),
        JSON_OBJECT,
    ),
    usage="[--deep]",
    description="Check what a run needs. Exit: 1 when a check fails.",
)

SANDBOX: Final = Subcommand(
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
)

CONTEXT: Final = Subcommand(
    "context",
    "what the first request of a run would hold, piece by piece, with tokens",
    "caliban.commands.context:context",
    flags=(
        *_SCOPE,
        *_MODEL,
        *(shared(name) for name in ("--system", "--system-file", "--no-system", "--no-tools")),
        JSON_OBJECT,
    ),
    description="Show the pieces of the first request with their sources and estimated tokens (four "
    "bytes make one): instructions, memory, tools, and what is left of the window. Nothing is sent, and "
    "no key is needed.",
)

MEMORY: Final = Subcommand(
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
)

INIT: Final = Subcommand(
    "init",
    "a draft of CLAUDE.md, made from what lies in the project",
    "caliban.commands.init:init",
    flags=(
        WORKSPACE,
        switch("--force", help="also where there is a CLAUDE.md, or an earlier draft to write over"),
        switch("--show", help="print it and write nothing"),
    ),
    usage="[--show] [--force]",
    description="Write CLAUDE.draft.md from README, build files and the instructions of other tools. "
    "CLAUDE.md itself is never touched, and nothing of the project is run.",
)

ROUTER: Final = Subcommand(
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
        *PLACE,
    ),
    usage="debug",
    description="Show which routes a request would take: + is a candidate, - is none, and why.",
    needs_words=True,
)

REPLAY: Final = Subcommand(
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
)

COMPLETION: Final = Subcommand(
    "completion",
    "what a shell needs to complete words after caliban",
    "caliban.commands.completion:completion",
    flags=(flag("shell", choices=SHELLS, help="whose words to write"),),
    usage="|".join(SHELLS),
    description='Write the completion of a shell, as in: eval "$(caliban completion bash)"',
    needs_words=True,
)

HELP: Final = Subcommand(
    "help",
    "all flags and commands, or all of one command",
    "caliban.commands.help:help_command",
    flags=(flag("words", metavar="COMMAND", nargs="*", help="default: all of them"),),
    usage="[COMMAND]",
    description="Show the help of a command, or of everything.",
)

VERSION: Final = Subcommand(
    "version",
    "version and commit",
    "caliban.commands.help:version_command",
    description="Print the version and the commit it was built from.",
)
