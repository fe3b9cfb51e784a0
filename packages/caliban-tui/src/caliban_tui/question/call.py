"""The question about a call: what would run as a whole, the change before it is made, the plan to its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from caliban_common.hunks import TextHunk, text_hunks
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

COMPARED_LINES: Final = 10_000
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
    styles = {"+": "added", "-": "removed"}
    lines: list[ScreenLine] = []
    for hunk in text_hunks(brief.before or "", brief.after, compared_lines=COMPARED_LINES):
        lines.append(plain(_heading(hunk), "dim"))
        lines += (plain(visible(line, tab="    "), styles.get(line[:1], "")) for line in hunk.lines)
    return tuple(lines) or (plain("nothing changes", "dim"),)


def _heading(hunk: TextHunk) -> str:
    """Where a hunk stands, as `diff -u` says it."""
    old = _range(hunk.old_start, sum(line[:1] != "+" for line in hunk.lines))
    new = _range(hunk.new_start, sum(line[:1] != "-" for line in hunk.lines))
    return f"@@ -{old} +{new} @@"


def _range(start: int, count: int) -> str:
    return str(start) if count == 1 else f"{start if count else start - 1},{count}"
