"""The sandbox of a run as the rest of it sees it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from caliban.compose.host import Host
from caliban.errors import ConfigError
from caliban_drive.notice import Notice, Report

if TYPE_CHECKING:
    from caliban_sandbox import Sandbox, SandboxState


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

    async def make_ready(self) -> None:
        """Find out whether it holds, where a run depends on it. Raises `ConfigError`.

        Else that is found out before the first program: no start waits for it.
        """
        if self.sandbox is None or not (self.required or self.auto_allow):
            return
        state = await self.sandbox.ready()
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
            hint = f"{denial.setting} in your settings opens it" if denial.setting else None
            report(Notice(subtype="sandbox_denied", message=denial.notice, hint=hint))
            return denial.words

        return explain

    def close(self) -> None:
        """Put away what it has made."""
        if self.sandbox is not None:
            self.sandbox.close()


NO_BOX = Box()


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
