"""`caliban perms list`, `add`, `remove`, `import`, `export` and `lint`: the rules as they are written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, cast

from msgspec.structs import replace

from caliban.cli.invocation import Invocation
from caliban.cli.tables.perms import FORMATS, SCOPES
from caliban.commands.perms.moment import moment_of
from caliban.compose.permissions import build_engine
from caliban.compose.project import open_project
from caliban.compose.toolnames import own_specs, unknown_tool
from caliban.compose.workspace import build_workspace
from caliban.errors import CommandRefused, MissingError, UsageError
from caliban.stdio import complain, print_text
from caliban_common.errors import FileFailed, NotRegularFile, TooLarge
from caliban_common.files import read_regular
from caliban_common.near import did_you_mean
from caliban_common.paths import config_dir, expand_user, managed_settings_dir
from caliban_common.permission import Action
from caliban_common.text import one_line, plural
from caliban_permissions import Rule
from caliban_permissions.importers import import_codex_rules, import_table
from caliban_permissions.lint import FindingKind, LintFinding, describe, lint
from caliban_permissions.names import guide_spec
from caliban_settings.edit.rules import RuleTable, toml_rules
from caliban_settings.edit.store import KeptRule, RuleStore, rule_store
from caliban_settings.key import Scope
from caliban_settings.parse import MAX_BYTES, parse

ORDER: Final[tuple[Scope, ...]] = ("local", "project", "user", "managed")
"""The scopes with files, in the order in which their rules count."""

REFUSED: Final[tuple[FindingKind, ...]] = ("unreadable", "duplicate", "conflict", "unreachable", "expiry")
"""Findings with which a rule would do nothing: none is written."""

BAD_FORMAT: Final = 2
FINDINGS: Final = 1


def list_rules(invocation: Invocation) -> int:
    """Print rules: those that are written, or those that count."""
    values = invocation.values
    scope = _scope(values["scope"]) if values["scope"] is not None else None
    if values["effective"] or scope == "cli":
        rows = [row for row in _effective(invocation) if scope is None or row["scope"] == scope]
    else:
        rows = [row for one in (ORDER if scope is None else (scope,)) for row in _written(invocation, one)]
    if values["json"]:
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    else:
        text = "".join(rule_line(row, shows_scope=scope is None) for row in rows) or "(no rules)\n"
    return print_text(text)


def add_rule(invocation: Invocation) -> int:
    """Write one rule behind the others of its scope."""
    values = invocation.values
    scope = _scope(values["scope"])
    rule: dict[str, Any] = {"pattern": values["pattern"], "action": values["rule_action"]}
    rule |= {name: values[name] for name in ("comment", "reason") if values[name] is not None}
    if values["expires_at"] is not None:
        rule["expires_at"] = _moment(values["expires_at"], rule["action"])
    _refuse_unknown_tool(rule["pattern"])
    store = _store(invocation, scope)
    kept = store.rules()
    if any(_same(item.entry.rule, rule) for item in kept):
        return print_text(f"already there: {_words(rule)}\n")
    before = [_as_rule(item) for item in kept if item.entry.problem is None]
    for finding in lint((*before, Rule(**rule))):
        if finding.index == len(before):
            if finding.kind in REFUSED:
                raise CommandRefused(
                    f"{_words(rule)} is not written: {finding.message}",
                    hint=f"caliban perms list --scope {scope} shows the rules",
                )
            complain(f"caliban: {finding.message}\n")
    path = store.add([rule])
    _say_waits(scope, [rule])
    return print_text(f"added to {path}: {_words(rule)}\n  {describe(Rule(**rule))}\n")


def remove_rule(invocation: Invocation) -> int:
    """Take out the rules with a pattern, or the one of a number."""
    values = invocation.values
    scope = _scope(values["scope"])
    if (values["pattern"] is None) == (values["index"] is None):
        raise UsageError(
            "say which rule: --pattern PATTERN or --index N", hint="caliban perms list shows them"
        )
    store = _store(invocation, scope)
    pattern, index = values["pattern"], values["index"]
    text = ""
    while True:
        kept = store.rules()
        matches = [item for item in kept if item.index == index or item.entry.rule.get("pattern") == pattern]
        if not matches:
            break
        store.remove(matches[0])
        text += f"removed from {matches[0].path}: {_words(matches[0].entry.rule)}\n"
        if index is not None:
            break
    if text:
        return print_text(text)
    patterns = [str(item.entry.rule.get("pattern")) for item in kept]
    meant = did_you_mean(pattern, patterns) if pattern is not None else f"there are {len(kept)}"
    raise CommandRefused(
        f"no matching rule in the scope {scope}", hint=meant or "caliban perms list shows them"
    )


def import_rules(invocation: Invocation) -> int:
    """Write the rules of another file behind those of a scope; say what each allows, and what is left out."""
    values = invocation.values
    scope = _scope(values["scope"])
    path = expand_user(values["source"])
    rules, remarks = _imported(path)
    store = _store(invocation, scope)
    have = [item.entry.rule for item in store.rules()]
    fresh = [rule for rule in rules if not any(_same(old, rule_row(rule)) for old in have)]
    would = "would import" if values["dry_run"] else "imported"
    lines = [f"{would}: {rule.action} {rule.pattern}\n    {describe(rule)}" for rule in fresh]
    known = len(rules) - len(fresh)
    lines += [f"{plural(known, 'rule')} already there"] if known else []
    lines += [f"left out: {remark}" for remark in remarks]
    if fresh and not values["dry_run"]:
        lines.append(f"written to {store.add([rule_row(rule) for rule in fresh])}")
    if not values["dry_run"]:
        _say_waits(scope, [rule_row(rule) for rule in fresh])
    for rule in fresh:
        name = unknown_tool(rule.pattern)
        if name is not None:
            complain(f"caliban: {rule.action} {rule.pattern} does nothing: there is no tool {name[0]}\n")
    return print_text("\n".join(lines or ["nothing to import"]) + "\n") or (0 if rules else 1)


def export_rules(invocation: Invocation) -> int:
    """Print the rules of a scope in order."""
    values = invocation.values
    scope = _scope(values["scope"])
    if values["format"] not in FORMATS:
        complain(f"caliban: there is no format {one_line(values['format'], max_chars=40)!r}; toml or json\n")
        return BAD_FORMAT
    rules = [dict(item.entry.rule) for item in _store(invocation, scope).rules() if not item.entry.problem]
    if values["format"] == "json":
        text = json.dumps({"permissions": {"rules": rules}}, indent=2, ensure_ascii=False) + "\n"
    else:
        text = toml_rules(rules)
    return print_text(text)


def lint_rules(invocation: Invocation) -> int:
    """Print what is wrong with the rules of one scope, or of all as they count."""
    scope = _scope(invocation.values["scope"]) if invocation.values["scope"] is not None else None
    kept = [
        (one, item)
        for one in (ORDER if scope is None else (scope,))
        for item in _store(invocation, one).rules()
    ]
    lines = [
        _finding(one, item, "invalid", item.entry.problem)
        for one, item in kept
        if item.entry.problem is not None
    ]
    sound = [(one, item) for one, item in kept if item.entry.problem is None]
    tools = {spec.name for spec in own_specs()}
    names = {name for _, item in sound if (name := _tool_of(item)) and guide_spec(name) is not None}
    rules = [replace(_as_rule(item), source=one) for one, item in sound]
    for finding in lint(rules, tools | names | {"AgentTool", "Task"}):
        one, item = sound[finding.index]
        lines.append(_finding(one, item, finding.kind, _numbered(finding, sound)))
    text = "\n".join(lines) if lines else f"OK ({plural(len(kept), 'rule')}, no duplicate patterns)"
    return print_text(f"{text}\n") or (FINDINGS if lines else 0)


def _scope(name: str) -> Scope:
    if name not in SCOPES:
        meant = did_you_mean(name, SCOPES)
        raise CommandRefused(
            f"unknown scope {one_line(name, max_chars=40)!r}",
            hint=" ".join(filter(None, (meant, f"one of {', '.join(SCOPES)}"))),
        )
    return cast(Scope, name)


def _store(invocation: Invocation, scope: Scope) -> RuleStore:
    workspace = build_workspace(invocation.options.workspace.workspace)
    return rule_store(scope, workspace=workspace, config_dir=config_dir(), managed_dir=managed_settings_dir())


def _written(invocation: Invocation, scope: Scope) -> list[dict[str, Any]]:
    rows = []
    for item in _store(invocation, scope).rules():
        row = {"scope": scope, "index": item.index, **item.entry.rule}
        rows.append({**row, "problem": item.entry.problem} if item.entry.problem else row)
    return rows


def _effective(invocation: Invocation) -> list[dict[str, Any]]:
    """The rules that count, in the order of evaluation."""
    options = invocation.options
    workspace = build_workspace(options.workspace.workspace)
    project = open_project(options.settings, workspace)
    settings = project.settings
    trusted = project.trust.counts
    engine = build_engine(options.permissions, settings, workspace, own_specs(), trusted=trusted)
    for warning in settings.warnings:
        complain(f"caliban: {warning}\n")
    rows = [(scope, rule) for scope, rules in engine.layers() for rule in rules]
    return [
        {"scope": scope, "index": number, **rule_row(rule)} for number, (scope, rule) in enumerate(rows, 1)
    ]


def rule_line(row: Mapping[str, Any], *, shows_scope: bool) -> str:
    """A rule in one line, with its number."""
    words = f"{row['index']:3} {_text(row.get('action')):5} {_text(row.get('pattern'))}"
    notes = [row["scope"]] if shows_scope else []
    notes += [f"until {row['expires_at']}"] if "expires_at" in row else []
    notes += [f"invalid: {row['problem']}"] if "problem" in row else []
    notes += [_text(row["comment"])] if "comment" in row else []
    return words + (f"   [{'; '.join(map(one_line, notes))}]" if notes else "") + "\n"


def _text(value: object) -> str:
    return one_line(value if isinstance(value, str) else repr(value), max_chars=300)


def _words(rule: RuleTable) -> str:
    return f"{_text(rule.get('action'))} {_text(rule.get('pattern'))}"


def _same(one: RuleTable, other: RuleTable) -> bool:
    return (one.get("pattern"), one.get("action")) == (other.get("pattern"), other.get("action"))


def _as_rule(item: KeptRule) -> Rule:
    return Rule(**dict(item.entry.rule))


def rule_row(rule: Rule) -> dict[str, Any]:
    """A rule that counts, as it would be written."""
    members = ("pattern", "action", "comment", "reason", "expires_at")
    table = {name: getattr(rule, name) for name in members if getattr(rule, name) is not None}
    until = rule.granted_until()
    return table if until is None else {**table, "expires_at": until.astimezone(UTC).isoformat()}


def _moment(text: str, action: Action) -> str:
    """When a rule ends, in UTC. Raises `UsageError`."""
    utc = moment_of("--expires-at", text)
    if action != "allow":
        complain("caliban: only an allow rule ends: this one stays in force\n")
    elif utc <= datetime.now(UTC):
        raise UsageError(f"--expires-at: {one_line(text, max_chars=80)} is over", hint="give a later time")
    return utc.isoformat()


def _refuse_unknown_tool(pattern: str) -> None:
    """A mistyped name would make a rule that never counts; one that resembles nothing may still come."""
    unknown = unknown_tool(pattern)
    if unknown is None:
        return
    name, meant = unknown
    if meant:
        raise CommandRefused(f"there is no tool {name}: the rule is not written", hint=meant)
    complain(f"caliban: there is no tool {name} in this version; the rule does nothing without it\n")


def _say_waits(scope: Scope, rules: list[dict[str, Any]]) -> None:
    if scope in ("project", "local") and any(rule["action"] == "allow" for rule in rules):
        complain(
            "caliban: allow rules of a project count once this is trusted: caliban trust add "
            "(--trust-project for one run); deny and ask rules always do\n"
        )


def _imported(path: Path) -> tuple[tuple[Rule, ...], tuple[str, ...]]:
    """The rules of another file. Raises `MissingError`, `SettingsError` and `ImportRefused`."""
    try:
        raw = read_regular(path, max_bytes=MAX_BYTES)
    except FileFailed as error:
        raise MissingError(error.message) from error
    except (NotRegularFile, TooLarge) as error:
        raise CommandRefused(error.message) from error
    if path.suffix == ".rules":
        taken = import_codex_rules(raw.decode("utf-8", "replace"))
    else:
        is_toml = path.suffix == ".toml"
        data, _ = parse(raw, name=str(path), toml=is_toml)
        foreign = not is_toml and not {"caliban", ".caliban"} & {path.parent.name}
        taken = import_table(data, foreign=foreign)
    return taken.rules, taken.left_out


def _tool_of(item: KeptRule) -> str:
    return str(item.entry.rule["pattern"]).partition("(")[0].partition(":")[0]


def _finding(scope: Scope, item: KeptRule, kind: str, message: str | None) -> str:
    rule = item.entry.rule
    head = f'{kind}: pattern="{_text(rule.get("pattern"))}" action={_text(rule.get("action"))}'
    return f"{head} ({scope} {item.index}): {message}"


def _numbered(finding: LintFinding, sound: list[tuple[Scope, KeptRule]]) -> str:
    """The message, with the numbers of rules as they are listed."""
    import re

    def place(match: re.Match[str]) -> str:
        one, item = sound[int(match[1]) - 1]
        return f"rule {one} {item.index}"

    return re.sub(r"\Arule (\d+)(?= \()", place, finding.message)
