"""Who answers for a person: questions wait here until they are answered on the screen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import anyio

from caliban_agent_core.ports import ApprovalRequest
from caliban_common.permission import Decision


class _Pending:
    def __init__(self, request: ApprovalRequest) -> None:
        self.request = request
        self.answered = anyio.Event()
        self.decision: Decision | None = None


class ApprovalDesk:
    """An `Approver` whose answers are typed. `changed` is told of each question that comes or goes."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._queue: deque[_Pending] = deque()

    @property
    def request(self) -> ApprovalRequest | None:
        """What is asked now."""
        return self._queue[0].request if self._queue else None

    @property
    def waiting(self) -> int:
        """How many questions wait behind it."""
        return max(len(self._queue) - 1, 0)

    async def approve(self, request: ApprovalRequest) -> Decision:
        """See `Approver`."""
        pending = _Pending(request)
        self._queue.append(pending)
        self._changed()
        try:
            await pending.answered.wait()
        finally:
            self._queue.remove(pending)
            self._changed()
        return pending.decision or Decision(action="deny", reason="nobody answered")

    def answer(self, decision: Decision) -> None:
        """Answer what is asked now."""
        if self._queue:
            self._queue[0].decision = decision
            self._queue[0].answered.set()
