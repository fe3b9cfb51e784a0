"""`--version` and `--help`: answered before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Sequence

from caliban.stdio import print_text, write_out

HELP = frozenset(("-h", "--help"))


def about(flags: Sequence[str]) -> int | None:
    """Say what was asked for; the exit code, or `None` where a command has a help of its own.

    Where version and help were both asked for, help it is. The version needs no table of commands unless a
    word stands in front.
    """
    wants_help = flags == ["help"] or not HELP.isdisjoint(flags)
    if not wants_help and flags[0].startswith("-"):
        return _version()
    from caliban.cli.commands import find_command

    if flags != ["help"] and find_command(flags) is not None:
        return None
    if not wants_help:
        return _version()
    from caliban.cli.help import full_help, short_help

    in_short = flags != ["help"] and "--help" not in flags
    return write_out((short_help() if in_short else full_help()).encode("utf-8"))


def _version() -> int:
    from caliban.version import version_line

    return print_text(f"{version_line()}\n")
