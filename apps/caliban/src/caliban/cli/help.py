"""The parser itself and the text of `--help`: nothing here imports more than argparse."""

from __future__ import annotations

import argparse
from typing import NoReturn

from caliban.cli.groups import GROUPS

DESCRIPTION = "Run any language model in a loop with tools, under your control."
EPILOG = """\
commands:
  caliban perms test TOOL [JSON]     what the permission rules say to a call (exit 0 allow, 1 deny, 2 ask)
  caliban perms explain TOOL [JSON]  the same, with the reasons

exit codes:
  0 success   1 run-time error   2 answer does not fit its schema, or was refused   64 usage
  66 missing session or input   75 turn limit   78 configuration   124 cancelled   130 second Ctrl-C
  141 the reader of standard output went away

examples:
  caliban -p "What does this project do?"
  git diff | caliban -p - "Review these changes."
  caliban --provider local -p "Name three colours."
"""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours to print."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        from caliban.errors import UsageError

        raise UsageError(message, hint="caliban --help lists the flags")


def build_parser() -> Parser:
    """The parser of `caliban [FLAGS] [PROMPT]`."""
    parser = Parser(
        prog="caliban",
        usage="caliban [FLAGS] [PROMPT]\n       caliban COMMAND …",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
        add_help=False,
    )
    for group in GROUPS:
        section = parser.add_argument_group(group.title)
        for flag in group.flags:
            section.add_argument(*flag.names, **flag.how)
    return parser
