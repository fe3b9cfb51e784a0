"""An open app and its session as what the terminal interface works with."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Final

from anyio.abc import TaskGroup
from msgspec.structs import replace

from caliban.compose.app import App
from caliban.faces.prompt import PromptInputs, typed_prompt
from caliban.faces.terminal.asking import AppDesk
from caliban.faces.terminal.draft import draft_help
from caliban.faces.terminal.status import StatusKeeper
from caliban.faces.terminal.views import AppViews
from caliban.slash.registry import app_commands
from caliban_commands.registry import CommandRegistry
from caliban_common.event import AgentEvent
from caliban_common.message import Message, ToolUseBlock
from caliban_common.permission import PermissionMode
from caliban_drive.calls import describe_call
from caliban_drive.notice import Report
from caliban_drive.result import Costs
from caliban_drive.session import Session
from caliban_tui.draft.ports import DraftHelp
from caliban_tui.host import ModeStep, NotePlace
from caliban_tui.options import TerminalOptions
from caliban_tui.overlay.views import ViewHost
from caliban_tui.question.desk import DeskHost
from caliban_tui.status import StatusLine
from caliban_tui.transcript.blocks import ShellBlock

MODES: Final[tuple[PermissionMode, ...]] = (
    "default",
    "acceptEdits",
    "plan",
    "auto",
    "dontAsk",
    "bypassPermissions",
)
"""The order of Shift+Tab."""


class AppHost:
    """See `TerminalHost`. `tasks` holds what goes on beside the conversation, `changed` wants a frame."""

    def __init__(self, app: App, session: Session, tasks: TaskGroup, changed: Callable[[], None]) -> None:
        self._app = app
        self.session = session
        self.costs: Costs = app.costs
        self.report: Report = app.reporter
        self.commands: CommandRegistry = app_commands(app, session)
        self.desk: DeskHost = AppDesk(app, session)
        self.draft_help: DraftHelp = draft_help(app, session.id)
        self.views: ViewHost = AppViews(app, session, self.cycle_mode)
        self._servers_are_ready = False
        self._status = StatusKeeper(app, session, tasks, changed)
        if app.servers is not None:
            tasks.start_soon(self.commands.refresh)

    @property
    def options(self) -> TerminalOptions:
        """See `TerminalHost`."""
        return self._status.options

    def status(self) -> StatusLine:
        """See `TerminalHost`."""
        return self._status.line()

    def observe(self, event: AgentEvent) -> None:
        """See `TerminalHost`."""
        self._status.observe(event)

    def prompt_ended(self) -> None:
        """See `TerminalHost`."""
        self._status.prompt_ended()

    def describe(self, call: ToolUseBlock) -> str:
        """See `TerminalHost`."""
        return describe_call(call, self.session.agent.tools)

    def cycle_mode(self) -> ModeStep:
        """See `TerminalHost`. A mode that was not prepared is passed over; bypass without its latch warns."""
        permissions = self._app.permissions
        if permissions.mode == "disabled":
            return ModeStep(mode="disabled", warning="permissions are disabled for this run")
        place = MODES.index(permissions.mode)
        warning = ""
        for mode in (*MODES[place + 1 :], "default"):
            barred = permissions.bars_mode(mode)
            if barred is None:
                self._go_to(mode)
                break
            if mode == "bypassPermissions":
                warning = f"{barred}: --allow-dangerously-skip-permissions at the start allows it"
        return ModeStep(mode=permissions.mode, warning=warning)

    def _go_to(self, mode: PermissionMode) -> None:
        before = self._app.permissions.mode
        self._app.permissions.set_mode(mode)
        if "plan" in (mode, before):
            self.session.note(plan_mode=mode == "plan")

    async def message(self, text: str) -> Message:
        """See `TerminalHost`."""
        app = self._app
        if app.servers is not None and not self._servers_are_ready:
            await app.servers.ready()
            self._servers_are_ready = True
        inputs = PromptInputs.of(app)
        pasted = self.draft_help.image_folder  # images that were pasted lie there, outside of the workspace
        return await typed_prompt(text, replace(inputs, roots=(*inputs.roots, pasted)))

    def asked_as(self, model: str, effort: str) -> AbstractAsyncContextManager[None]:
        """See `TerminalHost`."""
        from caliban.compose.switch import asked_as

        return asked_as(self._app, self.session, model, effort)

    async def shell(self, line: str, progress: Callable[[str], None]) -> ShellBlock:
        """See `TerminalHost`."""
        from caliban.faces.terminal.shell import run_typed

        return await run_typed(self._app, self.session, line, progress)

    def note_places(self) -> tuple[NotePlace, ...]:
        """See `TerminalHost`."""
        from caliban.faces.terminal.note import note_files

        return tuple(NotePlace(name=tier, path=str(path)) for tier, path in note_files(self._app).items())

    def add_note(self, place: NotePlace, note: str) -> None:
        """See `TerminalHost`."""
        from caliban.faces.terminal.note import add_note

        add_note(Path(place.path), note)
