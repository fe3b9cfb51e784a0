"""`--version` and `--help`: answered before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Sequence

from caliban.stdio import write_out


def about(flags: Sequence[str]) -> int | None:
    """Say what was asked for; the exit code, or `None` where a command has a help of its own.

    Where version and help were both asked for, help it is.
    """
    if _is_for_command(flags):
        return None
    if {"-h", "--help", "help"}.intersection(flags):
        from caliban.cli.help import build_parser

        text = build_parser().format_help()
    else:
        from caliban.version import version_line

        text = f"{version_line()}\n"
    return write_out(text.encode("utf-8"))


def _is_for_command(flags: Sequence[str]) -> bool:
    """Whether a command is called. A flag in front settles it: the version needs no table."""
    if flags[0].startswith("-") and not flags[0].startswith("--config"):
        return False
    from caliban.cli.commands import find_command

    return find_command(flags) is not None
