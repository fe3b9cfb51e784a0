"""The rows of `caliban config` and `caliban settings`, and of their verbs."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import Flag, flag, switch, words
from caliban.cli.groups import shared
from caliban.cli.subcommand import Subcommand
from caliban.cli.tables.rows import PLACE, WORKSPACE, verb_row

WRITABLE: Final = ("user", "project", "local")
"""The scopes that `config` changes: an administrator's files are read, never written."""
FILES: Final = ("managed", *WRITABLE)

_PLACE: Final = (*PLACE, shared("--bare", help="the administrator's only"))
_PRINT: Final = (
    *_PLACE,
    switch("--json", help="one JSON object (default)"),
    switch("--plain", help="a line for each value, with its file and line"),
)
_KEY: Final = flag("key", metavar="KEY", help="its dotted name, such as permissions.deny")


def _scope(scopes: tuple[str, ...], default: str | None, what: str) -> Flag:
    note = f"; default: {default}" if default else ""
    return flag(
        "--scope", metavar="SCOPE", default=default, among=scopes, help=f"{what}: {', '.join(scopes)}{note}"
    )


_CONFIG_VERBS: Final = (
    Subcommand(
        "config print",
        "all settings that count, and where each comes from",
        "caliban.commands.config.list:print_settings",
        flags=_PRINT,
        usage="[--plain]",
        description="Print the merged settings without secrets. In _origins each value has its scope, file "
        "and line; what needs a new start to take effect is marked.",
    ),
    Subcommand(
        "config get",
        "the value of one setting",
        "caliban.commands.config.list:get_setting",
        flags=(_KEY, *_PLACE, switch("--json", help="with scope, file and line, as one JSON object")),
        usage="KEY [--json]",
        description="Print what counts for one setting, as JSON. Exit: 1 when nobody has set it, 66 when "
        "there is no such setting.",
        needs_words=True,
    ),
    Subcommand(
        "config set",
        "write one setting into the file of a scope",
        "caliban.commands.config.change:set_value",
        flags=(
            _KEY,
            flag("value", metavar="VALUE", help="TOML or JSON, or plain text where the setting takes text"),
            _scope(WRITABLE, "user", "whose file"),
            WORKSPACE,
        ),
        usage="KEY VALUE [--scope SCOPE]",
        description="Set one setting; comments and all other lines of the file stay. What is no setting, or "
        "of another type, is refused.",
        needs_words=True,
    ),
    Subcommand(
        "config unset",
        "take one setting out of the file of a scope",
        "caliban.commands.config.change:unset_value",
        flags=(_KEY, _scope(WRITABLE, "user", "whose file"), WORKSPACE),
        usage="KEY [--scope SCOPE]",
        description="Take one setting out. Exit: 1 when it is not set there.",
        needs_words=True,
    ),
    Subcommand(
        "config edit",
        "the file of a scope in your editor",
        "caliban.commands.config.edit:edit_settings",
        flags=(_scope(WRITABLE, "user", "whose file"), WORKSPACE),
        usage="[--scope SCOPE]",
        description="Open a copy in VISUAL or EDITOR. It takes the file's place once it is right; what is "
        "not is kept beside it, and the file stays as it was (exit 78).",
    ),
    Subcommand(
        "config migrate",
        "files of one feature each in one settings.toml",
        "caliban.commands.config.migrate:migrate",
        flags=(
            switch("--dry-run", help="print what the one file would say, as JSON, and write nothing"),
            _scope(WRITABLE, "project", "whose files"),
            WORKSPACE,
        ),
        usage="[--dry-run] [--scope SCOPE]",
        description="Move what permissions.toml, mcp.toml and hooks.toml say into settings.toml. The old "
        "files are kept under names that end in .migrated.",
    ),
    Subcommand(
        "config path",
        "which files the settings stand in",
        "caliban.commands.config.list:list_paths",
        flags=(_scope(FILES, None, "only this one"), WORKSPACE),
        usage="[--scope SCOPE]",
        description="Print the file of each scope, lowest first, and whether it is there.",
    ),
    Subcommand(
        "config list",
        "every setting that there is",
        "caliban.commands.config.list:list_keys",
        flags=(flag("word", metavar="WORD", nargs="?", help="only those with it in name or meaning"),),
        usage="[WORD]",
        description="List every setting with its type, its default and what it means.",
    ),
    Subcommand(
        "config schema",
        "the form of a settings file as JSON Schema",
        "caliban.commands.config.list:print_schema",
        description="Print a JSON Schema of settings files, for editors and checks.",
    ),
)

CONFIG: Final = Subcommand(
    "config",
    "settings: what counts and why, and changing them",
    "caliban.commands.config.list:print_settings",
    flags=(
        verb_row(_CONFIG_VERBS, "print"),
        *_PRINT,
    ),
    usage="[VERB …]",
    description="Settings are TOML files in four scopes: managed, user, project and local; --settings stands "
    "above them.",
    verbs=_CONFIG_VERBS,
)

_SETTINGS_VERBS: Final = (
    Subcommand(
        "settings import",
        "settings of Claude Code, Codex or an older caliban",
        "caliban.commands.config.importing:import_settings",
        flags=(
            flag(
                "--from",
                type=words,
                metavar="PATH",
                required=True,
                dest="source",
                help="settings.json of Claude Code, config.toml of Codex, .toml or .json of caliban",
            ),
            _scope(FILES, "project", "where to write them"),
            switch("--dry-run", help="print what would be written, and write nothing"),
            WORKSPACE,
        ),
        usage="--from PATH [--scope SCOPE] [--dry-run]",
        description="Carry settings over into the file of a scope. What is set there stays, lists are "
        "joined, and each setting without an equal is named with its line. Exit: 1 when there is none to be "
        "had.",
    ),
    Subcommand(
        "settings print",
        "what one scope says by itself",
        "caliban.commands.config.scope:print_scope",
        flags=(
            flag("--scope", metavar="SCOPE", default="project", help=f"{', '.join(FILES)}; default: project"),
            WORKSPACE,
        ),
        usage="[--scope SCOPE]",
        description="Print the settings of one scope before they are merged, as JSON and without secrets. "
        "Exit: 2 for a word that is no scope.",
    ),
)

SETTINGS: Final = Subcommand(
    "settings",
    "settings of one scope, and those of other harnesses",
    "caliban.commands.config.scope:print_scope",
    flags=(
        verb_row(_SETTINGS_VERBS),
        flag("--scope", metavar="SCOPE", default="project", help=f"{', '.join(FILES)}; default: project"),
    ),
    usage="VERB …",
    description="Settings of one scope, and those of other harnesses; caliban config has what is merged.",
    needs_words=True,
    verbs=_SETTINGS_VERBS,
)
