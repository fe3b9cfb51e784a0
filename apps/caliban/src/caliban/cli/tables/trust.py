"""The rows of `caliban trust` and its verbs."""

from __future__ import annotations

from typing import Final

from caliban.cli.flag import flag, switch
from caliban.cli.subcommand import Subcommand
from caliban.cli.tables.rows import JSON_LINES, JSON_OBJECT, verb_row

MIN_DIGITS: Final = 12
"""How many digits of a digest identify it."""

_DIR: Final = flag("directory", metavar="DIR", nargs="?", help="the project (default: here)")

_VERBS: Final = (
    Subcommand(
        "trust list",
        "the projects that are trusted, since when, and whether they are still as they were",
        "caliban.commands.trust:list_trusted",
        flags=(JSON_LINES,),
        description="List the projects that you trust. Each is current, changed (nothing of it counts until "
        "you trust it again), gone, or unreadable.",
    ),
    Subcommand(
        "trust show",
        "what a project supplies that counts with trust only, and the digest of all of it",
        "caliban.commands.trust:show",
        flags=(_DIR, JSON_OBJECT),
        usage="[DIR]",
        description="Show everything in a project that grants, steers or names programs, and its digest. "
        "Nothing is run, asked or written.",
    ),
    Subcommand(
        "trust add",
        "look at what a project supplies, and trust exactly that",
        "caliban.commands.trust:add",
        flags=(
            _DIR,
            switch("--yes", help="do not ask; --digest must say what was looked at"),
            flag(
                "--digest",
                metavar="PREFIX",
                help=f"the first {MIN_DIGITS} digits or more of the digest that caliban trust show printed",
            ),
        ),
        usage="[DIR]",
        description="Show everything in a project that grants, steers or names programs, and ask whether it "
        "may count. The consent is for just that: any change asks again. Exit: 1 when it is not trusted.",
    ),
    Subcommand(
        "trust revoke",
        "trust a project no more",
        "caliban.commands.trust:revoke",
        flags=(_DIR, switch("--all", help="all projects; also where the file of consents is damaged")),
        usage="[DIR | --all]",
        description="Forget that a project is trusted. Exit: 1 when it was not.",
    ),
)

TRUST: Final = Subcommand(
    "trust",
    "what repositories supply, and your consent to exactly that",
    "caliban.commands.trust:list_trusted",
    flags=(
        verb_row(_VERBS, "list"),
        JSON_LINES,
    ),
    usage="[VERB …]",
    description="Trust in projects. What a repository supplies that grants, steers or names programs does "
    "nothing before you have trusted exactly that.",
    verbs=_VERBS,
)
