"""The user's status line program: its input, and what it printed last."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from anyio.abc import TaskGroup
from msgspec import Struct

from caliban.compose.app import App
from caliban.compose.terminal import StatusScript
from caliban.version import VERSION
from caliban_common.text import one_line
from caliban_drive.notice import Notice
from caliban_process import Command, ProcessError
from caliban_process.environ import program_environment
from caliban_process.output import OutputLimit

MAX_BYTES: Final = 16_384
LONG_CONTEXT_TOKENS: Final = 200_000


class ScriptFacts(Struct, frozen=True, kw_only=True):
    """What changes from prompt to prompt. Times are in seconds, `used_tokens` those of the last request."""

    session: str
    mode: str
    branch: str = ""
    used_tokens: int | None = None
    window_tokens: int | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    api_s: float = 0.0
    lines_added: int = 0
    lines_removed: int = 0


class StatusScripts:
    """Runs the program beside everything else, one at a time; `text` is what it printed last.

    One that fails or takes too long leaves the text as it was, and is told once.
    """

    def __init__(self, app: App, tasks: TaskGroup, changed: Callable[[], None]) -> None:
        self.text = ""
        self._app = app
        self._tasks = tasks
        self._changed = changed
        self._began_s = time.monotonic()
        self._next: tuple[StatusScript, bytes] | None = None
        self._runs = False
        self._told: set[str] = set()

    def run(self, script: StatusScript, facts: ScriptFacts) -> None:
        """Run it soon, after the one that is running; of several that wait the last counts."""
        self._next = (
            script,
            json.dumps(script_input(self._app, facts, time.monotonic() - self._began_s)).encode(),
        )
        if not self._runs:
            self._runs = True
            self._tasks.start_soon(self._run)

    async def _run(self) -> None:
        try:
            while self._next is not None:
                (script, data), self._next = self._next, None
                await self._once(script, data)
        finally:
            self._runs = False

    async def _once(self, script: StatusScript, data: bytes) -> None:
        inputs = self._app.live.inputs
        if inputs is None:
            return
        command = Command(
            argv=("/bin/sh", "-c", script.command),
            cwd=str(self._app.workspace),
            env=program_environment(inputs.host.environ, {"CALIBAN_PROJECT_DIR": str(self._app.workspace)}),
            stdin=data,
            timeout_s=script.timeout_s,
            grace_s=0,
            output=OutputLimit(head_bytes=MAX_BYTES, tail_bytes=0),
        )
        try:
            done = await inputs.host.runner.run(command)
        except ProcessError as error:
            self._tell(one_line(error.message))
            return
        if done.exit_code is None:
            self._tell(f"it was not done within {script.timeout_s * 1000:.0f} ms")
        elif done.exit_code:
            self._tell(f"it ended with {done.exit_code}: {one_line(done.stderr.text(), max_chars=200)}")
        else:
            self.text = done.stdout.text()
            self._changed()

    def _tell(self, problem: str) -> None:
        if problem not in self._told:
            self._told.add(problem)
            self._app.reporter(Notice(subtype="status_line", message=f"the program of statusLine: {problem}"))


def script_input(app: App, facts: ScriptFacts, since_s: float) -> Mapping[str, Any]:
    """The program's input: the members that programs for Claude's status line read, and ours."""
    used, window = facts.used_tokens, facts.window_tokens
    share = None if not used or not window else round(100 * used / window, 1)
    cwd = str(app.workspace)
    return {
        "hook_event_name": "Status",
        "session_id": facts.session,
        "transcript_path": app.board.transcript or None,
        "cwd": cwd,
        "model": {"id": app.model.model, "display_name": app.model.model, "provider": app.model.name},
        "workspace": {"current_dir": cwd, "project_dir": cwd, "git_branch": facts.branch or None},
        "version": VERSION,
        "output_style": {"name": app.settings.get("output_style", "default")},
        "permission_mode": facts.mode,
        "cost": {
            "total_cost_usd": app.costs.total_usd(),
            "total_duration_ms": round(since_s * 1000),
            "total_api_duration_ms": round(facts.api_s * 1000),
            "total_lines_added": facts.lines_added,
            "total_lines_removed": facts.lines_removed,
        },
        "context_window": {
            "total_input_tokens": facts.input_tokens,
            "total_output_tokens": facts.output_tokens,
            "context_window_size": window,
            "used_tokens": used,
            "used_percentage": share,
            "remaining_percentage": None if share is None else round(100 - share, 1),
        },
        "exceeds_200k_tokens": (used or 0) > LONG_CONTEXT_TOKENS,
    }
