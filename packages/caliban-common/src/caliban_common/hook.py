"""The one question a hook is asked: does it object?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import Struct

HookName: TypeAlias = Literal["UserPromptSubmit", "PreTurn", "PreToolUse", "PostToolUse", "PostTurn"]


class HookEvent(Struct, frozen=True, kw_only=True):
    """One moment of a run. `payload` is plain JSON data of the documented shape for `name`."""

    name: HookName
    session_id: str
    payload: Mapping[str, Any]


class HookVerdict(Struct, frozen=True, kw_only=True):
    """The answer of all hooks together: the strictest one.

    `updated_input` replaces a tool call's input and is judged again by the rules.
    """

    deny: bool = False
    reason: str = ""
    updated_input: Mapping[str, Any] | None = None


class Hooks(Protocol):
    """Whoever may object to what happens in a run."""

    async def fire(self, event: HookEvent) -> HookVerdict:
        """Tell the hooks of `event`; only `UserPromptSubmit`, `PreTurn` and `PreToolUse` can be denied."""
        ...
