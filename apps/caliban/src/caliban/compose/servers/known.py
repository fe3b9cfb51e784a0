"""What holds for tools of servers that nobody has looked at yet; nothing of servers is loaded here."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from caliban_agent_core.ports import Rules
from caliban_common.permission import Decision
from caliban_common.tool import ToolSpec

NEW: Final = (
    "the tool is new on its server: a rule for several tools does not mean it until somebody has looked at it"
)


class NewToolRules:
    """`rules`, for which a rule about several tools does not mean those of servers that `is_new` says are."""

    def __init__(self, rules: Rules, is_new: Callable[[str], bool]) -> None:
        self._rules = rules
        self._is_new = is_new

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision | Awaitable[Decision]:
        """The verdict on a call; see `Rules`."""
        decision = self._rules.decide(tool, args)
        return self._bound(decision, tool) if isinstance(decision, Decision) else self._later(decision, tool)

    async def _later(self, decision: Awaitable[Decision], tool: ToolSpec) -> Decision:
        return self._bound(await decision, tool)

    def _bound(self, decision: Decision, tool: ToolSpec) -> Decision:
        if decision.action != "allow" or decision.by != "rule":
            return decision
        if decision.rule is None or _is_exact(decision.rule, tool.name) or not self._is_new(tool.name):
            return decision
        return Decision(action="ask", reason=NEW, rule=decision.rule, match=decision.match, by="rule")


def _is_exact(pattern: str, name: str) -> bool:
    return pattern == name or pattern.startswith((f"{name}:", f"{name}("))
