"""`caliban perms test` and `caliban perms explain`: what the rules say to a call, without making it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from caliban.cli.commands import CALL_EXAMPLE
from caliban.cli.invocation import Invocation
from caliban.compose.permissions import build_rules, resolve_mode, roots_of
from caliban.compose.settings import build_settings
from caliban.compose.workspace import build_workspace
from caliban.errors import UsageError
from caliban.stdio import write_out
from caliban_common.permission import Action
from caliban_common.text import clean
from caliban_common.tool import ToolSpec
from caliban_permissions import Engine, Explanation
from caliban_permissions.names import guide_spec
from caliban_tools_builtin import builtin_specs

EXITS: Final[Mapping[Action, int]] = MappingProxyType({"allow": 0, "deny": 1, "ask": 2})


def perms(invocation: Invocation) -> int:
    """Judge one call. The exit code is the verdict: 0 allow, 1 deny, 2 ask."""
    sources, values = invocation.options.settings, invocation.values
    options = replace(
        invocation.options.permissions,
        allow_dangerously_skip_permissions=values["permission_mode"] == "bypassPermissions",
        disable_auto_mode=True,
    )
    workspace = build_workspace(invocation.options.workspace.workspace)
    settings = build_settings(sources, workspace)
    known = _known(values["tool"])
    engine = Engine(
        build_rules(options, settings, trusted=sources.trust_project),
        mode=resolve_mode(options, settings),
        workspace=workspace,
        interactive=True,
        roots=roots_of(settings, workspace),
        vouched=known.values(),
    )
    tool = known.get(values["tool"]) or ToolSpec(name=values["tool"], description="", input_schema={})
    explanation = engine.explain(tool, _arguments(values["input"]))
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
    known = {spec.name: spec for spec in builtin_specs()}
    to_come = guide_spec(name)
    if to_come is not None:
        known.setdefault(name, to_come)
    return known


def _line(explanation: Explanation) -> str:
    return f"MATCH: pattern={explanation.rule or '(default)'} action={explanation.verdict}\n"


def _full(explanation: Explanation) -> str:
    lines = [_line(explanation).rstrip(), f"mode: {explanation.mode}"]
    if explanation.reason:
        lines.append(f"reason: {explanation.reason}")
    for part in explanation.parts:
        lines.append(f"  {part.action:5} {part.kind} {part.text}   [{part.rule or 'default'}, {part.scope}]")
        lines.extend(f"        {note}" for note in part.notes)
    lines.extend(f"cannot be read off the text: {text}" for text in explanation.opaque)
    lines.extend(f"a person must decide: {text}" for text in explanation.human_only)
    lines.extend(f"a rule that would allow it: {text}" for text in explanation.suggestions)
    return "\n".join(lines) + "\n"
