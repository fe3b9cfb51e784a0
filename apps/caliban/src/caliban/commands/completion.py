"""`caliban completion`: what a shell needs to complete words after `caliban`."""

from __future__ import annotations

from caliban.cli.completion import SCRIPTS
from caliban.cli.invocation import Invocation
from caliban.stdio import write_out


def completion(invocation: Invocation) -> int:
    """Write the script of a shell."""
    return write_out(SCRIPTS[invocation.values["shell"]]().encode())
