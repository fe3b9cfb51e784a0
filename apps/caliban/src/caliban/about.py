"""`--version` and `--help`: answered before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Sequence

from caliban.stdio import write_out


def about(arguments: Sequence[str]) -> int:
    """Say what was asked for; the exit code. Where both were, help it is."""
    if {"-h", "--help", "help"}.intersection(arguments):
        from caliban.cli.help import build_parser

        text = build_parser().format_help()
    else:
        from caliban.version import version_line

        text = f"{version_line()}\n"
    return write_out(text.encode("utf-8"))
