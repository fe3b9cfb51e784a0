"""The one door through which every child process goes before it is started: the place for a sandbox."""

from __future__ import annotations

from typing import Protocol

from caliban_process.command import Command


class Wrapper(Protocol):
    """Puts something around every program that a `Runner` starts."""

    def wrap(self, command: Command) -> Command:
        """The command to start in its stead: other arguments, directory or environment.

        What it is given is complete, the marker included. Raises `ProcessError` to refuse it.
        """
