"""What a permission mode makes of an outcome. A mode never loosens a deny."""

from __future__ import annotations

from typing import NamedTuple

from caliban_common.permission import Action, PermissionMode
from caliban_permissions.facts import JudgedTool
from caliban_permissions.judgement import FloorKind, Outcome
from caliban_permissions.names import PLAN_LEAVER

_BYPASS_KEEPS: frozenset[FloorKind] = frozenset({"catastrophic", "managed"})


class ModeVerdict(NamedTuple):
    """The action after the mode; `note` says what the mode did, for people."""

    action: Action
    reason: str
    note: str = ""


def plan_refusal(tool: JudgedTool) -> str | None:
    """Why plan mode does not let the tool run, or `None`."""
    if tool.kind == "read" or tool.harmless:
        return None
    return (
        f"{tool.name} is not available in plan mode, which only reads; present the plan with "
        f"{PLAN_LEAVER}, and it can run once the user has approved it"
    )


def apply_mode(
    outcome: Outcome, mode: PermissionMode, tool: JudgedTool, *, sandboxed: bool = False
) -> ModeVerdict:
    """Apply the mode to an ask. `sandboxed` promises that a shell command really runs in the full sandbox."""
    if outcome.action != "ask":
        return ModeVerdict(outcome.action, outcome.reason)
    floors = [floor for floor in outcome.floors if floor.kind != "outside"]
    match mode:
        case "bypassPermissions" if not any(floor.kind in _BYPASS_KEEPS for floor in floors):
            return ModeVerdict("allow", "", mode)
        case "dontAsk":
            return _unasked(outcome)
        case "acceptEdits" if tool.edits and not outcome.floors and not outcome.explicit:
            return ModeVerdict("allow", "", "acceptEdits")
        case _:
            pass
    if sandboxed and tool.command is not None and not floors and not outcome.explicit:
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
