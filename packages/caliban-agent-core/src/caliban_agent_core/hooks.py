"""Where a run tells its hooks: the documented payloads, and an event for every answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_agent_core.state import RunState
from caliban_common.event import HookFired
from caliban_common.hook import HookEvent, HookName, Hooks, HookVerdict
from caliban_common.message import ToolResultBlock, ToolUseBlock
from caliban_common.text import one_line
from caliban_common.tool import ToolContext

NO_OBJECTION = HookVerdict()


class HookCaller:
    """Fires the hooks of one run. Without hooks every call costs a comparison and says nothing."""

    def __init__(self, hooks: Hooks | None, state: RunState, session_id: str) -> None:
        self._hooks = hooks
        self._state = state
        self._session_id = session_id

    async def before_run(self, prompt: str) -> HookVerdict:
        """Ask about the user's prompt."""
        return await self._fire("UserPromptSubmit", {"prompt": prompt})

    async def before_turn(self, turn: int) -> HookVerdict:
        """Ask about a turn."""
        return await self._fire("PreTurn", {"turn_index": turn})

    async def after_turn(self, turn: int) -> None:
        """Tell of a turn that is over."""
        await self._fire("PostTurn", {"turn_index": turn})

    async def before_tool(self, call: ToolUseBlock, context: ToolContext) -> HookVerdict:
        """Ask about a tool call."""
        return await self._fire("PreToolUse", {"turn_index": context.turn, "tool": _tool(call)})

    async def after_tool(self, call: ToolUseBlock, result: ToolResultBlock, turn: int) -> None:
        """Tell of a tool call that has its result."""
        payload = {"turn_index": turn, "tool": _tool(call), "is_error": result.is_error}
        await self._fire("PostToolUse", payload)

    async def _fire(self, name: HookName, facts: Mapping[str, Any]) -> HookVerdict:
        if self._hooks is None:
            return NO_OBJECTION
        payload = {"hookEventName": name, "session_id": self._session_id, **facts}
        event = HookEvent(name=name, session_id=self._session_id, payload=payload)
        verdict = await _ask(self._hooks, event)
        await self._state.emit(HookFired(name=name, payload=_shown(facts, verdict)))
        return verdict


async def _ask(hooks: Hooks, event: HookEvent) -> HookVerdict:
    """The hooks' answer. The wall: hooks that fail object, for they would have been asked for a reason."""
    try:
        return await hooks.fire(event)
    except Exception as error:
        said = one_line(f"{type(error).__name__}: {error}")
        return HookVerdict(deny=True, reason=f"a hook failed: {said}")


def _tool(call: ToolUseBlock) -> dict[str, Any]:
    return {"name": call.name, "useId": call.id, "input": dict(call.input)}


def _shown(facts: Mapping[str, Any], verdict: HookVerdict) -> dict[str, Any]:
    """What a reader of events is told: who was asked and what was decided, without the input."""
    tool = facts.get("tool")
    shown = {key: value for key, value in facts.items() if key not in ("tool", "prompt")}
    if tool is not None:
        shown |= {"tool_use_id": tool["useId"], "matcher": tool["name"]}
    return {**shown, "decision": "deny" if verdict.deny else "allow"}
