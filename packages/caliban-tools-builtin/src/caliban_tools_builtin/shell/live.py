"""What a command prints, passed on while it runs: for people only, the model reads its report."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from msgspec.structs import replace

from caliban_process import Command, Completed, ProcessError, Runner
from caliban_process.output import Capture

TELL_S: Final = 0.2
KEPT_BYTES: Final = 4096
"""Of what came since it was told last, the end."""


class LiveOutput:
    """Keeps a stream as `capture` does, and has its new whole lines for whoever watches."""

    def __init__(self, capture: Capture) -> None:
        self._capture = capture
        self._new = b""

    def feed(self, chunk: bytes) -> bool:
        """See `Capture`."""
        self._new = (self._new + chunk)[-KEPT_BYTES:]
        return self._capture.feed(chunk)

    def take(self) -> str:
        """The lines that are whole since the last look."""
        lines, newline, rest = self._new.rpartition(b"\n")
        if newline:
            self._new = rest
        return (lines + newline).decode("utf-8", "replace")


async def followed(runner: Runner, command: Command, tell: Callable[[str], Awaitable[None]]) -> Completed:
    """Run `command` as `runner.run` does; `tell` is given what it prints meanwhile, a few times a second."""
    capture = Capture(command.output)
    live = LiveOutput(capture)

    async def watch() -> None:
        while True:
            await anyio.sleep(TELL_S)
            text = live.take()
            if text:
                await tell(text)

    outcome: Completed | ProcessError
    async with anyio.create_task_group() as group:
        group.start_soon(watch)
        try:
            outcome = await runner.feed(command, live.feed)
        except ProcessError as error:  # a task group would wrap it
            outcome = error
        group.cancel_scope.cancel()
    if isinstance(outcome, ProcessError):
        raise outcome
    return replace(outcome, stdout=capture.output)
