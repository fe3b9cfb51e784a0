"""Approvals that come later: a run leaves calls behind, and another process answers for them.

An answer names a call by its id and by a digest of what it does, as the result of the first run printed them:
a session is a file, and what was shown is what must run.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from caliban.cli.options import PermissionOptions
from caliban.compose.permissions import Permissions
from caliban.compose.session import SavedSession
from caliban.errors import UsageError
from caliban_agent_core.ports import ApprovalRequest
from caliban_agent_core.turn import waiting_calls
from caliban_common.permission import Decision
from caliban_common.text import plural
from caliban_drive.pending import approval_token

REFUSED: Final = "the user said no"


class LaterAnswers(Struct, frozen=True, kw_only=True):
    """An `Approver` with the answers to the calls that waited; `defers` leaves further ones behind, too.

    Without that whatever else would be asked is denied, as where nobody is there. Calls of sub-agents cannot
    wait: their runs end with them.
    """

    permissions: Permissions
    approved: frozenset[str]
    rejected: frozenset[str]
    defers: bool

    async def approve(self, request: ApprovalRequest) -> Decision:
        """See `Approver`."""
        token = approval_token(request.call)
        if not request.agent and token in self.rejected:
            return Decision(action="deny", reason=REFUSED)
        if not request.agent and token in self.approved:
            return Decision(action="allow")
        if self.defers and not request.agent:
            return Decision(action="ask", reason="the answer comes later")
        denied = self.permissions.decide(request.tool, request.call.input)
        return Decision(action="deny", reason=denied.reason or request.reason)


def check_answers(options: PermissionOptions, saved: SavedSession) -> None:
    """Raise `UsageError` for answers to what does not wait, and where a waiting call has none."""
    session = saved.id
    waiting = {
        approval_token(call): call for call in waiting_calls(saved.messages) if call.id in saved.pending
    }
    given = (*options.approve, *options.reject)
    shown = ", ".join(waiting) or "no call"
    unknown = next((token for token in given if token not in waiting), None)
    if unknown is not None:
        raise UsageError(
            f"no call {unknown!r} waits in the session {session!r}: {shown} does",
            hint="the result of the run that left it behind names it, with a digest of what it would do",
        )
    twice = next((token for token in options.approve if token in options.reject), None)
    if twice is not None:
        raise UsageError(f"--approve and --reject both name {twice}")
    left = [token for token in waiting if token not in given]
    if left and not options.defer_approvals:
        raise UsageError(
            f"{plural(len(left), 'call')} of the session would have no answer: {', '.join(left)}",
            hint="--approve or --reject each, or add --defer-approvals to leave them waiting",
        )
