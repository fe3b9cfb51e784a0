"""The rules that count when no other rule does."""

from __future__ import annotations

from caliban_permissions.rule import Rule

_ALLOWED = ("Read", "Grep", "Glob", "TodoWrite", "EnterPlanMode", "ExitPlanMode")
_ASKED = ("WebFetch", "Bash", "Write", "Edit", "*")

DEFAULT_RULES: tuple[Rule, ...] = (
    *(Rule(pattern=name, action="allow", source="default") for name in _ALLOWED),
    *(Rule(pattern=name, action="ask", source="default") for name in _ASKED),
)
"""The built-in tail of every rule list. `*` makes every unknown tool an ask."""
