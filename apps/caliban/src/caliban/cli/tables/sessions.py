"""The rows of `caliban sessions` and its verbs."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import flag, positive, switch, words
from caliban.cli.groups import shared
from caliban.cli.subcommand import Subcommand
from caliban.cli.tables.rows import JSON_LINES, PLACE, verb_row

EXPORT_FORMATS: Final = ("md", "json", "html")

_DIRECTORY: Final = shared("--sessions-dir")
_NAME: Final = flag("name", metavar="NAME", type=words, help="as list shows it")
_YES: Final = switch("--yes", help="do not ask")

_VERBS: Final = (
    Subcommand(
        "sessions list",
        "the sessions of this directory, the one used last first",
        "caliban.commands.sessions.list:list_sessions",
        flags=(
            flag("query", nargs="?", metavar="TEXT", help="only those whose name, title or label has this"),
            switch("--all", dest="everywhere", help="those of every directory"),
            flag("--search", type=words, metavar="WORDS", help="all these words in prompts and answers"),
            flag("--label", type=words, metavar="LABEL", help="only those with this label"),
            switch("--tree", help="forks below what they were forked from"),
            flag("--limit", type=positive, metavar="N", help="only the N used last"),
            JSON_LINES,
            _DIRECTORY,
            *PLACE,
        ),
        usage="[TEXT] [--all] [--search WORDS] [--tree]",
        description="List sessions: when each was used last, its name, prompts, cost at list prices (? is "
        "unknown) and how it begins. Files that are no sessions are named. Exit: 0, even for none.",
    ),
    Subcommand(
        "sessions show",
        "what is known of a session, and what was said",
        "caliban.commands.sessions.list:show_session",
        flags=(
            _NAME,
            switch("--json", help="what is known of it as one JSON object, as list gives it"),
            _DIRECTORY,
            *PLACE,
        ),
        usage="NAME",
        description="Show a session: its facts, and its prompts and answers in short.",
    ),
    Subcommand(
        "sessions rename",
        "another name for a session, or a title",
        "caliban.commands.sessions.change:rename_session",
        flags=(
            _NAME,
            flag("new", metavar="NEW", nargs="?", help="1 to 64 letters, digits, _ or -"),
            flag("--title", metavar="TEXT", help="what list shows of it; an empty one is none"),
            _DIRECTORY,
        ),
        usage="NAME [NEW] [--title TEXT]",
        description="Call a session otherwise. Forks keep knowing it: they remember its id.",
    ),
    Subcommand(
        "sessions label",
        "give a session labels, or take them away",
        "caliban.commands.sessions.change:label_session",
        flags=(
            _NAME,
            flag("labels", metavar="LABEL", nargs="*", help="labels to add; none shows those there are"),
            flag("--remove", action="append", type=words, metavar="LABEL", help="take this label away"),
            _DIRECTORY,
        ),
        usage="NAME [LABEL …] [--remove LABEL]",
        description="Add labels to a session; list --label shows the sessions that have one.",
    ),
    Subcommand(
        "sessions fork",
        "a new session that begins as another one is now",
        "caliban.commands.sessions.change:fork_session",
        flags=(
            _NAME,
            flag("new", metavar="NEW", nargs="?", help="default: a fresh name"),
            _DIRECTORY,
        ),
        usage="NAME [NEW]",
        description="Fork a session and print the name of the new one. The old one stays as it is.",
    ),
    Subcommand(
        "sessions rm",
        "remove sessions",
        "caliban.commands.sessions.change:remove_sessions",
        flags=(
            flag("names", metavar="NAME", nargs="+", type=words, help="as list shows them"),
            _YES,
            _DIRECTORY,
        ),
        usage="NAME … [--yes]",
        description="Remove sessions with their images and all that was summarised. Asks first; without a "
        "terminal it needs --yes. One that is in use stays. Exit: 1 when one was not removed.",
        needs_words=True,
    ),
    Subcommand(
        "sessions prune",
        "remove the sessions that were not used for a while",
        "caliban.commands.sessions.change:prune_sessions",
        flags=(
            flag("--days", type=positive, metavar="N", help="default: the setting `cleanup_period_days`"),
            switch("--dry-run", help="remove nothing"),
            _YES,
            _DIRECTORY,
            *PLACE,
        ),
        usage="[--days N] [--dry-run]",
        description="Remove the sessions of every directory that were not used for N days. Asks first; "
        "without a terminal it needs --yes. Those in use and damaged files stay.",
    ),
    Subcommand(
        "sessions export",
        "a session as a page, as Markdown or as JSON, without secrets",
        "caliban.commands.sessions.export:export_session",
        flags=(
            _NAME,
            flag(
                "--format",
                metavar="FORMAT",
                among=EXPORT_FORMATS,
                help="md, json or html; default: as the name of the file ends, else md",
            ),
            flag("--output", type=words, metavar="FILE", help="where to write it; default: standard output"),
            switch("--force", help="write over a file that is there"),
            _DIRECTORY,
            *PLACE,
        ),
        usage="NAME [--format md|json|html] [--output FILE]",
        description="Write down a whole session, what was summarised too. Keys that the environment or "
        "caliban login holds are taken out. Exit: 2 for another format.",
    ),
    Subcommand(
        "sessions copy",
        "a session in another directory, where nothing that went another way is overwritten",
        "caliban.commands.sessions.copying:copy_session",
        flags=(
            _NAME,
            flag("--to", metavar="DIR", type=words, required=True, help="a directory of sessions"),
            switch("--force", help="also over one that has gone another way"),
            _DIRECTORY,
        ),
        usage="NAME --to DIR",
        description="Copy a session as it is now, images inside; what was summarised stays behind. A copy "
        "that is there is replaced where this session goes on from it. Exit: 1 where it does not.",
    ),
    Subcommand(
        "sessions mirror",
        "sessions as transcripts that the session helpers of the Claude Agent SDK read",
        "caliban.commands.sessions.mirror:mirror_sessions",
        flags=(
            flag("names", metavar="NAME", nargs="*", type=words, help="default: those of this directory"),
            switch("--all", dest="everywhere", help="without a NAME: those of every directory"),
            flag("--to", metavar="DIR", type=words, help="default: CLAUDE_CONFIG_DIR, else ~/.claude"),
            _DIRECTORY,
            *PLACE,
        ),
        usage="[NAME …] [--to DIR]",
        description="Write sessions into the directory of another product, without secrets, as they are now: "
        "one file each, below projects. A mirrored file is replaced, one that others wrote never.",
    ),
    Subcommand(
        "sessions import",
        "a transcript of Claude Code, or an exported session, as a session of its own",
        "caliban.commands.sessions.importing:import_session",
        flags=(
            flag("file", metavar="FILE", type=words, help="a .jsonl transcript, or the .json of export"),
            flag("--name", type=words, metavar="NAME", help="default: the transcript's own, or a fresh one"),
            switch("--dry-run", help="write nothing; say what would be taken and what not"),
            _DIRECTORY,
        ),
        usage="FILE [--name NAME]",
        description="Take over a conversation and print the name of its session. What cannot be taken is "
        "named. Exit: 1 when there is none in the file.",
    ),
)

SESSIONS: Final = Subcommand(
    "sessions",
    "saved conversations: list, search, show, export, remove",
    "caliban.commands.sessions.list:sessions",
    flags=(verb_row(_VERBS),),
    usage="VERB …",
    description="Saved conversations; caliban -r NAME goes on with one.",
    needs_words=True,
    verbs=_VERBS,
)
