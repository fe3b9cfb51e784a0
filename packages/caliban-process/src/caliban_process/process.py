"""One running program: its input, its output, and the end of it and of all that it has started."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from time import monotonic

import anyio
from msgspec import Struct

from caliban_process.child import POLL_S, Child, not_started, spawn
from caliban_process.command import Command
from caliban_process.errors import InputClosed
from caliban_process.output import Capture, CapturedOutput
from caliban_process.poller import Poller, current_poller
from caliban_process.pump import Pipe
from caliban_process.tree import IS_LINUX, Entry, Traces, family, is_marked, limit_processes, signal_all
from caliban_process.watchdog import Watchdog

KILL_WAIT_S = 2.0
LOOK_S = 0.025
"""So long a look at orphans serves all programs that run: each of several servers would look by itself."""
START_LOOK_S = 0.005
"""So long it serves those that are started together."""


class Process:
    """A program under way. One task sends, one receives; its standard error is kept as it comes.

    That, its end and what leaves it are noticed while somebody waits for a program, in `until` or `exited`.
    `exit_code` is there once it has been closed, negative for a signal; `stopped` counts the processes beside
    it that had to be stopped.
    """

    def __init__(self, child: Child, command: Command, watchdog: Watchdog, poller: Poller) -> None:
        self._child = child
        self._command = command
        self._watchdog = watchdog
        self._poller = poller
        self._before: frozenset[int] = frozenset()
        self._is_monitor = command.monitor is not None
        self._stderr = Capture(command.output)
        self._take: Callable[[bytes], object] | None = None
        self._input = memoryview(b"")
        self._failure: Exception | None = None
        self._exit_look: _ExitLook | None = None
        self._has_exited = False
        self._is_stopped = False
        self._is_closed = False
        self._handed_over: set[int] = set()
        self.is_stdout_over: bool = False
        self.is_stderr_over: bool = False
        self.exit_code: int | None = None
        self.stopped: int = 0

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def stderr(self) -> CapturedOutput:
        return self._stderr.output

    @property
    def is_stderr_refused(self) -> bool:
        """Whether its standard error held more than may be."""
        return self._stderr.is_refused

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

    def give_input(self, data: bytes) -> None:
        """Write all of its input as it reads it, while somebody waits, and close it. Raises `NotStarted`."""
        self._input = memoryview(data)
        self._write_input()
        if self._child.stdin.is_open:
            self._serve(self._child.stdin, self._write_input, writes=True)

    def end_input(self) -> None:
        """Close its standard input."""
        self._child.stdin.close()

    async def receive(self) -> bytes:
        """The next bytes of its standard output; empty once nobody can write to it any more."""
        return await self._child.stdout.read()

    def receive_rest(self, take: Callable[[bytes], object]) -> None:
        """Hand on what still lies in the pipe of its standard output."""
        self._child.stdout.read_rest(take)

    def take_stdout(self, take: Callable[[bytes], object]) -> None:
        """Hand its standard output to `take` as it comes, instead of to `receive`, while somebody waits.

        What `take` raises is raised by `until`. Raises `NotStarted` where the system serves no more pipes.
        """
        self._take = take
        self._serve(self._child.stdout, self._read_stdout)

    async def until(self, is_over: Callable[[], bool]) -> None:
        """Wait until `is_over`, which may come of what is handed on, or of the end of the program."""
        await self._poller.until(lambda: self._failure is not None or self._is_closed or is_over())
        if self._failure is not None:
            raise self._failure

    @property
    def exit_noticed(self) -> bool:
        """Whether its end was noticed while somebody waited."""
        return self._has_exited

    @property
    def has_exited(self) -> bool:
        """Whether it has ended by now."""
        return self._has_exited or self._child.has_exited

    async def exited(self) -> None:
        """Wait until it has ended; whoever still holds its pipes does not matter."""
        await self._poller.until(lambda: self._has_exited or self._is_closed)

    async def stop(self, grace_s: float | None = None) -> None:
        """End it and all that it has started: SIGTERM, SIGKILL after `grace_s`, or that of its command.

        If it has ended by itself, what it left in its session is stopped. A process that moved to a session
        of its own is then a daemon that was wanted: the watchdog ends it with us.
        """
        stopping = self._stopping(grace_s)
        if stopping is not None:
            await _stop(self, stopping)
        self._is_stopped = True

    def _stopping(self, grace_s: float | None = None) -> Stopping | None:
        """How what is left is ended; `None` where nothing is."""
        if self._is_stopped:
            return None
        traces = None
        if not self._has_exited or self._is_monitor:
            traces = Traces(marker=_marker(self._command), pipes=self._child.pipe_names())

        def find() -> tuple[int, ...]:
            leaders = () if self._watchdog.orphans is None else self._watchdog.orphans.own
            return (*family(self.pid, traces, leaders), *(() if traces is None else self._hidden()))

        others = find()
        if not (self._is_monitor and self._has_exited):  # those that its end takes along do not count
            self.stopped += len(others)
        if not others and self._has_exited and IS_LINUX:
            return None
        return Stopping(
            others=others,
            find=find,
            grace_s=self._command.grace_s if grace_s is None else grace_s,
            spares=self._is_monitor,
        )

    def begin(self, before: frozenset[int]) -> None:
        """Have its standard error, its end and what leaves it noticed, until it is closed.

        `before` are the orphans that were there when it was started. Raises `NotStarted`.
        """
        self._before = before
        child, poller = self._child, self._poller
        self._serve(child.stderr, self._read_stderr)
        if child.handle.is_open:
            self._serve(child.handle, self._note_exit)
        else:
            self._exit_look = _ExitLook(child, self._note_exit, anyio.current_time())
            poller.add_timer(self._exit_look)
        orphans = self._watchdog.orphans
        if orphans is not None and self._command.marker is not None:
            orphans.lookout.add(self._look_at_orphans, anyio.current_time())
            poller.add_timer(orphans.lookout)

    def _serve(self, pipe: Pipe, ready: Callable[[], None], *, writes: bool = False) -> None:
        try:
            pipe.watch(self._poller, ready, writes=writes)
        except OSError as error:
            raise not_started(self._command.argv[0], error) from error

    def _close(self) -> None:
        """Give its pipes back, and have nothing of it noticed any more."""
        self._child.close()
        if self._exit_look is not None:
            self._poller.drop_timer(self._exit_look)
        orphans = self._watchdog.orphans
        if orphans is not None and self._command.marker is not None:
            orphans.lookout.remove(self._look_at_orphans)
        self._is_closed = True
        self._poller.look()

    def _note_exit(self) -> None:
        self._has_exited = True
        self._child.handle.forget()

    def _read_stdout(self) -> None:
        chunk = self._child.stdout.read_now()
        if chunk is None or self._take is None:
            return
        if not chunk:
            self._child.stdout.forget()
            self.is_stdout_over = True
            return
        try:
            self._take(chunk)
        except Exception as error:  # it is the business of whoever waits, and not of who reads for all
            self._failure = error
            self._child.stdout.forget()

    def _read_stderr(self) -> None:
        chunk = self._child.stderr.read_now()
        if chunk:
            self._stderr.feed(chunk)
        elif chunk is not None:
            self._child.stderr.forget()
            self.is_stderr_over = True

    def _write_input(self) -> None:
        try:
            self._input = self._input[self._child.stdin.write_now(self._input) :]
        except OSError:
            self._input = memoryview(b"")  # it has all that it wanted
        if not self._input:
            self._child.stdin.close()

    def _look_at_orphans(self) -> None:
        self._hand_over(LOOK_S)

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

    async def finish(self) -> None:
        """Stop and reap it, and give its pipes back; whatever came before, and whoever cancels it."""
        try:
            stopping = self._stopping()
            if stopping is not None:
                with anyio.CancelScope(shield=True):
                    await _stop(self, stopping)
            self._is_stopped = True
            self._hand_over()
            if not self.has_exited:
                # What hangs in the kernel, nobody can end.
                with anyio.move_on_after(KILL_WAIT_S, shield=True):
                    await self.exited()
            self.exit_code = self._child.reap()
            if self._is_monitor and self._watchdog.orphans is not None:
                self._watchdog.orphans.bury()
            self._child.stderr.read_rest(self._stderr.feed)
        finally:
            self._close()


class _ExitLook:
    """Looks for the end of a program where the system has no descriptor that says it; a `Timer`."""

    def __init__(self, child: Child, note: Callable[[], None], now: float) -> None:
        self._child = child
        self._note = note
        self.at: float = now + POLL_S

    def ring(self, now: float) -> None:
        self.at = now + POLL_S
        if self._child.has_exited:
            self.at = float("inf")
            self._note()


@asynccontextmanager
async def opened(command: Command, watchdog: Watchdog, *, attended: bool = False) -> AsyncIterator[Process]:
    """Start a program and end it, with all that it has started, however the block ends.

    Left in peace it is closed in order; on an error or a cancellation it is stopped. What happens to it is
    noticed by a task beside the block, or, where it is `attended`, by the block itself, which then is in
    `until` whenever that matters. Raises `NotStarted`.
    """
    orphans = () if watchdog.orphans is None else watchdog.orphans.look(START_LOOK_S)
    before = frozenset(orphan.pid for orphan in orphans)
    try:
        poller = current_poller()
    except OSError as error:
        raise not_started(command.argv[0], error) from error
    if command.marker is not None:
        watchdog.prepare()
    process = Process(spawn(command), command, watchdog, poller)
    try:
        process.begin(before)
        watchdog.add(process.pid, marked=command.marker is not None)
        if command.max_processes is not None:
            limit_processes(process.pid, command.max_processes)
        if attended:
            yield process
            await process.aclose()
            return
        async with anyio.create_task_group() as group:
            group.start_soon(process.until, _never)
            yield process
            await process.aclose()
            group.cancel_scope.cancel()
    except BaseExceptionGroup as errors:
        # What the block raises arrives wrapped by the task group; hand it on as it was raised.
        if len(errors.exceptions) == 1:
            raise errors.exceptions[0] from None
        raise
    finally:
        await process.finish()
        watchdog.drop(process.pid)


def _never() -> bool:
    return False


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


async def _stop(process: Process, how: Stopping) -> None:
    """SIGTERM, a moment, then SIGKILL until nothing is left."""
    if how.grace_s > 0:
        signal_all(None if how.spares and how.others else process.pid, how.others, signal.SIGTERM)
        if await _gone(process, how.find, how.grace_s):
            return
    deadline = monotonic() + KILL_WAIT_S
    while monotonic() < deadline:
        signal_all(process.pid, how.find(), signal.SIGKILL)
        if await _gone(process, how.find, 4 * POLL_S):
            return


async def _gone(process: Process, find: Callable[[], tuple[int, ...]], within_s: float) -> bool:
    """Whether the program and its family end within that time."""
    with anyio.move_on_after(within_s):
        await process.exited()
        while find():
            await anyio.sleep(POLL_S)
        return True
    return False
