"""The one door through which every child process goes before it is started: the place for a sandbox."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from caliban_process.command import Command


class Wrapper(Protocol):
    """Puts something around every program that a `Runner` starts."""

    def wrap(self, command: Command) -> Command | AbstractAsyncContextManager[Command]:
        """The command to start in its stead: other arguments, directory or environment.

        What it is given is complete, the marker included. A context is open for as long as the program runs:
        for what has to be ready before and is put away behind it. Raises `ProcessError` to refuse it.
        """
