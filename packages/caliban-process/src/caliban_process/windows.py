"""Commands where pipes cannot be waited for (Windows): a thread runs each and takes its output as a whole.

Only the program itself can be ended there, not what it has started.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from time import monotonic

import anyio
import anyio.lowlevel
import anyio.to_thread
from msgspec.structs import replace

from caliban_process.child import not_started
from caliban_process.command import Command, Completed, EndReason
from caliban_process.errors import NotStarted, OutputTooLarge
from caliban_process.output import Capture, CapturedOutput
from caliban_process.run import too_large

_STEP_S = 0.1


class _Halt:
    """Ends the program when nobody wants its answer any more."""

    def __init__(self) -> None:
        self.is_called = False
        self.process: subprocess.Popen[bytes] | None = None

    async def when_cancelled(self) -> None:
        """Wait to be cancelled, and pass it on to the program and to the thread that waits for it."""
        try:
            await anyio.sleep_forever()
        finally:
            self.is_called = True
            if self.process is not None:
                self.process.kill()


async def run(command: Command) -> Completed:
    """Run a program and keep what it prints; see `caliban_process.run`."""
    stdout = Capture(command.output)
    completed = await feed(command, stdout.feed)
    if stdout.is_refused:
        raise too_large(command)
    return replace(completed, stdout=stdout.output)


async def feed(command: Command, take: Callable[[bytes], bool]) -> Completed:
    """Run a program and hand its output to `take`, on another thread; see `caliban_process.run`."""
    halt = _Halt()
    async with anyio.create_task_group() as group:
        group.start_soon(halt.when_cancelled)
        outcome = await anyio.to_thread.run_sync(_outcome, command, take, halt)
        group.cancel_scope.cancel()
    await anyio.lowlevel.checkpoint_if_cancelled()  # the answer of a program that was ended is none
    if not isinstance(outcome, Completed):
        raise outcome
    return outcome


def _outcome(
    command: Command, take: Callable[[bytes], bool], halt: _Halt
) -> Completed | NotStarted | OutputTooLarge:
    """How it ended, or why it has no end: a task group would wrap what is raised."""
    try:
        process = subprocess.Popen(
            list(command.argv),
            cwd=command.cwd,
            env=dict(command.env),
            stdin=subprocess.DEVNULL if command.stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except (OSError, ValueError) as error:
        return not_started(command.argv[0], error)
    halt.process = process
    with process:
        in_time, stdout, stderr = _communicated(process, command, halt)
    errors = Capture(command.output)
    if not errors.feed(stderr):
        return too_large(command)
    reason: EndReason = "exited" if in_time else "timeout"
    if not take(stdout):
        reason = "enough"
    return Completed(
        reason=reason,
        exit_code=process.returncode if reason == "exited" else None,
        stdout=CapturedOutput(),
        stderr=errors.output,
        stopped=0,
    )


def _communicated(
    process: subprocess.Popen[bytes], command: Command, halt: _Halt
) -> tuple[bool, bytes, bytes]:
    """Whether it ended in time, and both outputs."""
    deadline = None if command.timeout_s is None else monotonic() + command.timeout_s
    in_time, data = True, command.stdin
    while True:
        if halt.is_called or (deadline is not None and monotonic() > deadline):
            in_time = False
            process.kill()
        try:
            return in_time, *process.communicate(data, timeout=_STEP_S)
        except subprocess.TimeoutExpired:
            data = None  # it is on its way
