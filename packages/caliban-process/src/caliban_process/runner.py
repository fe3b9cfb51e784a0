"""The one value that starts programs: tools, searches and programs for keys are given the same one."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace

from caliban_process.command import Command, Completed
from caliban_process.errors import NotStarted
from caliban_process.watchdog import Watchdog
from caliban_process.wrap import Wrapper

if TYPE_CHECKING:
    from caliban_process.process import Process

_IS_POSIX = os.name == "posix"


class Runner:
    """Starts programs through one wrapper, under one watchdog. Make one per host process.

    However a call ends, nothing that it has started is left, but for daemons: those of marked programs end
    with the host, even where it is killed.
    """

    def __init__(self, wrapper: Wrapper | None = None) -> None:
        self._wrapper = wrapper
        self._id = os.urandom(8).hex()
        self._numbers = count(1)
        self._watchdog = Watchdog(f"={self._id}-")

    async def run(self, command: Command) -> Completed:
        """Run a program to its end and keep what it prints, within the limits of `command`.

        Raises `NotStarted`, and `OutputTooLarge` where the limit refuses more.
        """
        command = self._prepared(command)
        if not _IS_POSIX:
            from caliban_process import windows

            return await windows.run(command)
        from caliban_process.run import run

        return await run(command, self._watchdog)

    async def feed(self, command: Command, take: Callable[[bytes], bool]) -> Completed:
        """Run a program and hand each piece of its output to `take`, until that returns False.

        Its `Completed.stdout` is empty. Raises as `run` does; only the standard error is bounded.
        """
        command = self._prepared(command)
        if not _IS_POSIX:
            from caliban_process import windows

            return await windows.feed(command, take)
        from caliban_process.run import feed

        return await feed(command, self._watchdog, take)

    def start(self, command: Command) -> AbstractAsyncContextManager[Process]:
        """A program to talk with, for the length of an `async with` block; POSIX only.

        At the end of the block it is closed in order, with all that it has started. The time limit of
        `command` is not looked at. Raises `NotStarted`.
        """
        if not _IS_POSIX:
            raise NotStarted(command.argv[0], "talking with a program needs a POSIX system")
        from caliban_process.process import opened

        return opened(self._prepared(command), self._watchdog)

    def _prepared(self, command: Command) -> Command:
        if command.marker is not None:
            text = f"{self._id}-{next(self._numbers)}."
            command = replace(command, env={**command.env, command.marker: text})
        return command if self._wrapper is None else self._wrapper.wrap(command)
