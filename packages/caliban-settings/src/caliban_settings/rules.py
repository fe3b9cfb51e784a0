"""Permission rules as settings hold them: buckets and ordered rules, cleaned, as plain data.

Ordered rules are read whole or not at all: one without a pattern or an action, or with a member that no rule
has, stops the start, whatever it would do. Of the buckets an allow that is no pattern is left out with a
warning; a deny or an ask stops the start, for leaving it out would allow.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import Struct

BUCKETS: Final = ("deny", "ask", "allow")
"""Strictest first: the order in which buckets are read as rules."""

_MEMBERS: Final = ("pattern", "action", "comment", "reason", "expires_at")


class RuleFinding(Struct, frozen=True, kw_only=True):
    """Something about the rule at `index`; a `fatal` one leaves no safe reading."""

    index: int
    text: str
    fatal: bool = False


def clean_patterns(action: str, items: list[Any]) -> tuple[list[str], list[RuleFinding]]:
    """The patterns of one bucket that are any, and what is said about the others."""
    kept: list[str] = []
    findings: list[RuleFinding] = []
    for index, item in enumerate(items):
        if isinstance(item, str) and item.strip():
            kept.append(item)
        elif action == "allow":
            findings.append(RuleFinding(index=index, text="is no pattern and is left out"))
        else:
            findings.append(
                RuleFinding(index=index, text="must be a pattern, for it forbids something", fatal=True)
            )
    return kept, findings


def clean_rules(items: list[Any]) -> tuple[list[dict[str, Any]], list[RuleFinding]]:
    """The rules of an ordered list that can be kept, and what is said about them and about the others."""
    kept: list[dict[str, Any]] = []
    findings: list[RuleFinding] = []
    for index, item in enumerate(items):
        rule, of_rule = _clean(index, item)
        findings.extend(of_rule)
        if rule is not None:
            kept.append(rule)
    return kept, findings


def rules_of(permissions: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rules of one scope's clean `permissions`, first match first.

    Ordered rules stand before the asks of the buckets and behind their denies; beside ordered rules the
    allows of buckets do not count.
    """
    buckets = {
        action: [{"pattern": pattern, "action": action} for pattern in permissions.get(action, ())]
        for action in BUCKETS
    }
    ordered = list(permissions.get("rules", ()))
    if ordered:
        return [*buckets["deny"], *ordered, *buckets["ask"]]
    return [*buckets["deny"], *buckets["ask"], *buckets["allow"]]


def with_denies_of(permissions: Mapping[str, Any], ignored: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """`permissions` with the denies of a table that is not in use otherwise, and how many those are.

    A deny does not vanish because another file wins. Works on raw data; the check finds what is malformed.
    """
    denies = [*_list(ignored, "deny"), *(rule for rule in _list(ignored, "rules") if _denies(rule))]
    merged = dict(permissions)
    if ignored.get("enforce") is True:
        merged["enforce"] = True
    if not denies:
        return merged, 0
    if _list(permissions, "rules"):
        made = [{"pattern": item, "action": "deny"} if isinstance(item, str) else item for item in denies]
        merged["rules"] = [*made, *_list(permissions, "rules")]
    else:
        patterns = [item.get("pattern") if isinstance(item, dict) else item for item in denies]
        merged["deny"] = [*patterns, *_list(permissions, "deny")]
    return merged, len(denies)


def from_legacy(data: Mapping[str, Any]) -> dict[str, Any]:
    """The `permissions` of a permissions.toml: that table, buckets and rules at the top, or `[[rule]]`s."""
    table = data.get("permissions")
    permissions = dict(table) if isinstance(table, dict) else {}
    for name in (*BUCKETS, "rules", "enforce", "default_mode", "audit_log", "audit_required"):
        if name in data:
            permissions.setdefault(name, data[name])
    old = data.get("rule")
    if isinstance(old, list):
        permissions["rules"] = [*_list(permissions, "rules"), *(_renamed(rule) for rule in old)]
    return permissions


def _clean(index: int, item: Any) -> tuple[dict[str, Any] | None, list[RuleFinding]]:
    if not isinstance(item, dict):
        return None, [
            RuleFinding(index=index, text="must be a table with `pattern` and `action`", fatal=True)
        ]
    action, pattern = item.get("action"), item.get("pattern")
    if action not in BUCKETS:
        return None, [RuleFinding(index=index, text="must have the action allow, ask or deny", fatal=True)]
    if not isinstance(pattern, str) or not pattern.strip():
        return None, [RuleFinding(index=index, text="must have a pattern", fatal=True)]
    unknown = next((name for name in item if name not in _MEMBERS), None)
    if unknown is not None:
        return None, [RuleFinding(index=index, text=f"has the unknown member `{unknown:.40}`", fatal=True)]
    rule: dict[str, Any] = {"pattern": pattern, "action": action}
    doubts: list[str] = []
    for name in ("comment", "reason"):
        if isinstance(item.get(name), str):
            rule[name] = item[name]
    if "expires_at" in item:
        moment = _moment(item["expires_at"])
        if moment is None:
            doubts.append("has an `expires_at` that is no date and time")
        else:
            rule["expires_at"] = moment
    if not doubts:
        return rule, []
    ending = "and is left out" if action == "allow" else "which does not count"
    return None if action == "allow" else rule, [RuleFinding(index=index, text=f"{doubts[0]} {ending}")]


def _moment(value: object) -> str | None:
    """An RFC 3339 moment in UTC; without an offset it is read as UTC."""
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)).isoformat()
    except (ValueError, OverflowError):
        return None


def _denies(rule: Any) -> bool:
    return isinstance(rule, dict) and rule.get("action") == "deny"


def _renamed(rule: Any) -> Any:
    if not isinstance(rule, dict) or "tool" not in rule:
        return rule
    return {"pattern": rule["tool"], **{name: value for name, value in rule.items() if name != "tool"}}


def _list(table: Mapping[str, Any], name: str) -> list[Any]:
    value = table.get(name)
    return value if isinstance(value, list) else []
