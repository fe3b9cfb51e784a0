"""The events by name: what an answer can change, and which ones are raised."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from msgspec import Struct

EventRole: TypeAlias = Literal["guard", "feedback", "end", "observer"]
"""`guard`: an answer can keep it from happening. `feedback`: it has happened, and the model can be told.
`end`: an answer can keep the run going. `observer`: nothing can be changed any more."""


class EventKind(Struct, frozen=True, kw_only=True):
    """Facts about one event; `unfired` says why this version never raises it."""

    role: EventRole
    unfired: str = ""

    @property
    def fired(self) -> bool:
        """Whether it is ever raised."""
        return not self.unfired


_ROLES: Final[Mapping[EventRole, tuple[str, ...]]] = {
    "guard": (
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "PreCompact",
        "SubagentStart",
        "PreTurn",
        "UserPromptExpansion",
        "PostToolBatch",
        "Elicitation",
        "ElicitationResult",
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
        "InstructionsLoaded",
        "FileChanged",
        "TaskCreated",
        "TaskCompleted",
        "ConfigChange",
    ),
}
_NOT_FIRED: Final[Mapping[str, str]] = {
    "CwdChanged": "a session works in one directory from its start to its end",
    "DirectoryAdded": "no directory is added to a session that has begun",
    "MessageDisplay": "what is shown of a message is not changed by hooks",
    "PostModelSwitch": "hooks are not told when a person goes to another model",
    "PreModelSwitch": "a person who goes to another model asks nobody",
    "PreSkillShellCommand": "a line of a command file is a call: PreToolUse is told of it",
    "Setup": "there is nothing that prepares a workspace",
    "TeammateIdle": "there are no teams of agents",
    "WorktreeCreate": "agents have no worktrees of their own",
    "WorktreeRemove": "agents have no worktrees of their own",
}
"""Events that are never fired -> why."""

EVENTS: Final[Mapping[str, EventKind]] = MappingProxyType(
    {
        **{name: EventKind(role=role) for role, names in _ROLES.items() for name in names},
        **{name: EventKind(role="observer", unfired=why) for name, why in _NOT_FIRED.items()},
    }
)
"""Every event with a name."""

TEXT_IS_CONTEXT: Final = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion"})
"""Events at which plain output of a program goes to the model as context."""
