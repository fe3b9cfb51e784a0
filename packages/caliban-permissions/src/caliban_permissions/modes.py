"""What a permission mode makes of a judgement. A mode never loosens a deny."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from msgspec import Struct

from caliban_common.permission import Action, PermissionMode
from caliban_permissions.facts import JudgedTool
from caliban_permissions.judgement import HumanOnlyKind, Judgement
from caliban_permissions.names import PLAN_LEAVER

CYCLE: Final[tuple[PermissionMode, ...]] = (
    "default",
    "acceptEdits",
    "plan",
    "auto",
    "dontAsk",
    "bypassPermissions",
)
"""The modes in the order in which one key goes through them."""

CHIPS: Final[Mapping[PermissionMode, str]] = MappingProxyType(
    {
        "acceptEdits": "✎ accept edits",
        "plan": "📋 plan",
        "auto": "🤖 auto",
        "dontAsk": "⏭ don't ask",
        "bypassPermissions": "⚠ bypass",
        "disabled": "⚠ no permissions",
    }
)
"""What a line of status calls each mode but `default`."""

LATCHED: Final = "bypassPermissions was not allowed when the session began; the mode is default"

_BYPASS_KEEPS: frozenset[HumanOnlyKind] = frozenset({"catastrophic", "managed"})


class ModeVerdict(Struct, frozen=True):
    """The action after the mode; `note` says what the mode did, for people."""

    action: Action
    reason: str
    note: str = ""


class NextMode(Struct, frozen=True):
    """The mode after another one; `warning` is for the person who wanted a mode that is not to be had."""

    mode: PermissionMode
    warning: str = ""


def next_mode(mode: PermissionMode, *, may_bypass: bool) -> NextMode:
    """The mode that follows `mode` in `CYCLE`, round and round.

    Without the latch (`may_bypass`: it was asked for at the start, and no setting enforces the rules) what
    would be bypassPermissions is default, with a warning. Without permissions there is nothing to go through.
    """
    if mode == "disabled":
        return NextMode(mode, "permissions are disabled for this run")
    following = CYCLE[(CYCLE.index(mode) + 1) % len(CYCLE)]
    if following == "bypassPermissions" and not may_bypass:
        return NextMode("default", LATCHED)
    return NextMode(following)


def plan_refusal(tool: JudgedTool, *, can_ask: bool) -> str | None:
    """Why plan mode does not let the tool run, or `None`; `can_ask` is whether a tool presents plans."""
    if tool.kind == "read" or (tool.harmless and not tool.spec.persists):
        return None
    return (
        f"{tool.name} is not available in plan mode, which only reads; present the plan"
        f"{f' with {PLAN_LEAVER}' if can_ask else ''}, and it can run once the user has approved it"
    )


def apply_mode(
    judgement: Judgement, mode: PermissionMode, tool: JudgedTool, *, sandboxed: bool = False
) -> ModeVerdict:
    """Apply the mode to an ask. `sandboxed` promises that a shell command really runs in the full sandbox."""
    if judgement.action != "ask":
        return ModeVerdict(judgement.action, judgement.reason)
    human_only = [only for only in judgement.human_only if only.kind != "outside"]
    match mode:
        case "bypassPermissions" if not any(only.kind in _BYPASS_KEEPS for only in human_only):
            return ModeVerdict("allow", "", mode)
        case "dontAsk":
            return _unasked(judgement)
        case "acceptEdits" if tool.edits and not judgement.human_only and not judgement.explicit:
            return ModeVerdict("allow", "", "acceptEdits")
        case _:
            pass
    if sandboxed and tool.command is not None and not human_only and not judgement.explicit:
        return ModeVerdict("allow", "", "sandboxed")
    return ModeVerdict("ask", judgement.asked_reason)


def _unasked(judgement: Judgement) -> ModeVerdict:
    """Nobody is asked: an ask becomes an allow, unless only a person may say yes; then it is a deny."""
    human_only = [only for only in judgement.human_only if only.kind != "outside"]
    if not human_only:
        return ModeVerdict("allow", "", "dontAsk")
    if all(only.kind == "managed" for only in human_only):
        return ModeVerdict("ask", judgement.reason)
    only = judgement.human_only_reason
    return ModeVerdict("deny", f"{judgement.reason}. Nobody is asked in this mode, and {only}")
