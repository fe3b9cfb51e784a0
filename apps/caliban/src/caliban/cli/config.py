"""The rows of `caliban config` and `caliban settings`, and of their verbs."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import Flag, flag, switch, words
from caliban.cli.groups import shared
from caliban.cli.subcommand import Subcommand

WRITABLE: Final = ("user", "project", "local")
"""The scopes that `config` changes: an administrator's files are read, never written."""
FILES: Final = ("managed", *WRITABLE)

_WORKSPACE: Final = shared("--workspace", help="default: here")
_PLACE: Final = (
    _WORKSPACE,
    shared("--settings"),
    shared("--setting-sources"),
    shared("--trust-project"),
    shared("--bare", help="the administrator's only"),
)
_PRINT: Final = (
    *_PLACE,
    switch("--json", help="one JSON object (default)"),
    switch("--plain", help="a line for each value, with its file and line"),
)
_KEY: Final = flag("key", metavar="KEY", help="its dotted name, such as permissions.deny")


def _scope(scopes: tuple[str, ...], default: str | None, what: str) -> Flag:
    said = f"; default: {default}" if default else ""
    return flag(
        "--scope", metavar="SCOPE", default=default, among=scopes, help=f"{what}: {', '.join(scopes)}{said}"
    )


_CONFIG_VERBS: Final = (
    Subcommand(
        "config print",
        "all settings that count, and where each comes from",
        "caliban.commands.config:print_settings",
        flags=_PRINT,
        usage="[--plain]",
        description="Print the merged settings without secrets. In _origins each value has its scope, file "
        "and line; what needs a new start to take effect is marked.",
    ),
    Subcommand(
        "config get",
        "the value of one setting",
        "caliban.commands.config:get_setting",
        flags=(_KEY, *_PLACE, switch("--json", help="with scope, file and line, as one JSON object")),
        usage="KEY [--json]",
        description="Print what counts for one setting, as JSON. Exit: 1 when nobody has set it, 66 when "
        "there is no such setting.",
        needs_words=True,
    ),
    Subcommand(
        "config set",
        "write one setting into the file of a scope",
        "caliban.commands.configset:set_value",
        flags=(
            _KEY,
            flag("value", metavar="VALUE", help="TOML or JSON, or plain text where the setting takes text"),
            _scope(WRITABLE, "user", "whose file"),
            _WORKSPACE,
        ),
        usage="KEY VALUE [--scope SCOPE]",
        description="Set one setting; comments and all other lines of the file stay. What is no setting, or "
        "of another type, is refused.",
        needs_words=True,
    ),
    Subcommand(
        "config unset",
        "take one setting out of the file of a scope",
        "caliban.commands.configset:unset_value",
        flags=(_KEY, _scope(WRITABLE, "user", "whose file"), _WORKSPACE),
        usage="KEY [--scope SCOPE]",
        description="Take one setting out. Exit: 1 when it is not set there.",
        needs_words=True,
    ),
    Subcommand(
        "config path",
        "which files the settings stand in",
        "caliban.commands.config:list_paths",
        flags=(_scope(FILES, None, "only this one"), _WORKSPACE),
        usage="[--scope SCOPE]",
        description="Print the file of each scope, lowest first, and whether it is there.",
    ),
    Subcommand(
        "config list",
        "every setting that there is",
        "caliban.commands.config:list_keys",
        flags=(flag("word", metavar="WORD", nargs="?", help="only those with it in name or meaning"),),
        usage="[WORD]",
        description="List every setting with its type, its default and what it means.",
    ),
    Subcommand(
        "config schema",
        "the form of a settings file as JSON Schema",
        "caliban.commands.config:print_schema",
        description="Print a JSON Schema of settings files, for editors and checks.",
    ),
)

CONFIG: Final = Subcommand(
    "config",
    "settings: what counts and why, and changing them",
    "caliban.commands.config:print_settings",
    flags=(
        flag(
            "verb",
            metavar="VERB",
            nargs="?",
            choices=tuple(verb.name.partition(" ")[2] for verb in _CONFIG_VERBS),
            help="one of those below (default: print)",
        ),
        *_PRINT,
    ),
    usage="[VERB …]",
    description="Settings are TOML files in four scopes: managed, user, project and local; --settings stands "
    "above them.",
    verbs=_CONFIG_VERBS,
)
