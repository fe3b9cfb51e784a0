"""The rules that count when no other rule does."""

from __future__ import annotations

from collections.abc import Iterable

from caliban_permissions.facts import JudgedTool
from caliban_permissions.rules.rule import Rule


def default_rules(tools: Iterable[JudgedTool]) -> tuple[Rule, ...]:
    """The tail of every rule list: harmless tools run, all others ask, those that nobody knows by `*`."""
    known = tuple(tools)
    allowed = (tool.name for tool in known if tool.harmless)
    asked = (tool.name for tool in known if not tool.harmless)
    return (
        *(Rule(pattern=name, action="allow", source="default") for name in allowed),
        *(Rule(pattern=name, action="ask", source="default") for name in (*asked, "*")),
    )
