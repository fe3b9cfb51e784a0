"""Words that the loop, the permission engine and the faces share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Action: TypeAlias = Literal["allow", "ask", "deny"]

PermissionMode: TypeAlias = Literal[
    "default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "disabled"
]
"""`disabled` is the mode of `--no-permissions`: no rule is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The verdict on one tool call.

    `reason` is told to the model and to the person; `rule` is the pattern that decided, if one did.
    """

    action: Action
    reason: str = ""
    rule: str | None = None
