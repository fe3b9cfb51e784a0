"""`caliban completion`: what a shell needs to complete words after `caliban`."""

from __future__ import annotations

from caliban.cli.completion import SCRIPTS
from caliban.cli.invocation import Invocation
from caliban.stdio import print_text


def completion(invocation: Invocation) -> int:
    """Write the script of a shell."""
    return print_text(SCRIPTS[invocation.values["shell"]]())
