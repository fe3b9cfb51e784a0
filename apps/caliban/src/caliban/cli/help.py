"""The parser itself and the text of `--help`: nothing here imports more than argparse."""

from __future__ import annotations

import argparse
from typing import NoReturn

from caliban.cli.groups import GROUPS

DESCRIPTION = "Run any language model in a loop with tools, under your control."
EPILOG = """\
commands:
  caliban models [--provider NAME]   what a provider offers
  caliban login [PROVIDER]           keep an API key (caliban logout forgets it)
  caliban status                     which provider and model a run would use, and where its key comes from
  caliban doctor [--deep]            whether what a run needs is there (exit 1 when it is not)
  caliban perms test TOOL [JSON]     what the permission rules say to a call (exit 0 allow, 1 deny, 2 ask)
  caliban perms explain TOOL [JSON]  the same, with the reasons
  caliban router debug               which models a request would go to, in which order

environment:
  ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL   the key and the server of the provider anthropic
  CALIBAN_PROVIDER                        the provider, whatever --provider says
  CALIBAN_ROUTER_CONFIG                   the same as --config
  CALIBAN_DEFAULT_PERMISSION_MODE         the same as --permission-mode
  CALIBAN_NO_PERMISSIONS, CALIBAN_AUTO_ALLOW, CALIBAN_DISABLE_AUTO_MODE, CALIBAN_NO_PROMPT_CACHE,
  CALIBAN_NO_PARALLEL_TOOLS               1 is the same as the flag, 0 is not
  CALIBAN_PARALLEL_TOOL_LIMIT, CALIBAN_MAX_ATTACH_BYTES, CALIBAN_ATTACH_BUDGET_BYTES
  CALIBAN_DEBUG                           1 shows where a fault happened

exit codes:
  0 success   1 run-time error   2 answer does not fit its schema, or was refused   64 usage
  66 missing session or input   75 turn limit   78 configuration   124 cancelled   130 second Ctrl-C
  141 the reader of standard output went away

examples:
  caliban -p "What does this project do?"
  git diff | caliban -p - "Review these changes."
  caliban --provider local -p "Name three colours."
"""


UNRECOGNISED = "unrecognized arguments: "


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours to print."""

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError`."""
        from caliban.errors import UsageError

        raise UsageError(message, hint=f"{self._advice(message)}{self.prog} --help lists the flags")

    def _advice(self, message: str) -> str:
        """What was probably meant by arguments that mean nothing."""
        extra = message.removeprefix(UNRECOGNISED)
        if extra == message:
            return ""
        word = extra.split(" ")[0].split("=")[0]
        if word.startswith("--"):
            from difflib import get_close_matches

            close = get_close_matches(word, self._option_string_actions, 1)
            return f"did you mean {close[0]}? " if close else ""
        if word.startswith("-"):
            return "a prompt that begins with a dash stands after --; "
        return "a prompt of several words stands in quotes; "


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
