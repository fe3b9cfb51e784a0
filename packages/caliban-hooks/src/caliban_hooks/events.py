"""The events by name: what an answer can do to each, what a matcher is compared with, and which are fired."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from msgspec import Struct

EventRole: TypeAlias = Literal["guard", "feedback", "end", "observer"]
"""`guard`: an answer can keep it from happening. `feedback`: it has happened, and the model can be told.
`end`: an answer can keep the run going. `observer`: nothing can be changed any more."""


class EventKind(Struct, frozen=True, kw_only=True):
    """What is known of one event; `fired` is false where this version has nothing that would raise it."""

    role: EventRole
    fired: bool = True


_ROLES: Final[Mapping[EventRole, tuple[str, ...]]] = {
    "guard": (
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PreCompact",
        "SubagentStart",
        "PreTurn",
    ),
    "feedback": ("PostToolUse", "PostToolUseFailure"),
    "end": ("Stop", "SubagentStop"),
    "observer": (
        "SessionStart",
        "SessionEnd",
        "PostTurn",
        "PostCompact",
        "PermissionDenied",
        "Notification",
        "StopFailure",
        "ConfigChange",
    ),
}
_NOT_FIRED: Final = (
    "CwdChanged",
    "DirectoryAdded",
    "Elicitation",
    "ElicitationResult",
    "FileChanged",
    "InstructionsLoaded",
    "MessageDisplay",
    "PostModelSwitch",
    "PostToolBatch",
    "PreModelSwitch",
    "PreSkillShellCommand",
    "Setup",
    "TaskCompleted",
    "TaskCreated",
    "TeammateIdle",
    "UserPromptExpansion",
    "WorktreeCreate",
    "WorktreeRemove",
)

EVENTS: Final[Mapping[str, EventKind]] = MappingProxyType(
    {
        **{name: EventKind(role=role) for role, names in _ROLES.items() for name in names},
        **{name: EventKind(role="observer", fired=False) for name in _NOT_FIRED},
    }
)
"""Every event that there is a name for."""

TEXT_IS_CONTEXT: Final = frozenset({"SessionStart", "UserPromptSubmit"})
"""Events at which plain text that a program prints is told to the model."""
