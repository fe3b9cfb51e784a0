"""`caliban completion`: the completion script of a shell."""

from __future__ import annotations

from caliban.cli.completion import SCRIPTS
from caliban.cli.invocation import Invocation
from caliban.stdio import print_text


def completion(invocation: Invocation) -> int:
    """Write the script of a shell."""
    return print_text(SCRIPTS[invocation.values["shell"]]())
