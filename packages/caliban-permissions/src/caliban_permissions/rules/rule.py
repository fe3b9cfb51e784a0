"""Rules as people write them, and the layers they come in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from caliban_common.permission import Action
from caliban_permissions.errors import RuleError
from caliban_permissions.rules.pattern import parse_pattern

Scope: TypeAlias = Literal["runtime", "cli", "project", "user", "managed", "default"]
"""Where a rule came from; `default` is the built-in table."""

ACTIONS: tuple[Action, ...] = ("allow", "ask", "deny")

_RULE_KEYS = frozenset({"pattern", "action", "comment", "reason", "expires_at"})
_LEGACY_KEYS = frozenset({"tool", "action", "comment", "reason"})


class Rule(Struct, frozen=True, kw_only=True):
    """One rule. `comment` is for people, `reason` is told to the model when the rule denies.

    `expires_at` is RFC 3339 text or what a TOML reader makes of it; without an offset it is UTC. An allow
    rule that is past it, or whose expiry cannot be read, grants nothing; a deny or ask rule stays in force.
    `source` says where the rule stands, for messages only.
    """

    pattern: str
    action: Action
    comment: str | None = None
    reason: str | None = None
    expires_at: str | date | datetime | None = None
    source: str = ""

    @property
    def problem(self) -> str | None:
        """Why the pattern cannot be read, if it cannot."""
        return parse_pattern(self.pattern).problem

    def granted_until(self) -> datetime | None:
        """The instant the rule expires, in UTC; `None` when there is none or it cannot be read."""
        return _instant(self.expires_at)

    def in_force(self, now: datetime) -> bool:
        """Whether the rule counts at `now`; without an offset it is UTC."""
        if self.expires_at is None or self.action != "allow":
            return True
        until = self.granted_until()
        return until is not None and (_instant(now) or now) < until


class RuleSet(Struct, frozen=True, kw_only=True):
    """The rules of each scope, each in the order in which they count.

    `runtime` holds what a person decided in this session, newest first. Allow rules of `project` count only
    when `project_trusted`; its deny and ask rules always do.
    """

    runtime: tuple[Rule, ...] = ()
    cli: tuple[Rule, ...] = ()
    project: tuple[Rule, ...] = ()
    user: tuple[Rule, ...] = ()
    managed: tuple[Rule, ...] = ()
    project_trusted: bool = False

    def layers(self) -> Iterator[tuple[Scope, tuple[Rule, ...]]]:
        """The scopes in the order of evaluation, without the built-in defaults."""
        yield "runtime", self.runtime
        yield "cli", self.cli
        yield "project", self.project
        yield "user", self.user
        yield "managed", self.managed

    def problems(self) -> tuple[tuple[Scope, Rule, str], ...]:
        """Every rule whose pattern cannot be read, with the reason."""
        problems = ((scope, rule, rule.problem) for scope, rules in self.layers() for rule in rules)
        return tuple((scope, rule, problem) for scope, rule, problem in problems if problem is not None)


def parse_rules(data: object, *, source: str = "") -> tuple[Rule, ...]:
    """Read rules from the plain data of a TOML or JSON file, in the order in which they count.

    `data` is an array of rule tables, or a table with `rules`, with `allow`/`ask`/`deny` buckets, with the
    legacy `rule` array, or with a `permissions` table of these. Buckets have no order of their own: deny and
    ask entries come before every other rule, allow entries after. Raises `RuleError` when any part lacks
    the documented shape: a block is read whole or not at all.
    """
    if isinstance(data, Mapping):
        return _from_table(data, source)
    return tuple(_rule(item, source, place) for place, item in _numbered(data, "rules", source))


def _from_table(table: Mapping[str, Any], source: str) -> tuple[Rule, ...]:
    inner = table.get("permissions")
    if inner is not None:
        if not isinstance(inner, Mapping):
            raise RuleError(f"{_at(source)}`permissions` must be a table, got {type(inner).__name__}")
        return _from_table(inner, source)
    written = [_rule(item, source, place) for place, item in _numbered(table.get("rules"), "rules", source)]
    written += [_legacy(item, source, place) for place, item in _numbered(table.get("rule"), "rule", source)]
    return (
        *_bucket(table, "deny", source),
        *_bucket(table, "ask", source),
        *written,
        *_bucket(table, "allow", source),
    )


def _bucket(table: Mapping[str, Any], action: Action, source: str) -> list[Rule]:
    rules = []
    for place, item in _numbered(table.get(action), action, source):
        if not isinstance(item, str):
            raise RuleError(f"{place} must be a pattern, got {type(item).__name__}")
        rules.append(Rule(pattern=item, action=action, source=source))
    return rules


def _numbered(items: object, name: str, source: str) -> Iterator[tuple[str, object]]:
    if items is None:
        return
    if not isinstance(items, Sequence) or isinstance(items, (str, bytes)):
        raise RuleError(f"{_at(source)}`{name}` must be an array, got {type(items).__name__}")
    for index, item in enumerate(items):
        yield f"{_at(source)}{name}[{index}]", item


def _rule(item: object, source: str, place: str) -> Rule:
    table = _table(item, _RULE_KEYS, place)
    expires = table.get("expires_at")
    if expires is not None and not isinstance(expires, (str, date)):
        raise RuleError(f"{place}: `expires_at` must be a date, got {type(expires).__name__}")
    return Rule(
        pattern=_text(table, "pattern", place),
        action=_action(table, place),
        comment=_optional(table, "comment", place),
        reason=_optional(table, "reason", place),
        expires_at=expires,
        source=source,
    )


def _legacy(item: object, source: str, place: str) -> Rule:
    table = _table(item, _LEGACY_KEYS, place)
    return Rule(
        pattern=_text(table, "tool", place),
        action=_action(table, place),
        comment=_optional(table, "comment", place),
        reason=_optional(table, "reason", place),
        source=source,
    )


def _table(item: object, known: frozenset[str], place: str) -> Mapping[str, Any]:
    if not isinstance(item, Mapping):
        raise RuleError(f"{place} must be a table, got {type(item).__name__}")
    unknown = sorted(str(key) for key in item if key not in known)
    if unknown:
        raise RuleError(
            f"{place} has the unknown key {unknown[0]!r}", hint=f"known: {', '.join(sorted(known))}"
        )
    return item


def _text(table: Mapping[str, Any], key: str, place: str) -> str:
    value = table.get(key)
    if not isinstance(value, str) or not value.strip():
        raise RuleError(f"{place} needs a `{key}`", hint='for example "Bash:git *"')
    return value


def _action(table: Mapping[str, Any], place: str) -> Action:
    value = table.get("action")
    for action in ACTIONS:
        if value == action:
            return action
    raise RuleError(f"{place} has the action {value!r}", hint="use allow, ask or deny")


def _optional(table: Mapping[str, Any], key: str, place: str) -> str | None:
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise RuleError(f"{place}: `{key}` must be text, got {type(value).__name__}")
    return value


def _instant(value: str | date | datetime | None) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return datetime.combine(value, time(), tzinfo=UTC)
    return None


def _at(source: str) -> str:
    return f"{source}: " if source else ""
