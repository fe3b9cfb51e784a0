"""Words that the loop, the permission engine and the faces share."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Action: TypeAlias = Literal["allow", "ask", "deny"]

PermissionMode: TypeAlias = Literal[
    "default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "disabled"
]
"""`disabled` is the mode of `--no-permissions`: no rule is read."""


class Decision(Struct, frozen=True, kw_only=True):
    """The verdict on one tool call.

    `reason` is told to the model and to the person; `rule` is the pattern that decided, if one did.
    """

    action: Action
    reason: str = ""
    rule: str | None = None
