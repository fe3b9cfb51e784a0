"""The rows of `caliban mcp` and its verbs."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import Flag, flag, switch, whole, words
from caliban.cli.groups import shared
from caliban.cli.subcommand import Subcommand
from caliban.cli.tables.rows import JSON_LINES, JSON_OBJECT, WORKSPACE, verb_row

SCOPES: Final = ("user", "project", "local", "managed")
KINDS: Final = ("stdio", "http", "sse")
SOURCES: Final = ("claude-code", "claude-desktop", "codex", "vscode")

_PLACE: Final = (
    WORKSPACE,
    shared("--settings"),
    shared("--setting-sources"),
    shared("--mcp-config"),
    shared("--strict-mcp-config"),
    shared("--trust-project"),
)
_NAME: Final = flag("name", metavar="NAME", help="as caliban mcp list has it")
_SERVER: Final = flag("name", metavar="NAME", nargs="?", help="one server (default: all)")


def _scope(help: str) -> Flag:
    return flag("--scope", "-s", choices=SCOPES, help=help)


_NEW: Final = (
    _scope(
        "user: yours, everywhere (default); project: .mcp.json, for everybody; local: yours, in this project"
    ),
    WORKSPACE,
    switch("--replace", help="in place of a server of this name"),
)
_VERBS: Final = (
    Subcommand(
        "mcp list",
        "every server that settings name, where it comes from, and whether a run would use it",
        "caliban.commands.mcp.list:list_servers",
        flags=(*_PLACE, JSON_LINES),
        description="List MCP servers. None is started: caliban mcp doctor does that. Behind a name stands "
        "why a run would not use it.",
    ),
    Subcommand(
        "mcp get",
        "one server as it is written, and the tools that it had last",
        "caliban.commands.mcp.list:show_server",
        flags=(_NAME, *_PLACE, JSON_OBJECT),
        usage="NAME",
        description="Show a server. Variables are shown by their names, never by what they hold.",
        needs_words=True,
    ),
    Subcommand(
        "mcp add",
        "write a server into settings",
        "caliban.commands.mcp.change:add",
        flags=(
            flag("name", metavar="NAME", help="letters, digits, - and _"),
            flag(
                "words", metavar="COMMAND", nargs="*", help="a command and its arguments behind --, or a URL"
            ),
            flag(
                "--transport",
                "-t",
                choices=KINDS,
                help="how it is spoken to (default: stdio for a command, http for a URL)",
            ),
            flag(
                "--env",
                "-e",
                type=words,
                action="append",
                metavar="NAME=VALUE",
                help="a variable of its environment; ${NAME} in it is filled in at each start",
            ),
            flag(
                "--header",
                "-H",
                type=words,
                action="append",
                metavar="NAME:VALUE",
                help="a header of every request, such as 'Authorization: Bearer ${TOKEN}'",
            ),
            *_NEW,
        ),
        usage="NAME [--scope SCOPE] -- COMMAND [ARG …] | NAME URL",
        description="Write an MCP server into settings; comments of the file stay. What stands behind -- is "
        "its command, with flags of its own: caliban mcp add notes -- npx -y notes-server. A server at an "
        "address: caliban mcp add issues https://mcp.example.com/mcp.",
        needs_words=True,
        discreet=True,
    ),
    Subcommand(
        "mcp add-json",
        "write a server that is given as JSON, as other harnesses write it",
        "caliban.commands.mcp.change:add_json",
        flags=(
            flag("name", metavar="NAME", help="letters, digits, - and _"),
            flag(
                "text", metavar="JSON", type=words, help='such as \'{"command": "npx", "args": ["-y", "x"]}\''
            ),
            *_NEW,
        ),
        usage="NAME JSON",
        description="Write an MCP server into settings from the JSON of one entry, without its name.",
        needs_words=True,
        discreet=True,
    ),
    Subcommand(
        "mcp remove",
        "take a server out of settings",
        "caliban.commands.mcp.change:remove",
        flags=(
            _NAME,
            _scope("default: the only one that has it"),
            WORKSPACE,
        ),
        usage="NAME",
        description="Take an MCP server out of the file that has it.",
        needs_words=True,
    ),
    Subcommand(
        "mcp enable",
        "switch a server on again",
        "caliban.commands.mcp.change:enable",
        flags=(
            _NAME,
            _scope("default: the only one that has it"),
            WORKSPACE,
        ),
        usage="NAME",
        description="Let runs use a server that was disabled.",
        needs_words=True,
    ),
    Subcommand(
        "mcp disable",
        "keep a server in settings and start it no more",
        "caliban.commands.mcp.change:disable",
        flags=(
            _NAME,
            _scope("where to say so (default: where it is written; local disables one of a project for you)"),
            WORKSPACE,
        ),
        usage="NAME",
        description="Let no run use a server; its entry stays.",
        needs_words=True,
    ),
    Subcommand(
        "mcp import",
        "servers of another program",
        "caliban.commands.mcp.importing:import_servers",
        flags=(
            flag("source", metavar="SOURCE", help=f"{', '.join(SOURCES)}, or a file of one of them"),
            flag("names", metavar="NAME", nargs="*", help="those to take (default: all)"),
            switch("--dry-run", help="print what would be written"),
            *_NEW,
        ),
        usage="SOURCE [NAME …]",
        description="Take MCP servers over from Claude Code, Claude Desktop, Codex or VS Code. What is there "
        "stays as it is.",
        needs_words=True,
    ),
    Subcommand(
        "mcp review",
        "what servers say of their tools that nobody has looked at yet, and your word for it",
        "caliban.commands.mcp.review:review",
        flags=(
            _SERVER,
            *_PLACE,
            switch("--yes", help="do not ask; --digest must say what was looked at"),
            flag(
                "--digest",
                metavar="PREFIX",
                help="the first 12 digits or more of the digest that was printed",
            ),
            switch("--forget", help="forget what was let in: the server's next list is taken as its first"),
            JSON_LINES,
        ),
        usage="[NAME]",
        description="Show tools that are new, or say something else than before, with the difference and "
        "what a reader would not see, and ask whether they may be offered. Exit: 1 when something waits "
        "still.",
    ),
    Subcommand(
        "mcp doctor",
        "connect to servers, list what they have, and say in words what is wrong",
        "caliban.commands.mcp.doctor:doctor",
        flags=(_SERVER, *_PLACE, JSON_LINES),
        usage="[NAME]",
        description="Connect to each server that a run would use, side by side, and show what it has and "
        "what is wrong with it: its own words too. Exit: 1 when one fails.",
    ),
    Subcommand(
        "mcp login",
        "log in to a server by OAuth, in the browser",
        "caliban.commands.mcp.login:login",
        flags=(
            _NAME,
            *_PLACE,
            switch("--no-browser", help="show the address only; where it ends can be pasted here"),
            flag(
                "--mcp-oauth-port",
                type=whole,
                metavar="PORT",
                help="wait for the browser at this port of this machine (default: any that is free)",
            ),
        ),
        usage="NAME",
        description="Log in to an MCP server that has a URL. The login is kept in the keyring of the system, "
        "or in a file that only you may read, and renewed by runs. Exit: 1 when it did not come about.",
        needs_words=True,
    ),
    Subcommand(
        "mcp logout",
        "forget the login to a server",
        "caliban.commands.mcp.login:logout",
        flags=(_NAME,),
        usage="NAME",
        description="Forget the login to an MCP server; that there was none is no error.",
        needs_words=True,
    ),
)

MCP: Final = Subcommand(
    "mcp",
    "MCP servers, whose tools a run has beside its own",
    "caliban.commands.mcp.list:list_servers",
    flags=(
        verb_row(_VERBS, "list"),
        *_PLACE,
        JSON_LINES,
    ),
    usage="[VERB …]",
    description="MCP servers stand in settings under [mcp_servers.NAME], and in the .mcp.json of a project, "
    "which counts once you have trusted it. caliban mcp add writes one, caliban mcp doctor tries them.",
    verbs=_VERBS,
)
