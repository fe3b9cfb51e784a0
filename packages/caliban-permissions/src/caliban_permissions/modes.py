"""What a permission mode makes of an outcome. A mode never loosens a deny."""

from __future__ import annotations

from typing import NamedTuple

from caliban_common.permission import Action, PermissionMode
from caliban_common.tool import ToolSpec
from caliban_permissions.outcome import FloorKind, Outcome

PLAN_TOOLS = frozenset({"EnterPlanMode", "ExitPlanMode", "TodoWrite"})
"""Tools that plan mode leaves to the rules although they do more than read."""

_BYPASS_KEEPS: frozenset[FloorKind] = frozenset({"catastrophic", "managed"})


class ModeVerdict(NamedTuple):
    """The action after the mode; `note` says what the mode did, for people."""

    action: Action
    reason: str
    note: str = ""


def plan_refusal(tool: ToolSpec) -> str | None:
    """Why plan mode does not let the tool run, or `None`."""
    if tool.kind == "read" or tool.name in PLAN_TOOLS:
        return None
    return (
        f"{tool.name} is not available in plan mode, which only reads; present the plan with ExitPlanMode, "
        "and it can run once the user has approved it"
    )


def apply_mode(
    outcome: Outcome, mode: PermissionMode, tool: ToolSpec, *, sandboxed: bool = False
) -> ModeVerdict:
    """Apply the mode to an ask. `sandboxed` promises that this Bash call really runs in the full sandbox."""
    if outcome.action != "ask":
        return ModeVerdict(outcome.action, outcome.reason)
    floors = [floor for floor in outcome.floors if floor.kind != "outside"]
    match mode:
        case "bypassPermissions" if not any(floor.kind in _BYPASS_KEEPS for floor in floors):
            return ModeVerdict("allow", "", mode)
        case "dontAsk":
            return _unasked(outcome)
        case "acceptEdits" if tool.kind == "edit" and not outcome.floors and not outcome.explicit:
            return ModeVerdict("allow", "", "acceptEdits")
        case _:
            pass
    if sandboxed and tool.name == "Bash" and not floors and not outcome.explicit:
        return ModeVerdict("allow", "", "sandboxed")
    return ModeVerdict("ask", outcome.reason)


def _unasked(outcome: Outcome) -> ModeVerdict:
    """Nobody is asked: an ask becomes an allow, unless only a person may say yes; then it is a deny."""
    floors = [floor for floor in outcome.floors if floor.kind != "outside"]
    if not floors:
        return ModeVerdict("allow", "", "dontAsk")
    if all(floor.kind == "managed" for floor in floors):
        return ModeVerdict("ask", outcome.reason)
    only = outcome.person_only
    return ModeVerdict("deny", f"{outcome.reason}. Nobody is asked in this mode, and {only}")
