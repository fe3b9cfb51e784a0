"""The log of decisions of a run: nothing of it is loaded or opened before there is something to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from caliban_agent_core.ports import JudgedCall
from caliban_common.mask import Masker
from caliban_common.paths import state_dir
from caliban_drive.notice import Notice, Report
from caliban_settings import Settings

if TYPE_CHECKING:
    from caliban_permissions.audit.log import AuditLog
    from caliban_permissions.errors import AuditFailed


class RunLog:
    """Keeps the decisions of a run and of its sub-agents, under one session.

    What cannot be written is told once. Where that is `required`, no call runs whose decision was not kept.
    """

    def __init__(self, masker: Masker, report: Report, *, required: bool) -> None:
        self.session_id: str | None = None
        self._masker = masker
        self._report = report
        self._required = required
        self._log: AuditLog | None = None
        self._failed = False

    def record(self, judged: JudgedCall) -> str | None:
        """See `DecisionLog`."""
        from caliban_permissions.audit.entry import AuditEntry
        from caliban_permissions.audit.log import AuditLog
        from caliban_permissions.errors import AuditFailed

        if self._log is None:
            self._log = AuditLog(state_dir(), mask=self._masker.text)
        entry = AuditEntry(
            session_id=self.session_id or judged.session_id,
            agent=judged.agent,
            turn=judged.turn,
            tool_use_id=judged.call.id,
            tool_name=judged.call.name,
            input=judged.call.input if judged.call.raw_input is None else {"": judged.call.raw_input},
            decision=judged.decision,
        )
        try:
            self._log.write(entry)
        except AuditFailed as error:
            self._tell(error)
            if self._required:
                return f"the decision could not be recorded, and nothing runs without that: {error.message}"
        return None

    async def close(self) -> None:
        """Finish what was begun; whoever did not write waits for nothing."""
        if self._log is None:
            return
        import anyio.to_thread

        from caliban_permissions.errors import AuditFailed

        try:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self._log.close)
        except AuditFailed as error:
            self._tell(error)

    def _tell(self, error: AuditFailed) -> None:
        if not self._failed:
            self._failed = True
            goes_on = "no call runs without it" if self._required else "calls run without it"
            message = f"the log of decisions cannot be written; {goes_on}: {error.message}"
            self._report(Notice(subtype="audit_log", message=message, hint=error.hint))


def build_log(settings: Settings, masker: Masker, report: Report) -> RunLog | None:
    """The log that the settings ask for; `None` where a person switched it off."""
    required = settings.get("permissions.audit_required") is True
    if not required and settings.get("permissions.audit_log") is False:
        return None
    return RunLog(masker, report, required=required)
