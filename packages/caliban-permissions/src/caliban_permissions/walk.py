"""One call and some rules, without an engine to keep: the decision, with the whole walk to it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from caliban_common.message import ToolUseBlock
from caliban_common.permission import PermissionMode
from caliban_common.tool import ToolSpec
from caliban_permissions.engine import Engine
from caliban_permissions.explanation import Explanation
from caliban_permissions.names import guide_spec
from caliban_permissions.rules.rule import Rule, RuleSet


def explain(
    call: ToolUseBlock,
    rules: RuleSet | Iterable[Rule],
    *,
    workspace: Path,
    mode: PermissionMode = "default",
    tools: Iterable[ToolSpec] = (),
) -> Explanation:
    """The decision on `call` and everything behind it, as a face with a person would be given it.

    Rules without scopes are a person's own. `tools` are specs that somebody vouches for; of the others those
    of the guide are known by name, and any further tool is judged by its name alone. Nothing is run, asked or
    written; paths of the call are looked up.
    """
    rule_set = rules if isinstance(rules, RuleSet) else RuleSet(user=tuple(rules))
    known = {spec.name: spec for spec in tools}
    spec = known.get(call.name) or guide_spec(call.name)
    vouched = {**known, spec.name: spec} if spec is not None else known
    engine = Engine(rule_set, mode=mode, workspace=workspace, interactive=True, vouched=vouched.values())
    return engine.explain(spec or ToolSpec(name=call.name, description="", input_schema={}), call.input)
