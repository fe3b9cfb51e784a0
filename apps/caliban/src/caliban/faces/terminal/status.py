"""The status line, as a fold over the events of a session."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import assert_never

from anyio.abc import TaskGroup
from msgspec.structs import replace

from caliban.compose.app import App
from caliban.compose.switch import provider_of
from caliban.compose.terminal import plugin_themes, status_script, terminal_values
from caliban.faces.terminal.branch import BranchReader
from caliban.faces.terminal.script import ScriptFacts, StatusScripts
from caliban_common.event import (
    AgentEvent,
    ApiRetry,
    ApprovalAsked,
    ApprovalGiven,
    AssistantTextDelta,
    AssistantThinkingDelta,
    ChildEvent,
    HistoryReplaced,
    HookFired,
    MessageAdded,
    ReplyDiscarded,
    RunEnd,
    TaskChanged,
    ToolCallEnd,
    ToolCallInputDelta,
    ToolCallReady,
    ToolCallStart,
    ToolProgress,
    TurnEnd,
    TurnStart,
    Warned,
)
from caliban_common.paths import config_dir
from caliban_drive.session import Session
from caliban_settings import Settings
from caliban_tui.boot import short_path
from caliban_tui.options import TerminalOptions
from caliban_tui.status import StatusLine


class StatusKeeper:
    """The status of one session in an open app. `observe` is told every event of it."""

    def __init__(self, app: App, session: Session, tasks: TaskGroup, changed: Callable[[], None]) -> None:
        self._app = app
        self._session = session
        self._facts = ScriptFacts(session=session.id, mode=app.permissions.mode)
        self._branch = BranchReader(app.workspace)
        self._cwd = short_path(str(app.workspace), app.environ.get("HOME", os.environ.get("HOME", "")))
        self._background: set[tuple[str, str]] = set()
        self._scripts = StatusScripts(app, tasks, changed)
        self._read: Settings | None = None
        self._options = TerminalOptions()

    @property
    def options(self) -> TerminalOptions:
        """The screen options of the current settings."""
        now = self._app.live.now
        if now is not self._read:
            self._read, self._options = (
                now,
                TerminalOptions(
                    **terminal_values(now, self._app.environ),
                    theme_folders=(str(config_dir() / "themes"),),
                    theme_files=plugin_themes(self._app.live.read.plugins),
                ),
            )
        return self._options

    def observe(self, event: AgentEvent) -> None:
        """Note what `event` says."""
        facts = self._facts
        match event:
            case AssistantTextDelta() | AssistantThinkingDelta() | ToolCallInputDelta() | ToolProgress():
                pass
            case TurnEnd():
                usage = event.usage
                self._facts = replace(
                    facts,
                    used_tokens=usage.input_tokens + usage.output_tokens or facts.used_tokens,
                    input_tokens=facts.input_tokens + usage.input_tokens,
                    output_tokens=facts.output_tokens + usage.output_tokens,
                    api_s=facts.api_s + event.api_ms / 1000,
                )
            case HistoryReplaced():
                self._facts = replace(facts, used_tokens=event.tokens_after or facts.used_tokens)
            case TaskChanged():
                task = (event.tool_use_id, event.name)
                (self._background.add if event.status == "started" else self._background.discard)(task)
            case ToolCallEnd():
                self._note_lines(event)
            case ChildEvent():
                if isinstance(event.event, ToolCallEnd):
                    self._note_lines(event.event)
            case (
                TurnStart()
                | ToolCallStart()
                | ToolCallReady()
                | ApprovalAsked()
                | ApprovalGiven()
                | MessageAdded()
                | HookFired()
                | ReplyDiscarded()
                | ApiRetry()
                | Warned()
                | RunEnd()
            ):
                pass
            case _:
                assert_never(event)

    def prompt_ended(self) -> None:
        """Run the status line program again, if there is one."""
        script = status_script(self._app.live.now)
        if script is None:
            self._scripts.text = ""
            return
        self._scripts.run(
            script,
            replace(
                self._facts,
                mode=self._app.permissions.mode,
                branch=self._branch.read(),
                window_tokens=self._window(),
            ),
        )

    def line(self) -> StatusLine:
        """What the status line says now."""
        app = self._app
        window, used = self._window(), self._facts.used_tokens
        script = status_script(app.live.now) if self._scripts.text else None
        return StatusLine(
            cwd=self._cwd,
            branch=self._branch.read(),
            model=f"{provider_of(app)}/{self._session.agent.model}",
            mode=app.permissions.mode,
            session=self._session.id if app.options.session.session or app.options.session.resume else "",
            context_share=used / window if used and window else None,
            cost_usd=app.costs.total_usd() if self.options.shows_cost else None,
            background=len(self._background),
            script=self._scripts.text if script is not None else "",
            padding=script.padding if script is not None else 0,
        )

    def _window(self) -> int | None:
        agent = self._session.agent
        return agent.provider.capabilities(agent.model).prompt_tokens

    def _note_lines(self, event: ToolCallEnd) -> None:
        added, removed = event.details.get("lines_added"), event.details.get("lines_removed")
        if isinstance(added, int) and isinstance(removed, int):
            facts = self._facts
            self._facts = replace(
                facts,
                lines_added=facts.lines_added + added,
                lines_removed=facts.lines_removed + removed,
            )
