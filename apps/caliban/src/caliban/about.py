"""`--version` and `--help`: answered before anything heavy is imported."""

from __future__ import annotations

import os
from collections.abc import Sequence


def about(arguments: Sequence[str]) -> int:
    """Say what was asked for; the exit code. Where both were, help it is."""
    if "-h" in arguments or "--help" in arguments:
        from caliban.cli.help import build_parser

        text = build_parser().format_help()
    else:
        from caliban.version import version_line

        text = f"{version_line()}\n"
    view = memoryview(text.encode("utf-8"))
    try:
        while view:
            view = view[os.write(1, view) :]
    except OSError:
        return 141
    return 0
