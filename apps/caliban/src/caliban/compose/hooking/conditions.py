"""The `if` of a hook: a permission pattern, met as widely as a deny rule would be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from caliban_agent_core.toolsearch.spec import search_spec
from caliban_common.tool import ToolSpec
from caliban_hooks import BadHook, HookSpec
from caliban_permissions import Engine, Rule, RuleSet, parse_rules
from caliban_tools_builtin import builtin_specs


class Conditions:
    """Says whether calls in `workspace` may fit the patterns of `specs`. Raises `BadHook` for a bad one."""

    def __init__(self, specs: Sequence[HookSpec], workspace: Path, vouched: Sequence[ToolSpec]) -> None:
        own = (*builtin_specs(), search_spec(), *vouched)
        self._specs = {spec.name: spec for spec in own}
        self._engines: dict[str, Engine] = {}

        def engine(*deny: Rule) -> Engine:
            everything = parse_rules({"allow": ["*"]}, source="user")
            rules = RuleSet(user=(*deny, *everything))
            return Engine(rules, mode="dontAsk", workspace=workspace, interactive=True, vouched=own)

        for spec in specs:
            if not spec.condition or spec.condition in self._engines:
                continue
            (rule,) = parse_rules({"deny": [spec.condition]}, source="user")
            if rule.problem is not None:
                raise BadHook(spec.place, f"its condition is no permission pattern: {rule.problem}")
            self._engines[spec.condition] = engine(rule)
        self._without = engine()

    def __call__(self, pattern: str, tool: str, args: Mapping[str, Any]) -> bool:
        """Whether a call may fit `pattern`: where a deny of that decides, or makes a difference.

        What is denied by no rule at all could not be read: nobody knows, so it fits.
        """
        spec = self._specs.get(tool) or ToolSpec(name=tool, description="", input_schema={"type": "object"})
        decision = self._engines[pattern].decide(spec, args)
        if decision.action == "deny" and (decision.match is None or decision.match.pattern == pattern):
            return True
        return decision.action != self._without.decide(spec, args).action
