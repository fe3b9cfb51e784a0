"""One running program: its input, its output, and the end of it and of all that it has started."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic

import anyio
from anyio.abc import TaskGroup
from msgspec import Struct

from caliban_process.child import POLL_S, Child, spawn
from caliban_process.command import Command
from caliban_process.errors import InputClosed
from caliban_process.output import Capture, CapturedOutput
from caliban_process.tree import IS_LINUX, Entry, Traces, family, is_marked, limit_processes, signal_all
from caliban_process.watchdog import Watchdog

KILL_WAIT_S = 2.0
LOOK_S = 0.025
"""So long a look at orphans serves all programs that run: each of several servers would look by itself."""


class Process:
    """A program under way. One task sends, one receives; its standard error is kept as it comes.

    `exit_code` is there once it has been closed, negative for a signal; `stopped` counts the processes beside
    it that had to be stopped. `before` are the orphans that were there when it was started.
    """

    def __init__(self, child: Child, command: Command, watchdog: Watchdog, before: frozenset[int]) -> None:
        self._child = child
        self._command = command
        self._watchdog = watchdog
        self._before = before
        self._is_monitor = command.monitor is not None
        self._stderr = Capture(command.output)
        self._stderr_done = anyio.Event()
        self._has_exited = False
        self._is_stopped = False
        self._handed_over: set[int] = set()
        self.exit_code: int | None = None
        self.stopped: int = 0

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def stderr(self) -> CapturedOutput:
        return self._stderr.output

    async def send(self, data: bytes) -> None:
        """Write to its standard input. Raises `InputClosed`."""
        if not await self._child.stdin.write(data):
            raise InputClosed(f"{self._command.argv[0]} reads no input any more")

    def send_now(self, data: bytes) -> bytes:
        """Write what its standard input takes without waiting; the rest. Raises `InputClosed`."""
        try:
            return data[self._child.stdin.write_now(data) :]
        except OSError as error:
            raise InputClosed(f"{self._command.argv[0]} reads no input any more") from error

    def end_input(self) -> None:
        """Close its standard input."""
        self._child.stdin.close()

    async def receive(self) -> bytes:
        """The next bytes of its standard output; empty once nobody can write to it any more."""
        return await self._child.stdout.read()

    def receive_rest(self, take: Callable[[bytes], object]) -> None:
        """Hand on what still lies in the pipe of its standard output."""
        self._child.stdout.read_rest(take)

    @property
    def has_exited(self) -> bool:
        """Whether it has ended by now."""
        return self._has_exited or self._child.has_exited

    async def exited(self) -> None:
        """Wait until it has ended; whoever still holds its pipes does not matter."""
        await self._child.exited()
        self._has_exited = True

    async def stderr_done(self) -> bool:
        """Wait for the end of its standard error; False where it held more than may be."""
        await self._stderr_done.wait()
        return not self._stderr.is_refused

    async def stop(self, grace_s: float | None = None) -> None:
        """End it and all that it has started: SIGTERM, SIGKILL after `grace_s`, or that of its command.

        If it has ended by itself, what it left in its session is stopped. A process that moved to a session
        of its own is then a daemon that was wanted: the watchdog ends it with us.
        """
        if self._is_stopped:
            return
        traces = None
        if not self._has_exited or self._is_monitor:
            traces = Traces(marker=_marker(self._command), pipes=self._child.pipe_names())

        def find() -> tuple[int, ...]:
            leaders = () if self._watchdog.orphans is None else self._watchdog.orphans.own
            return (*family(self.pid, traces, leaders), *(() if traces is None else self._hidden()))

        others = find()
        if not (self._is_monitor and self._has_exited):  # those that its end takes along do not count
            self.stopped += len(others)
        if others or not self._has_exited or not IS_LINUX:
            stopping = Stopping(
                others=others,
                find=find,
                grace_s=self._command.grace_s if grace_s is None else grace_s,
                spares=self._is_monitor,
            )
            await _stop(self._child, stopping)
        self._is_stopped = True

    @property
    def may_leave_orphans(self) -> bool:
        """Whether somebody looks for what it leaves behind."""
        return self._watchdog.orphans is not None and self._command.marker is not None

    async def watch_orphans(self) -> None:
        """Tell the watchdog of what leaves the program while it runs, as soon as it is seen."""
        orphans = self._watchdog.orphans
        if orphans is not None:
            await orphans.lookout.watch(lambda: self._hand_over(LOOK_S))

    def _hand_over(self, max_age_s: float = 0) -> None:
        for orphan in self._orphans(max_age_s):
            if orphan.pid not in self._before and orphan.pid not in self._handed_over:
                self._handed_over.add(orphan.pid)
                self._watchdog.add_orphan(orphan.group)

    def _orphans(self, max_age_s: float = 0) -> tuple[Entry, ...]:
        orphans = self._watchdog.orphans
        return () if orphans is None or self._command.marker is None else orphans.look(max_age_s)

    def _hidden(self) -> tuple[int, ...]:
        """What it has left behind without a trace, with all that this has started."""
        name = self._command.marker or ""
        new = [orphan.pid for orphan in self._orphans() if orphan.pid not in self._before]
        return tuple(pid for one in new if not is_marked(one, name) for pid in (one, *family(one, None)))

    async def aclose(self) -> None:
        """Let it end in order: its input is closed, then SIGTERM, then SIGKILL, each `grace_s` later."""
        if self._child.stdin.is_open:
            self.end_input()
            with anyio.move_on_after(self._command.grace_s):
                await self.exited()
        await self.stop()

    async def collect_stderr(self) -> None:
        """Keep reading its standard error, which would block it otherwise."""
        while chunk := await self._child.stderr.read():
            if not self._stderr.feed(chunk):
                self._stderr_done.set()
        self._stderr_done.set()

    async def finish(self) -> None:
        """Stop and reap it, and give its pipes back; whatever came before."""
        try:
            await self.stop()
            self._hand_over()
            if not self.has_exited:
                with anyio.move_on_after(KILL_WAIT_S):  # what hangs in the kernel, nobody can end
                    await self._child.exited()
            self.exit_code = self._child.reap()
            if self._is_monitor and self._watchdog.orphans is not None:
                self._watchdog.orphans.bury()
            self._child.stderr.read_rest(self._stderr.feed)
        finally:
            self._child.close()


@asynccontextmanager
async def opened(
    command: Command, watchdog: Watchdog, tasks: TaskGroup | None = None
) -> AsyncIterator[Process]:
    """Start a program and end it, with all that it has started, however the block ends.

    Left in peace it is closed in order; on an error or a cancellation it is stopped. What reads and watches
    it beside the block runs in `tasks`, where there are some: they end with the block or soon after it, and
    whoever has them cancels them. Raises `NotStarted`.
    """
    before = frozenset(orphan.pid for orphan in watchdog.orphans.look()) if watchdog.orphans else frozenset()
    if command.marker is not None:
        watchdog.prepare()
    process = Process(spawn(command), command, watchdog, before)
    try:
        watchdog.add(process.pid, marked=command.marker is not None)
        if command.max_processes is not None:
            limit_processes(process.pid, command.max_processes)
        if tasks is not None:
            _look_after(process, tasks)
            yield process
            await process.aclose()
            return
        async with anyio.create_task_group() as group:
            _look_after(process, group)
            yield process
            await process.aclose()
            group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        # What the block raises arrives wrapped by the task group; hand it on as it was raised.
        if len(errors.exceptions) == 1:
            raise errors.exceptions[0] from None
        raise
    finally:
        with anyio.CancelScope(shield=True):
            await process.finish()
        watchdog.drop(process.pid)


def _look_after(process: Process, tasks: TaskGroup) -> None:
    tasks.start_soon(process.collect_stderr)
    if process.may_leave_orphans:
        tasks.start_soon(process.watch_orphans)


def _marker(command: Command) -> bytes | None:
    """The text in the environments of whatever it starts."""
    if command.marker is None:
        return None
    return f"{command.marker}={command.env.get(command.marker, '')}".encode()


class Stopping(Struct, frozen=True, kw_only=True):
    """How a program is ended: the others with it, who finds those of a later moment, how long it may take.

    With `spares` only the others are asked to end.
    """

    others: tuple[int, ...]
    find: Callable[[], tuple[int, ...]]
    grace_s: float
    spares: bool


async def _stop(child: Child, how: Stopping) -> None:
    """SIGTERM, a moment, then SIGKILL until nothing is left."""
    if how.grace_s > 0:
        signal_all(None if how.spares and how.others else child.pid, how.others, signal.SIGTERM)
        if await _gone(child, how.find, how.grace_s):
            return
    deadline = monotonic() + KILL_WAIT_S
    while monotonic() < deadline:
        signal_all(child.pid, how.find(), signal.SIGKILL)
        if await _gone(child, how.find, 4 * POLL_S):
            return


async def _gone(child: Child, find: Callable[[], tuple[int, ...]], within_s: float) -> bool:
    """Whether the program and its family end within that time."""
    with anyio.move_on_after(within_s):
        await child.exited()
        while find():
            await anyio.sleep(POLL_S)
        return True
    return False
