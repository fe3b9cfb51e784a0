"""The question about a call: what would run as a whole, the change before it is made, the plan to its end."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING, Final

from caliban_tui.line import ScreenLine, plain
from caliban_tui.question.asked import (
    SESSION_ONLY,
    AnswerOption,
    CallBrief,
    CallQuestion,
    ChoiceQuestion,
)
from caliban_tui.question.visible import visible

if TYPE_CHECKING:
    from caliban_agent_core.ports import ApprovalRequest

MAX_DIFF_LINES: Final = 5_000
YES: Final = "yes"
KEEP_EDITS: Final = "edits"
KEEP_PLANNING: Final = "plan"


def call_question(request: ApprovalRequest, brief: CallBrief) -> CallQuestion:
    """The question about `request`."""
    name = visible(request.call.name)
    if brief.path:
        verb = "make the file" if brief.before is None else "change"
        title = f"May {name} {verb} {visible(brief.path)}?"
    else:
        title = f"May {name} run?"
    return CallQuestion(
        request=request,
        title=title,
        body=change_lines(brief) if brief.path else text_lines(brief.text),
        effects=brief.effects,
        patterns=request.suggestions,
        places=brief.places or SESSION_ONLY,
    )


def plan_question(request: ApprovalRequest) -> ChoiceQuestion:
    """The question about a plan: what follows is not the call's affair alone."""
    plan = request.call.input.get("plan")
    return ChoiceQuestion(
        title="Carry this plan out?",
        agent=request.agent,
        markdown=visible(plan, tab="    ") if isinstance(plan, str) else "",
        options=(
            AnswerOption(key="y", value=YES, label="yes"),
            AnswerOption(key="a", value=KEEP_EDITS, label="yes, and edit files without asking"),
            AnswerOption(
                key="n", value=KEEP_PLANNING, label="no, keep planning", asks="what is to be different:"
            ),
        ),
    )


def text_lines(text: str, style: str = "") -> tuple[ScreenLine, ...]:
    """All of `text`, nothing in it hidden."""
    return tuple(plain(line, style) for line in visible(text).split("\n"))


def change_lines(brief: CallBrief) -> tuple[ScreenLine, ...]:
    """The change of a file with three lines around each place, numbered by the file as it is."""
    before = (brief.before or "").splitlines()
    after = brief.after.splitlines()
    if max(len(before), len(after)) > MAX_DIFF_LINES:
        return text_lines(brief.text or brief.after)
    if before == after:
        return (plain("nothing changes", "dim"),)
    styles = {"+": "added", "-": "removed", "@": "dim"}
    lines = list(unified_diff(before, after, lineterm="", n=3))[2:]
    return tuple(plain(visible(line, tab="    "), styles.get(line[:1], "")) for line in lines)
