"""`caliban perms test` and `caliban perms explain`: what the rules say to a call, without making it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from caliban.cli.help import Parser
from caliban.cli.options import PermissionOptions, SettingsOptions
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

EXAMPLE = '{"command": "git status"}'
EXITS: Final[Mapping[Action, int]] = MappingProxyType({"allow": 0, "deny": 1, "ask": 2})


def perms(arguments: Sequence[str]) -> int:
    """Judge one call. The exit code is the verdict: 0 allow, 1 deny, 2 ask."""
    parser = _parser()
    if not arguments or "-h" in arguments or "--help" in arguments:
        return write_out(parser.format_help().encode())
    said = parser.parse_args(list(arguments))
    options = PermissionOptions(
        permission_mode=said.permission_mode or os.environ.get("CALIBAN_DEFAULT_PERMISSION_MODE") or None,
        allow=tuple(said.allow or ()),
        deny=tuple(said.deny or ()),
        ask=tuple(said.ask or ()),
        allow_dangerously_skip_permissions=said.permission_mode == "bypassPermissions",
        disable_auto_mode=True,
    )
    sources = SettingsOptions(
        settings=said.settings, setting_sources=said.setting_sources, trust_project=said.trust_project
    )
    workspace = build_workspace(said.workspace)
    settings = build_settings(sources, workspace)
    known = _known(said.tool)
    engine = Engine(
        build_rules(options, settings, trusted=sources.trust_project),
        mode=resolve_mode(options, settings),
        workspace=workspace,
        interactive=True,
        roots=roots_of(settings, workspace),
        vouched=known.values(),
    )
    tool = known.get(said.tool) or ToolSpec(name=said.tool, description="", input_schema={})
    explanation = engine.explain(tool, _arguments(said.input))
    text = _full(explanation) if said.verb == "explain" else _line(explanation)
    return write_out(clean(text).encode()) or EXITS[explanation.verdict]


def _parser() -> Parser:
    parser = Parser(
        prog="caliban perms",
        description="Say what the permission rules decide about a call. Exit: 0 allow, 1 deny, 2 ask.",
        allow_abbrev=False,
    )
    parser.add_argument("verb", choices=("test", "explain"), help="one line, or the reasons too")
    parser.add_argument("tool", metavar="TOOL", help="such as Bash")
    parser.add_argument("input", metavar="JSON", nargs="?", default="{}", help=f"such as {EXAMPLE}")
    parser.add_argument("--workspace", metavar="DIR", help="default: here")
    parser.add_argument("--permission-mode", metavar="MODE")
    parser.add_argument("--settings", metavar="FILE_OR_JSON")
    parser.add_argument("--setting-sources", metavar="CSV")
    parser.add_argument("--trust-project", action="store_true")
    for action in ("allow", "deny", "ask"):
        parser.add_argument(f"--{action}", action="append", metavar="PATTERN")
    return parser


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the input is not JSON: {error}", hint=f"such as {EXAMPLE}") from error
    if not isinstance(value, dict):
        raise UsageError("the input must be a JSON object", hint=f"such as {EXAMPLE}")
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
