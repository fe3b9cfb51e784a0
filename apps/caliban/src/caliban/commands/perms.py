"""`caliban perms test` and `caliban perms explain`: what the rules say to a call, without making it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from caliban.cli.commands import CALL_EXAMPLE
from caliban.cli.foreign import TOOLS
from caliban.cli.invocation import Invocation
from caliban.compose.permissions import build_engine
from caliban.compose.settings import build_settings
from caliban.compose.workspace import build_workspace
from caliban.errors import UsageError
from caliban.stdio import complain, write_out
from caliban_agent_core.subagent.spec import agent_spec
from caliban_agent_core.toolsearch.spec import search_spec
from caliban_common.canonical import canonical_arguments
from caliban_common.near import nearest
from caliban_common.permission import Action
from caliban_common.text import clean, one_line
from caliban_common.tool import ToolSpec
from caliban_permissions import Explanation, MatchedRule
from caliban_permissions.names import guide_spec
from caliban_tools_builtin import builtin_specs

EXITS: Final[Mapping[Action, int]] = MappingProxyType({"allow": 0, "deny": 1, "ask": 2})


def perms(invocation: Invocation) -> int:
    """Judge one call. The exit code is the verdict: 0 allow, 1 deny, 2 ask."""
    sources, values = invocation.options.settings, invocation.values
    options = invocation.options.permissions
    workspace = build_workspace(invocation.options.workspace.workspace)
    settings = build_settings(sources, workspace)
    known = _known(values["tool"])
    trusted = sources.trust_project
    engine = build_engine(options, settings, workspace, known.values(), trusted=trusted, interactive=True)
    tool = known.get(values["tool"]) or ToolSpec(name=values["tool"], description="", input_schema={})
    if tool.name not in known and not _is_pattern_of_server(tool.name):
        meant = TOOLS.get(tool.name.lower()) or nearest(tool.name, known)
        hint = f"did you mean {meant}? " if meant else ""
        complain(f"caliban: there is no tool {one_line(tool.name, max_chars=80)} in this version\n")
        complain(f"hint: {hint}the verdict is that on a tool of an installed package\n")
    explanation = engine.explain(tool, canonical_arguments(tool, _arguments(values["input"])))
    text = _full(explanation) if values["verb"] == "explain" else _line(explanation)
    return write_out(clean(text).encode()) or EXITS[explanation.verdict]


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the input is not JSON: {error}", hint=f"such as {CALL_EXAMPLE}") from error
    if not isinstance(value, dict):
        raise UsageError("the input must be a JSON object", hint=f"such as {CALL_EXAMPLE}")
    return value


def _known(name: str) -> dict[str, ToolSpec]:
    """The tools that rules are about, and one of the guide that is not built yet as it will be."""
    known = {spec.name: spec for spec in (*builtin_specs(), search_spec(), agent_spec())}
    to_come = guide_spec(name)
    if to_come is not None:
        known.setdefault(name, to_come)
    return known


def _is_pattern_of_server(name: str) -> bool:
    return name.startswith("mcp__")


def _line(explanation: Explanation) -> str:
    """The verdict, and why, where it is no plain allow."""
    head = f"MATCH: pattern={explanation.rule or '(default)'} action={explanation.verdict}"
    reason = (
        f"\nreason: {explanation.reason}" if explanation.reason and explanation.verdict != "allow" else ""
    )
    return f"{head}{reason}\n"


def _rule_line(rule: MatchedRule) -> str:
    won = "won" if rule.decided else "lost"
    return f"        {won}: {rule.action} {rule.pattern} ({rule.scope}): {rule.why}"


def _full(explanation: Explanation) -> str:
    lines = [_line(explanation).rstrip(), f"mode: {explanation.mode}"]
    if explanation.reason and explanation.verdict == "allow":
        lines.append(f"reason: {explanation.reason}")
    for part in explanation.parts:
        lines.append(f"  {part.action:5} {part.kind} {part.text}   [{part.rule or 'default'}, {part.scope}]")
        lines.extend(f"        {note}" for note in part.notes)
        lines.extend(_rule_line(rule) for rule in part.matched if rule.scope != "default")
    lines.extend(f"cannot be read off the text: {text}" for text in explanation.opaque)
    lines.extend(f"a person must decide: {text}" for text in explanation.human_only)
    lines.extend(f"a rule that would allow it: {text}" for text in explanation.suggestions)
    return "\n".join(lines) + "\n"
