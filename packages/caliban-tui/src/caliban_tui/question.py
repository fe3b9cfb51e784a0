"""A question to a person: who asks what, and what can be answered. Several wait in a queue."""

from __future__ import annotations

from msgspec import Struct

from caliban_agent_core.ports import ApprovalRequest
from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, plain
from caliban_tui.width import cut


class OpenQuestion(Struct, frozen=True, kw_only=True):
    """The question on screen. It listens once `is_armed`: no key that was meant for the draft answers."""

    request: ApprovalRequest
    summary: str
    is_armed: bool = False
    waiting: int = 0


def question_lines(question: OpenQuestion, columns: int) -> tuple[ScreenLine, ...]:
    """The question as it is drawn."""
    who = f" ({question.request.agent})" if question.request.agent else ""
    more = f" · {question.waiting} more" if question.waiting else ""
    keys = "y once   n no" if question.is_armed else "listens once you stop typing"
    lines = [
        plain(f"May this run?{who}{more}", "warning"),
        *(plain(f"  {line}") for line in neutral(question.summary).splitlines()),
        plain(f"  {neutral(question.request.reason)}", "dim"),
        plain(f"  {keys}", "bold"),
    ]
    return tuple(cut(line, columns) for line in lines)
