"""`caliban perms test` and `caliban perms explain`: what the rules say to a call, without making it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from caliban.cli.foreign import TOOLS
from caliban.cli.help import command_parser
from caliban.cli.invocation import Invocation
from caliban.cli.tables.perms import CALL_EXAMPLE, PERMS
from caliban.commands.boxed import tried_box
from caliban.commands.report import report
from caliban.compose.permissions import build_engine
from caliban.compose.project import open_project
from caliban.compose.toolnames import own_specs
from caliban.compose.workspace import build_workspace
from caliban.errors import UsageError
from caliban.stdio import complain, print_text, write_out
from caliban_common.canonical import canonical_arguments
from caliban_common.near import nearest
from caliban_common.permission import Action
from caliban_common.text import one_line
from caliban_common.tool import ToolSpec
from caliban_permissions import Engine, Explanation, MatchedRule
from caliban_permissions.names import guide_spec

EXITS: Final[Mapping[Action, int]] = MappingProxyType({"allow": 0, "deny": 1, "ask": 2})
FILE_ENDING: Final = ".toml"
CALL_WORDS: Final = f"a call is a tool and its input: Bash {shlex.quote(CALL_EXAMPLE)}"


def perms(invocation: Invocation) -> int:
    """Show the help: `perms` needs a verb."""
    return print_text(command_parser(PERMS).format_help())


def test(invocation: Invocation) -> int:
    """Judge one call, or those of a file. The exit code is the verdict: 0 allow, 1 deny, 2 ask."""
    values = invocation.values
    if values["input"] is None and values["tool"].endswith(FILE_ENDING):
        from caliban.commands.perms.calls import judge_calls

        return judge_calls(Path(values["tool"]), _Judge(invocation))
    explanation = _explained(invocation)
    return print_text(_line(explanation)) or EXITS[explanation.verdict]


def explain(invocation: Invocation) -> int:
    """Judge one call, and say why."""
    explanation = _explained(invocation)
    if invocation.values["json"]:
        from caliban.commands.perms.explained import as_json

        return write_out(as_json(explanation)) or EXITS[explanation.verdict]
    return print_text(_full(explanation)) or EXITS[explanation.verdict]


class _Judge:
    """Judges calls under the conditions of a run."""

    def __init__(self, invocation: Invocation) -> None:
        self._options = invocation.options
        self._workspace = build_workspace(self._options.workspace.workspace)
        self._project = open_project(self._options.settings, self._workspace)
        self._known = {spec.name: spec for spec in own_specs()}
        self._box = tried_box(self._options.workspace, self._project.settings, self._workspace)
        self._engine = self._with(self._known)

    def _with(self, known: Mapping[str, ToolSpec]) -> Engine:
        return build_engine(
            self._options.permissions,
            self._project.settings,
            self._workspace,
            known.values(),
            trusted=self._project.trust.counts,
            box=self._box,
        ).asking()

    def __call__(self, name: str, arguments: Mapping[str, Any]) -> Explanation:
        """The verdict on a call, with all that is behind it."""
        known = self._known if name in self._known else _with_guide(self._known, name)
        engine = self._engine if known is self._known else self._with(known)
        tool = known.get(name) or ToolSpec(name=name, description="", input_schema={})
        if tool.name not in known and not _is_pattern_of_server(tool.name):
            meant = TOOLS.get(tool.name.lower()) or nearest(tool.name, known)
            hint = f"did you mean {meant}? " if meant else ""
            complain(f"caliban: there is no tool {one_line(tool.name, max_chars=80)} in this version\n")
            complain(f"hint: {hint}the verdict is that on a tool of an installed package\n")
        given = canonical_arguments(tool, arguments)
        explanation = engine.explain(tool, given)
        if (
            explanation.action != "ask"
            or engine.mode != "auto"
            or self._options.permissions.disable_auto_mode
        ):
            return explanation
        return self._in_auto_mode(engine, tool, given, explanation)

    def _in_auto_mode(
        self, engine: Engine, tool: ToolSpec, arguments: Mapping[str, Any], plain: Explanation
    ) -> Explanation:
        """What auto mode's lists decide about an ask; no model is asked here."""
        from caliban.compose.asking.lists import read_auto_lists
        from caliban_permissions.auto.judge import AutoJudge

        lists = read_auto_lists(self._options.settings, self._workspace, report)
        ruling = AutoJudge(engine, lists).judge(tool, arguments)
        decision = ruling.decision
        words = {"open": "its model would be asked", "person": "only a person may answer it"}
        entry = f": {decision.rule}" if decision.rule not in (None, plain.rule) else ""
        auto = words.get(ruling.standing, f"one of its lists decides{entry}")
        return replace(
            plain,
            action=decision.action,
            reason=decision.reason,
            rule=decision.rule,
            match=decision.match,
            by=decision.by,
            updated_input=decision.updated_input,
            suggestions=decision.suggestions,
            auto=auto,
        )


def _explained(invocation: Invocation) -> Explanation:
    values = invocation.values
    if any(sign in values["tool"] for sign in "(: "):
        shown = one_line(values["tool"], max_chars=80)
        raise UsageError(f"a call is judged, not a pattern: {shown!r} names no tool", hint=CALL_WORDS)
    return _Judge(invocation)(values["tool"], _arguments(values["input"] or "{}"))


def _with_guide(known: Mapping[str, ToolSpec], name: str) -> Mapping[str, ToolSpec]:
    """`known`, with a tool of the guide that does not exist yet as it will be."""
    to_come = guide_spec(name)
    return known if to_come is None else {**known, name: to_come}


def _arguments(text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the input is not JSON: {error}", hint=CALL_WORDS) from error
    if not isinstance(value, dict):
        raise UsageError("the input must be a JSON object", hint=CALL_WORDS)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{one_line(twice, max_chars=80)} stands twice in an object")
    return value


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
    lines += [f"auto mode: {explanation.auto}"] if explanation.auto else []
    if explanation.reason and explanation.verdict == "allow":
        lines.append(f"reason: {explanation.reason}")
    for part in explanation.parts:
        lines.append(f"  {part.action:5} {part.kind} {part.text}   [{part.rule or 'default'}, {part.scope}]")
        lines.extend(f"        {note}" for note in part.notes)
        lines.extend(_rule_line(rule) for rule in part.matched if rule.scope != "default")
    lines.extend(f"cannot be read off the text: {text}" for text in explanation.opaque)
    lines.extend(f"a person must decide: {text}" for text in explanation.human_only)
    lines.extend(f"guard: {kind}: {text}" for kind, text in explanation.guards)
    if explanation.updated_input is not None:
        lines.append(f"it would run as: {json.dumps(explanation.updated_input, ensure_ascii=False)}")
    lines.extend(f"a rule that would allow it: {text}" for text in explanation.suggestions)
    return "\n".join(lines) + "\n"
