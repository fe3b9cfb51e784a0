"""Running a program to its end, its time limit or its cancellation.

What ends a call is the end of the program, never the end of its pipes: a process that outlives it and holds
them gets a moment to finish writing and is then stopped.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio
from msgspec.structs import replace

from caliban_process.command import Command, Completed, EndReason
from caliban_process.errors import NotStarted, OutputTooLarge
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
    async with opened(command, watchdog, attended=True) as process:
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
    has_enough = False

    def receive(chunk: bytes) -> None:
        nonlocal has_enough
        has_enough = has_enough or not take(chunk)

    def is_enough() -> bool:
        return has_enough or process.is_stderr_refused

    process.take_stdout(receive)
    if command.stdin is not None:
        process.give_input(command.stdin)
    await process.until(lambda: process.exit_noticed or is_enough())
    with anyio.move_on_after(PIPE_GRACE_S):
        await process.until(lambda: (process.is_stdout_over and process.is_stderr_over) or is_enough())
    return "enough" if is_enough() else "exited"
