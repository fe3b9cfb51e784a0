"""An open app and its session as what the terminal interface works with."""

from __future__ import annotations

from typing import Final

from caliban.compose.app import App
from caliban.compose.permissions import roots_of
from caliban.faces.prompt import PromptInputs, typed_prompt
from caliban.slash.registry import app_commands
from caliban_commands.errors import CommandNotHere
from caliban_commands.registry import CommandRegistry
from caliban_common.message import Message, ToolUseBlock
from caliban_common.permission import PermissionMode
from caliban_drive.calls import describe_call
from caliban_drive.notice import Report
from caliban_drive.result import Costs
from caliban_drive.session import Session
from caliban_tui.blocks import ShellBlock
from caliban_tui.status import StatusLine

MODES: Final[tuple[PermissionMode, ...]] = (
    "default",
    "acceptEdits",
    "plan",
    "auto",
    "dontAsk",
    "bypassPermissions",
)
"""The order of Shift+Tab; those that the run may not go to are passed over."""


class AppHost:
    """See `TerminalHost`."""

    def __init__(self, app: App, session: Session) -> None:
        self._app = app
        self.session = session
        self.costs: Costs = app.costs
        self.report: Report = app.reporter
        self.commands: CommandRegistry = app_commands(app, session)

    def status(self) -> StatusLine:
        """See `TerminalHost`."""
        app = self._app
        return StatusLine(
            cwd=str(app.workspace),
            model=f"{app.model.name}/{app.model.model}",
            mode=app.permissions.mode,
            session=self.session.id,
            cost_usd=self.costs.total_usd(),
        )

    def describe(self, call: ToolUseBlock) -> str:
        """See `TerminalHost`."""
        return describe_call(call, self.session.agent.tools)

    def cycle_mode(self) -> PermissionMode:
        """See `TerminalHost`."""
        permissions = self._app.permissions
        place = MODES.index(permissions.mode) if permissions.mode in MODES else 0
        for mode in (*MODES[place + 1 :], *MODES[:place]):
            if permissions.bars_mode(mode) is None:
                permissions.set_mode(mode)
                break
        return permissions.mode

    async def message(self, text: str) -> Message:
        """See `TerminalHost`."""
        app = self._app
        return await typed_prompt(
            text,
            PromptInputs(
                options=app.options.prompt,
                workspace=app.workspace,
                permissions=app.permissions,
                fenced=app.options.workspace.restrict_paths,
                roots=roots_of(app.settings, app.workspace),
                report=app.reporter,
                media=app.media,
                servers=app.servers,
            ),
        )

    async def shell(self, line: str) -> ShellBlock:
        """See `TerminalHost`."""
        raise CommandNotHere("lines of the shell are not run yet")
