"""The rows of `caliban plugin` and its verbs."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import flag, switch, words
from caliban.cli.subcommand import Subcommand
from caliban.cli.tables.rows import JSON_LINES, PLACE, verb_row

SCOPES: Final = ("user", "project", "local")
ACTIONS: Final = ("add", "remove", "list", "update")

_YES: Final = switch("--yes", help="do not ask: what is shown is agreed to")
_NAME: Final = flag("name", metavar="NAME", help="as caliban plugin list has it")
_SCOPE: Final = flag(
    "--scope",
    choices=SCOPES,
    help="where it is switched: for you, or in settings of the project, shared or own (default: user)",
)

_KEY: Final = flag(
    "--key",
    type=words,
    metavar="KEY",
    help="the public key of minisign, or its file, by which what is offered must be signed",
)

_VERBS: Final = (
    Subcommand(
        "plugin list",
        "every plugin, where it is from, and whether it counts",
        "caliban.commands.plugins.kept:list_plugins",
        flags=(*PLACE, JSON_LINES),
        description="List the plugins that you installed, those of this project, and the administrator's.",
    ),
    Subcommand(
        "plugin info",
        "one plugin: its manifest, its parts, and what of it does nothing here",
        "caliban.commands.plugins.kept:show_plugin",
        flags=(_NAME, *PLACE),
        usage="NAME",
        description="Show a plugin as one JSON object. Exit: 1 when there is none.",
        needs_words=True,
    ),
    Subcommand(
        "plugin install",
        "look at what a plugin would do, and install exactly that",
        "caliban.commands.plugins.install:install",
        flags=(
            flag(
                "spec",
                metavar="NAME@MARKETPLACE",
                nargs="?",
                help="a plugin of a marketplace, which stands there by its name or by its address",
            ),
            flag("--dir", type=words, metavar="DIR", help="the plugin in a folder"),
            flag("--git", type=words, metavar="URL", help="a git repository, or OWNER/NAME of GitHub"),
            flag("--ref", type=words, metavar="REF", help="with --git: a branch, a tag or a whole commit"),
            flag("--archive", type=words, metavar="FILE_OR_URL", help="a .tar.gz, .tar.bz2 or .zip"),
            flag("--sha256", type=words, metavar="HEX", help="with --archive: what it must be"),
            _KEY,
            flag(
                "--signature",
                type=words,
                metavar="FILE_OR_URL",
                help="with --archive and --key: where its signature is (default: beside it, as .minisig)",
            ),
            flag("--path", type=words, metavar="PATH", help="the plugin's folder within what is fetched"),
            _YES,
            _SCOPE,
            *PLACE,
        ),
        usage="NAME@MARKETPLACE | --dir DIR | --git URL | --archive FILE",
        description="Fetch a plugin, show everything in it that runs, steers or is read, and ask. Nothing of "
        "it is run. Without a terminal --yes says that you have looked. Exit: 1 when it is not installed.",
        needs_words=True,
    ),
    Subcommand(
        "plugin update",
        "a newer version of one plugin, or of all, with what is different in it",
        "caliban.commands.plugins.install:update",
        flags=(flag("name", metavar="NAME", nargs="?", help="default: all of them"), _YES, *PLACE),
        usage="[NAME]",
        description="Fetch plugins again from where they came, show what is different, and ask. The version "
        "before is kept: caliban plugin rollback. Exit: 1 when something was not updated.",
    ),
    Subcommand(
        "plugin rollback",
        "the version of a plugin before its last update",
        "caliban.commands.plugins.kept:rollback",
        flags=(_NAME,),
        usage="NAME",
        description="Go back to the version before; once more goes forward again.",
        needs_words=True,
    ),
    Subcommand(
        "plugin remove",
        "remove a plugin, with all of its files",
        "caliban.commands.plugins.kept:remove",
        flags=(_NAME, switch("--keep-data", help="leave what it has written for itself")),
        usage="NAME",
        description="Remove a plugin that you installed. Exit: 1 when there is none.",
        needs_words=True,
    ),
    Subcommand(
        "plugin enable",
        "let a plugin count; one of a project is shown first",
        "caliban.commands.plugins.switch:enable",
        flags=(_NAME, _YES, _SCOPE, *PLACE),
        usage="NAME",
        description="Let an installed plugin count, or agree to one that lies in .caliban/plugins of a "
        "project. Exit: 1 when there is none.",
        needs_words=True,
    ),
    Subcommand(
        "plugin disable",
        "keep a plugin, and do without it",
        "caliban.commands.plugins.switch:disable",
        flags=(_NAME, _SCOPE, *PLACE),
        usage="NAME",
        description="Do without a plugin until it is enabled. Exit: 1 when there is none.",
        needs_words=True,
    ),
    Subcommand(
        "plugin validate",
        "whether a folder is a plugin, or a marketplace, and what is wrong with it",
        "caliban.commands.plugins.kept:validate",
        flags=(flag("directory", metavar="DIR", nargs="?", help="default: here"), JSON_LINES),
        usage="[DIR]",
        description="Read a plugin or a marketplace as an installation would. Exit: 1 when it is refused, or "
        "a part of it is.",
    ),
    Subcommand(
        "plugin init",
        "a new plugin to begin with",
        "caliban.commands.plugins.kept:init",
        flags=(flag("name", metavar="NAME", help="its name, and that of its folder"),),
        usage="NAME",
        description="Make a folder NAME with a manifest, a skill and a command. Nothing is written over.",
        needs_words=True,
    ),
    Subcommand(
        "plugin help",
        "the help of all of this",
        "caliban.commands.plugins.kept:help_plugin",
        description="Show the help of caliban plugin.",
    ),
    Subcommand(
        "plugin marketplace",
        "lists of plugins: add, remove, list, update",
        "caliban.commands.plugins.marketplace:marketplace",
        flags=(
            flag("action", metavar="ACTION", nargs="?", choices=ACTIONS, help=", ".join(ACTIONS)),
            flag(
                "place",
                metavar="PLACE",
                nargs="?",
                help="for add: a folder, a repository (OWNER/NAME of GitHub) or an address; else a name",
            ),
            _KEY,
            JSON_LINES,
            *PLACE,
        ),
        usage="add PLACE [--key KEY] | remove NAME | list [NAME] | update [NAME]",
        description="Look after marketplaces: marketplace.json in a folder or a git repository, or an index "
        "at an address. An index that was read is kept, and is what an installation goes by; update reads it "
        "anew. Exit: 1 when a place could not be read.",
    ),
)

PLUGIN: Final = Subcommand(
    "plugin",
    "plugins: what was installed, and from where",
    "caliban.commands.plugins.kept:list_plugins",
    flags=(
        verb_row(_VERBS, "list"),
        *PLACE,
        JSON_LINES,
    ),
    usage="[VERB …]",
    description="Plugins bring skills, commands, agents, output styles, hooks, MCP servers and themes under "
    "names PLUGIN:NAME. What a plugin may do is what you were shown when you installed it: each is pinned "
    "by a digest of all of its files.",
    verbs=_VERBS,
)
