"""The rules that stand with a server as rules of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from caliban_mcp.names import full_name
from caliban_settings import Settings

GROUP: Final = "permissions"
ORDER: Final = ("deny", "ask", "allow")
"""Where the rules of a server stand in its entry, and in which order: the strictest first."""


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
    groups = {name: table.get(GROUP) for name, table in tables.items() if isinstance(table, Mapping)}
    ruled = {name: group for name, group in groups.items() if isinstance(group, Mapping)}
    for action in ORDER:
        for name, group in ruled.items():
            for pattern in group.get(action) or ():
                yield {"pattern": server_pattern(name, str(pattern)), "action": action}


def _may_mean(pattern: object) -> bool:
    return str(pattern).startswith(("mcp__", "*"))
