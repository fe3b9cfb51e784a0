"""The entry point: draws where a person waits, and makes imports quick before it imports anything."""

from __future__ import annotations

import gc
import sys

if getattr(__spec__, "name", "") == "caliban.__main__" == f"caliban.{__name__}" and not sys.flags.safe_path:
    del sys.path[0]  # `python -m` looks for modules in the working directory first: whoever wrote that runs

from caliban.import_cache import import_cache
from caliban.stdio import hold_standard_descriptors

SWITCHES = frozenset(
    (
        *("-c", "--continue", "--all", "--fork-session", "--no-save", "--no-checkpoints", "--no-tools"),
        *("--bare", "--trust-project", "--strict-mcp-config", "--no-system", "--no-prompt-cache"),
        *("--auto-allow", "--no-permissions", "--allow-dangerously-skip-permissions", "--disable-auto-mode"),
    )
)
TAKING = frozenset(
    (
        *(
            "-r",
            "--resume",
            "--session",
            "--provider",
            "--base-url",
            "--model",
            "--fallback-model",
            "--config",
        ),
        *("--max-tokens", "--max-turns", "--max-budget-usd", "--temperature", "--allow", "--deny", "--ask"),
        *("--permission-mode", "--settings", "--setting-sources", "--mcp-config", "--plugin-dir"),
        *("--system", "--system-file"),
    )
)
"""Flags of a run on a terminal, without and with a value: others may lead elsewhere."""


def is_conversation(arguments: list[str]) -> bool:
    """Whether these lead to the terminal interface, where there is a terminal, as far as a look can tell.

    A word is a prompt for certain where no command can be called so: one that has a blank.
    """
    values = 0
    for argument in arguments:
        if values:
            values = 0
        elif argument.startswith("-"):
            name, sign, _ = argument.partition("=")
            if name in TAKING:
                values = not sign
            elif argument not in SWITCHES:
                return False
        elif " " not in argument:
            return False
    return not values


def main() -> None:
    """Run the command line and leave the process with its exit code."""
    gc.disable()  # nothing of what is imported ever becomes garbage; a run that begins turns it on again
    hold_standard_descriptors()  # before any file is opened, or it would get the number of a closed stream
    first = None
    if is_conversation(sys.argv[1:]):
        from caliban_tui.boot import first_frame

        first = first_frame()
    try:
        cache = import_cache()
        if cache is not None:
            cache.install()
        from caliban.entry import enter

        enter(None if cache is None else cache.update, first)
    finally:
        if first is not None:
            first.restore()


if __name__ == "__main__":
    main()
