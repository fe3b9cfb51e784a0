"""The rules that stand with a server as rules of the run, and what holds for tools that are new."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Mapping
from typing import Any, Final, Protocol

from caliban_agent_core.ports import Rules
from caliban_common.permission import Decision
from caliban_common.tool import ToolSpec
from caliban_mcp.names import full_name
from caliban_settings import Settings

ORDER: Final = ("permissions.deny", "permissions.ask", "permissions.allow")
"""Where the rules of a server stand in its entry, the strictest first."""
NEW: Final = (
    "the tool is new on its server: a rule for several tools does not mean it until somebody has looked at it"
)


def with_server_rules(settings: Settings) -> dict[str, tuple[dict[str, Any], ...]]:
    """The rules of each scope with those of its servers.

    What a scope denies everywhere stands first, then what its servers deny, ask and allow, then its other
    rules.
    """
    scopes = dict(settings.rules_by_scope())
    for scope, layer in settings.layers.items():
        own = tuple(_of_servers(layer.get("mcp_servers")))
        if own:
            there = scopes.get(scope, ())
            denies = tuple(rule for rule in there if rule["action"] == "deny" and _may_mean(rule["pattern"]))
            scopes[scope] = (*denies, *own, *there)
    return scopes


def server_pattern(server: str, pattern: str) -> str:
    """A pattern of a server's own rules as one of the run: it speaks of the names that the server gives."""
    return full_name(server, pattern)


def _of_servers(tables: object) -> Iterator[dict[str, Any]]:
    if not isinstance(tables, Mapping):
        return
    for place in ORDER:
        group, _, action = place.partition(".")
        for name, table in tables.items():
            permissions = table.get(group) if isinstance(table, Mapping) else None
            if not isinstance(permissions, Mapping):
                continue
            for pattern in permissions.get(action) or ():
                yield {"pattern": server_pattern(name, str(pattern)), "action": action}


def _may_mean(pattern: object) -> bool:
    return str(pattern).startswith(("mcp__", "*"))


class KnownTools(Protocol):
    """Whoever knows which tools of servers are new."""

    def is_new(self, name: str) -> bool:
        """Whether the tool of this name is one that nobody has looked at yet."""
        ...


class NewToolRules:
    """`rules`, for which a rule about several tools does not mean those of servers that are new."""

    def __init__(self, rules: Rules, known: KnownTools) -> None:
        self._rules = rules
        self._known = known

    def decide(self, tool: ToolSpec, args: Mapping[str, Any]) -> Decision | Awaitable[Decision]:
        """The verdict on a call; see `Rules`."""
        decision = self._rules.decide(tool, args)
        return self._bound(decision, tool) if isinstance(decision, Decision) else self._later(decision, tool)

    async def _later(self, decision: Awaitable[Decision], tool: ToolSpec) -> Decision:
        return self._bound(await decision, tool)

    def _bound(self, decision: Decision, tool: ToolSpec) -> Decision:
        if decision.action != "allow" or decision.by != "rule":
            return decision
        if decision.rule is None or _is_exact(decision.rule, tool.name) or not self._known.is_new(tool.name):
            return decision
        return Decision(action="ask", reason=NEW, rule=decision.rule, match=decision.match, by="rule")


def _is_exact(pattern: str, name: str) -> bool:
    return pattern == name or pattern.startswith((f"{name}:", f"{name}("))
