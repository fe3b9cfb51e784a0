"""The sandbox of a run as the rest of it sees it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from anyio.abc import TaskGroup, TaskStatus
from msgspec import Struct
from msgspec.structs import replace

from caliban.compose.host import Host
from caliban.errors import ConfigError
from caliban_drive.notice import Notice, Report

if TYPE_CHECKING:
    from caliban_sandbox import Sandbox, SandboxState
    from caliban_sandbox.egress import EgressRefused


class Box(Struct, frozen=True, kw_only=True):
    """The sandbox of a run, or none.

    With `required` nothing starts without it. `auto_allow` lets commands in it run unasked; `unsandboxed` are
    the patterns of those that run outside.
    """

    sandbox: Sandbox | None = None
    required: bool = False
    auto_allow: bool = False
    unsandboxed: tuple[str, ...] = ()

    def allows(self) -> bool:
        """Whether commands need no question, for they really run in the whole sandbox (security.md SB9)."""
        return self.auto_allow and self.sandbox is not None and self.sandbox.is_full

    def within(self, host: Host) -> Host:
        """`host`, whose programs run in the sandbox."""
        return host if self.sandbox is None else replace(host, runner=host.runner.within(self.sandbox))

    @asynccontextmanager
    async def opened(self, report: Report, tasks: TaskGroup | None) -> AsyncIterator[None]:
        """Stand ready for the programs of a run, and put everything away behind them.

        What serves them lives in `tasks`, where there are some: a face opens the app in a scope of its own.
        Whether it holds is found out at once where a run depends on it, else before the first program: no
        start waits for it. Raises `ConfigError`.
        """
        if self.sandbox is None:
            yield
            return

        def log(refused: EgressRefused) -> None:
            report(Notice(subtype="egress_refused", message=f"the sandbox: {refused.reason}"))

        async with self.sandbox.opened(log) if tasks is None else _beside(self.sandbox.opened(log), tasks):
            if self.required or self.auto_allow:
                await self._check(self.sandbox)
            yield

    async def _check(self, sandbox: Sandbox) -> None:
        state = await sandbox.ready()
        if self.required and state.problem:
            raise ConfigError(
                f"the sandbox is not available: {state.problem}",
                hint="nothing runs without it here: sandbox.fail_if_unavailable, or --sandbox",
            )

    def explained(self, report: Report) -> Callable[[str], str]:
        """What tells the model and the person what the sandbox refused a command that failed."""

        def explain(output: str) -> str:
            denial = None if self.sandbox is None else self.sandbox.denial(output)
            if denial is None:
                return ""
            opens = f"; {denial.setting} in your settings opens it" if denial.setting else ""
            report(Notice(subtype="sandbox_denied", message=denial.notice + opens))
            return denial.words

        return explain


NO_BOX = Box()


@asynccontextmanager
async def _beside(opening: AbstractAsyncContextManager[None], tasks: TaskGroup) -> AsyncIterator[None]:
    """`opening`, open in a task of its own until the block ends."""
    over = anyio.Event()

    async def hold(*, task_status: TaskStatus[None]) -> None:
        async with opening:
            task_status.started()
            await over.wait()

    await tasks.start(hold)
    try:
        yield
    finally:
        over.set()


def state_notice(state: SandboxState) -> Notice:
    """What to tell a person of a sandbox that is missing, or weaker than they may think."""
    if state.problem:
        return Notice(
            subtype="unsandboxed",
            message=f"commands run WITHOUT A SANDBOX: {state.problem}",
            hint="sandbox.fail_if_unavailable = true refuses that; no command is allowed unasked for it",
        )
    return Notice(
        subtype="weaker_sandbox",
        message=f"the sandbox is weaker than usual: {state.weaker}; no command is allowed unasked for it",
    )
