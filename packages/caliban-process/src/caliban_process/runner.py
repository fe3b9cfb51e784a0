"""The one value that starts programs: tools, searches and programs for keys are given the same one."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from copy import copy
from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace

from caliban_process.command import Command, Completed
from caliban_process.errors import NotStarted
from caliban_process.watchdog import Watchdog
from caliban_process.wrap import Nested, Wrapper, opened_wrapper

if TYPE_CHECKING:
    from caliban_process.process import Process

_IS_POSIX = os.name == "posix"


class Runner:
    """Starts programs through one wrapper, under one watchdog. Make one per host process.

    However a call ends, nothing that it has started is left, but for daemons: those of marked programs end
    with the host, even where it is killed. `prepare` is called once, before the first program starts. With
    `adopts` this process becomes the parent of what programs leave behind, so that nothing hides from it: for
    a host whose every program is started here (Linux).
    """

    def __init__(
        self,
        wrapper: Wrapper | None = None,
        *,
        prepare: Callable[[], None] | None = None,
        adopts: bool = False,
    ) -> None:
        self._wrapper = wrapper
        self._prepare = [prepare] if prepare is not None else []
        self._id = os.urandom(8).hex()
        self._numbers = count(1)
        self._watchdog = Watchdog(f"={self._id}-")
        self._adopts = adopts

    def within(self, wrapper: Wrapper) -> Runner:
        """The same runner, whose commands go through `wrapper` before they go through its own."""
        other = copy(self)
        other._wrapper = wrapper if self._wrapper is None else Nested(outer=self._wrapper, inner=wrapper)
        return other

    async def run(self, command: Command) -> Completed:
        """Run a program to its end and keep what it prints, within the limits of `command`.

        Raises `NotStarted`, and `OutputTooLarge` where the limit refuses more.
        """
        async with self._wrapped(command) as wrapped:
            if not _IS_POSIX:
                from caliban_process import windows

                return await windows.run(wrapped)
            from caliban_process.run import run

            return await run(wrapped, self._watchdog)

    async def feed(
        self, command: Command, take: Callable[[bytes], bool], *, started: Callable[[], None] = lambda: None
    ) -> Completed:
        """Run a program and hand each piece of its output to `take`, until that returns False.

        `started` is called as soon as it runs. `Completed.stdout` is empty. Raises as `run` does; only the
        standard error is bounded.
        """
        async with self._wrapped(command) as wrapped:
            if not _IS_POSIX:
                from caliban_process import windows

                started()
                return await windows.feed(wrapped, take)
            from caliban_process.run import feed

            return await feed(wrapped, self._watchdog, take, started)

    @asynccontextmanager
    async def start(self, command: Command, *, attended: bool = False) -> AsyncIterator[Process]:
        """A program to talk with, for the length of an `async with` block; POSIX only.

        At the end of the block it is closed in order, with all that it has started. The time limit of
        `command` is not looked at. A task beside the block notices what happens to the program, unless that
        is `attended`: then something of the caller's waits in `Process.until`. Raises `NotStarted`.
        """
        if not _IS_POSIX:
            raise NotStarted(command.argv[0], "talking with a program needs a POSIX system")
        from caliban_process.process import opened

        async with (
            self._wrapped(command) as wrapped,
            opened(wrapped, self._watchdog, attended=attended) as process,
        ):
            yield process

    def _wrapped(self, command: Command) -> AbstractAsyncContextManager[Command]:
        prepared = self._prepared(command)
        return nullcontext(prepared) if self._wrapper is None else opened_wrapper(self._wrapper, prepared)

    def _prepared(self, command: Command) -> Command:
        if self._adopts and self._watchdog.orphans is None:
            from caliban_process.orphans import Orphans

            self._watchdog.orphans = Orphans()
        while self._prepare:
            self._prepare[-1]()  # taken away only once it is done: nothing starts unprepared
            self._prepare.pop()
        if command.marker is not None:
            text = f"{self._id}-{next(self._numbers)}."
            command = replace(command, env={**command.env, command.marker: text})
        return command
