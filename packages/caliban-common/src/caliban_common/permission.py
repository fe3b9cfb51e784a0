"""Words that the loop, the permission engine and the faces share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Action: TypeAlias = Literal["allow", "ask", "deny"]

PermissionMode: TypeAlias = Literal[
    "default", "acceptEdits", "plan", "auto", "dontAsk", "bypassPermissions", "disabled"
]
"""`disabled` is the mode of `--no-permissions`: no rule is read."""


class Decision(Struct, frozen=True, kw_only=True):
    """The verdict on one tool call.

    `reason` is told to the model and to the person; `rule` is the pattern that decided, if one did.
    `updated_input` belongs to an allow: the input as it was judged, which runs in the place of the one given.
    """

    action: Action
    reason: str = ""
    rule: str | None = None
    updated_input: Mapping[str, Any] | None = None
