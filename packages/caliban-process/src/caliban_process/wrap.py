"""The one door through which every child process goes before it is started: the place for a sandbox."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Protocol

from caliban_process.command import Command


class Wrapper(Protocol):
    """Puts something around every program that a `Runner` starts."""

    def wrap(self, command: Command) -> Command | AbstractAsyncContextManager[Command]:
        """The command to start in its stead: other arguments, directory or environment.

        What it is given is complete, the marker included. A context is open for as long as the program runs:
        for what has to be ready before and is put away behind it. Raises `ProcessError` to refuse it.
        """


class Nested:
    """Two wrappers, one in the other: a command goes through `inner` first."""

    def __init__(self, *, outer: Wrapper, inner: Wrapper) -> None:
        self._outer = outer
        self._inner = inner

    @asynccontextmanager
    async def wrap(self, command: Command) -> AsyncIterator[Command]:
        """See `Wrapper`."""
        async with opened_wrapper(self._inner, command) as half, opened_wrapper(self._outer, half) as whole:
            yield whole


def opened_wrapper(wrapper: Wrapper, command: Command) -> AbstractAsyncContextManager[Command]:
    """What `wrapper` makes of `command`, for as long as it runs. Raises `ProcessError` where it refuses."""
    wrapped = wrapper.wrap(command)
    return nullcontext(wrapped) if isinstance(wrapped, Command) else wrapped
