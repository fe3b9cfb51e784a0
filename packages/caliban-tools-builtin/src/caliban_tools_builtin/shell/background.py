"""Commands that outlive the call that started them, and end with their session at the latest."""

from __future__ import annotations

import os
from contextlib import AbstractAsyncContextManager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final

import anyio
from anyio.abc import TaskGroup, TaskStatus

from caliban_process import Command, Runner
from caliban_tools_builtin.errors import ShellFailed
from caliban_tools_builtin.shell.ring import OutputRing

if TYPE_CHECKING:
    from caliban_process.process import Process

MAX_RUNNING: Final = 16
MAX_ENDED: Final = 16
"""How many ended shells are remembered, with their output."""
RING_BYTES: Final = 1 << 20
KILL_GRACE_S: Final = 5.0
PIPE_GRACE_S: Final = 0.4


class BackgroundShell:
    """One command: what it prints, how it stands. `offset` is how far its output was read.

    `title` shows the command, `agent` names the sub-agent that started it. With `is_known` nothing of it is
    news to the session's model.
    """

    def __init__(self, id: str, *, title: str = "", agent: str = "") -> None:
        self.id = id
        self.title: str = title
        self.agent: str = agent
        self.is_known: bool = not agent
        self.output: OutputRing = OutputRing(RING_BYTES)
        self.offset = 0
        self.kill: anyio.Event = anyio.Event()
        self.over: anyio.Event = anyio.Event()
        self._started = monotonic()
        self._end = ""
        self._seconds = 0.0

    @property
    def state(self) -> str:
        """How it stands, and since when."""
        if not self.over.is_set():
            return f"running for {monotonic() - self._started:.0f} s"
        return f"{self._end} after {self._seconds:.0f} s"

    def ended(self, how: str) -> None:
        """It is over."""
        self._end, self._seconds = how, monotonic() - self._started
        self.is_known = False
        self.over.set()


class BackgroundShells:
    """The shells of one session. They live in `tasks`: when that group ends, so do they."""

    def __init__(self, runner: Runner, tasks: TaskGroup, *, kill_grace_s: float = KILL_GRACE_S) -> None:
        self._runner = runner
        self._tasks = tasks
        self._kill_grace_s = kill_grace_s
        self._shells: dict[str, BackgroundShell] = {}

    async def start(self, command: Command, *, title: str = "", agent: str = "") -> BackgroundShell:
        """A shell that runs `command` for `agent`.

        Raises `ShellFailed` for one too many, else what the runner does.
        """
        running = [shell for shell in self._shells.values() if not shell.over.is_set()]
        if len(running) >= MAX_RUNNING:
            ids = ", ".join(shell.id for shell in running)
            raise ShellFailed(
                f"{len(running)} shells run in the background already", hint=f"end one of {ids}"
            )
        shell = BackgroundShell(os.urandom(6).hex(), title=title, agent=agent)
        await self._tasks.start(partial(self._serve, shell, self._runner.start(command), command))
        self._shells[shell.id] = shell
        self._forget()
        return shell

    def all(self) -> tuple[BackgroundShell, ...]:
        """Those that run, and the last that ended."""
        return tuple(self._shells.values())

    def find(self, id: str) -> BackgroundShell:
        """The shell `id`. Raises `ShellFailed`."""
        if id in self._shells:
            return self._shells[id]
        known = ", ".join(self._shells) or "none"
        raise ShellFailed(f"there is no background shell {id!r}", hint=f"known: {known}")

    def news(self) -> tuple[str, ...]:
        """A line for each shell that ended unseen, or that a sub-agent has started; each thing once."""
        lines = []
        for shell in self._shells.values():
            if not shell.is_known:
                shell.is_known = True
                whose = f" of the agent {shell.agent}" if shell.agent else ""
                lines.append(f"shell_id {shell.id}{whose}: {shell.state}: {shell.title}")
        return tuple(lines)

    def _forget(self) -> None:
        ended = [id for id, shell in self._shells.items() if shell.over.is_set()]
        for id in ended[:-MAX_ENDED]:
            del self._shells[id]

    async def _serve(
        self,
        shell: BackgroundShell,
        opening: AbstractAsyncContextManager[Process],
        command: Command,
        *,
        task_status: TaskStatus[None],
    ) -> None:
        how = "ended with the session"
        try:
            async with opening as process:
                task_status.started()
                how = await _to_end(shell, process, command, self._kill_grace_s)
            if how == "exited":
                how = _exit(process.exit_code)
        finally:
            shell.ended(how)


async def _to_end(shell: BackgroundShell, process: Process, command: Command, kill_grace_s: float) -> str:
    """Read what it prints until it has ended, is killed, or its time is up; what became of it."""

    async def receive() -> None:
        while chunk := await process.receive():
            shell.output.feed(chunk)

    how = f"timed out after {command.timeout_s} s and was killed"
    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        with anyio.move_on_after(command.timeout_s):
            how = "killed" if await _is_killed(shell, process) else "exited"
        await process.stop(kill_grace_s if how == "killed" else None)
        group.cancel_scope.deadline = anyio.current_time() + PIPE_GRACE_S
    process.receive_rest(shell.output.feed)
    return how


async def _is_killed(shell: BackgroundShell, process: Process) -> bool:
    """Wait for its end, or for somebody who wants it; whether it is the latter."""
    is_killed = False
    async with anyio.create_task_group() as group:

        async def wait_for_kill() -> None:
            nonlocal is_killed
            await shell.kill.wait()
            if not process.has_exited:  # one that has ended is not called killed
                is_killed = True
                group.cancel_scope.cancel()

        group.start_soon(wait_for_kill)
        await process.exited()
        is_killed = False
        group.cancel_scope.cancel()
    return is_killed


def _exit(code: int | None) -> str:
    if code is not None and code < 0:
        return f"ended by signal {-code}"
    return f"exited with code {code}"
