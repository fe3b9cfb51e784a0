"""What MCP servers ask, put to the person at the terminal: loaded with the first question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from caliban_drive.notice import Report
from caliban_tui.question.desk import ApprovalDesk

if TYPE_CHECKING:
    from caliban_mcp.elicit import ElicitAnswer, ServerQuestion


class PersonElicitor:
    """See `Elicitor`: asks at `desk`. `environ` says whether there is a browser to open."""

    def __init__(self, desk: ApprovalDesk, environ: Mapping[str, str], report: Report) -> None:
        self._desk = desk
        self._environ = environ
        self._report = report

    async def elicit(self, question: ServerQuestion) -> ElicitAnswer:
        """See `Elicitor`."""
        from caliban.faces.terminal.servers import ServerAsk

        return await ServerAsk(self._desk, self._environ, self._report).answer(question)
