"""Running a program to its end, its time limit or its cancellation.

What ends a call is the end of the program, never the end of its pipes: a process that outlives it and holds
them gets a moment to finish writing and is then stopped.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
from msgspec.structs import replace

from caliban_process.command import Command, Completed, EndReason
from caliban_process.errors import InputClosed, NotStarted, OutputTooLarge
from caliban_process.output import Capture, CapturedOutput
from caliban_process.process import Process, opened
from caliban_process.watchdog import Watchdog

PIPE_GRACE_S = 0.4
"""How long pipes are read on after the program has ended."""


async def run(command: Command, watchdog: Watchdog) -> Completed:
    """Run a program and keep what it prints. Raises `NotStarted` and `OutputTooLarge`."""
    stdout = Capture(command.output)
    completed = await feed(command, watchdog, stdout.feed)
    if stdout.is_refused:
        raise too_large(command)
    return replace(completed, stdout=stdout.output)


async def feed(
    command: Command,
    watchdog: Watchdog,
    take: Callable[[bytes], bool],
    started: Callable[[], None] = lambda: None,
) -> Completed:
    """Run a program and hand each piece of its output to `take`, until that returns False.

    `started` is called as soon as it runs.
    Raises `NotStarted`, also where a monitor could not start it, and `OutputTooLarge` for its standard error.
    """
    reason: EndReason = "timeout"
    async with opened(command, watchdog) as process:
        started()
        with anyio.move_on_after(command.timeout_s):
            reason = await _to_end(process, command, take)
        await process.stop()
        if reason != "enough":
            process.receive_rest(take)
    if reason == "exited" and process.exit_code == 1:
        _refuse_monitor(command, process.stderr.kept)
    if command.output.refuse and process.stderr.omitted_bytes:
        raise too_large(command)
    return Completed(
        reason=reason,
        exit_code=process.exit_code if reason == "exited" else None,
        stdout=CapturedOutput(),
        stderr=process.stderr,
        stopped=process.stopped,
    )


def _refuse_monitor(command: Command, stderr: bytes) -> None:
    """Raise `NotStarted` where the monitor of the program has failed, and not the program."""
    if command.monitor is not None and stderr.startswith(command.monitor.encode()):
        words = stderr.decode("utf-8", "replace").splitlines()[0]
        raise NotStarted(command.argv[0], words.removeprefix(command.monitor))


def too_large(command: Command) -> OutputTooLarge:
    """Says how much was too much."""
    limit = command.output
    return OutputTooLarge(
        f"{command.argv[0]} printed more than {limit.head_bytes + limit.tail_bytes:,} bytes"
    )


async def _to_end(process: Process, command: Command, take: Callable[[bytes], bool]) -> EndReason:
    """Serve its pipes until it has ended, and for a moment longer if they are still open."""
    reason: EndReason = "exited"

    def enough() -> None:
        nonlocal reason
        reason = "enough"
        group.cancel_scope.cancel()

    async def receive() -> None:
        while chunk := await process.receive():
            if not take(chunk):
                enough()
                return

    async def watch_stderr() -> None:
        if not await process.stderr_done():
            enough()

    async def send(data: bytes) -> None:
        try:
            await process.send(data)
        except InputClosed:
            return  # it has all that it wanted
        process.end_input()

    try:
        async with anyio.create_task_group() as group:
            group.start_soon(receive)
            group.start_soon(watch_stderr)
            if command.stdin is not None:
                group.start_soon(send, command.stdin)
            await process.exited()
            group.cancel_scope.deadline = anyio.current_time() + PIPE_GRACE_S
    except BaseExceptionGroup as errors:
        # What `take` raises arrives wrapped by the task group; hand it on as it was raised.
        if len(errors.exceptions) == 1:
            raise errors.exceptions[0] from None
        raise
    return reason
