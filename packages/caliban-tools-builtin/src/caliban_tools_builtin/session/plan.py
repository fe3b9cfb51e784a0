"""EnterPlanMode and ExitPlanMode: only reading, until the plan is approved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caliban_common.arguments import ArgumentError, Arguments
from caliban_common.tool import ToolContext, ToolOutput
from caliban_tools_builtin.answer import answered
from caliban_tools_builtin.errors import ToolFailed
from caliban_tools_builtin.session.ports import SessionBoard

_KEY = "the plan mode"


class EnterPlanMode:
    """The tool EnterPlanMode."""

    def __init__(self, board: SessionBoard) -> None:
        self._board = board

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The mode: it changes in the order of the calls."""
        return _KEY

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """Begin plan mode; see `Tool`."""
        return await answered(lambda: self._enter(args))

    async def _enter(self, args: Mapping[str, Any]) -> ToolOutput:
        Arguments(args, known=())
        if self._board.plan_mode:
            return ToolOutput.of("→ Plan mode is on already")
        self._board.set_plan_mode(True)
        return ToolOutput.of(
            "→ Plan mode is on: only what reads may run. Look around, then present the plan",
            details={"plan_mode": True},
        )


class ExitPlanMode:
    """The tool ExitPlanMode. That it runs means that the plan was approved: the gate asks for that."""

    def __init__(self, board: SessionBoard) -> None:
        self._board = board

    def conflict_key(self, args: Mapping[str, Any]) -> str | None:
        """The mode: it changes in the order of the calls."""
        return _KEY

    async def invoke(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutput:
        """End plan mode; see `Tool`."""
        return await answered(lambda: self._exit(args))

    async def _exit(self, args: Mapping[str, Any]) -> ToolOutput:
        plan = Arguments(args, known=("plan",)).string("plan")
        if not plan.strip():
            raise ArgumentError("the plan is empty")
        if not self._board.plan_mode:
            raise ToolFailed("plan mode is not on: there is nothing to leave")
        self._board.set_plan_mode(False)
        return ToolOutput.of(
            "→ Plan mode is off: carry the plan out", details={"plan_mode": False, "plan": plan}
        )
