"""A decision taken apart, as values: for `perms explain`, the approval modal and the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import Struct

from caliban_common.permission import Action, Decision, PermissionMode
from caliban_permissions.judgement import HumanOnlyKind, JudgedPart, Judgement, PartKind
from caliban_permissions.rules.chain import RuleChain
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.rules.rule import Scope


class MatchedRule(Struct, frozen=True, kw_only=True):
    """A rule that matches a part, whether it decided, and why or why not."""

    pattern: str
    action: Action
    scope: Scope
    decided: bool
    why: str


class Part(Struct, frozen=True, kw_only=True):
    """One thing that was decided: a call, a simple command in it, or a file that it names.

    `rule` is the pattern that decided and `scope` where it stands; `floor` is set when it holds in spite of
    an earlier rule. `notes` say what is in doubt, `matched` are all rules that match
    it, in the order of evaluation.
    """

    kind: PartKind
    text: str
    action: Action
    rule: str | None
    scope: Scope
    floor: bool
    notes: tuple[str, ...]
    matched: tuple[MatchedRule, ...] = ()


class Explanation(Decision, frozen=True, kw_only=True):
    """A decision with everything behind it: after rules and mode, before a face without a person denies.

    `opaque` names what in a shell command cannot be read off its text. `human_only` lists why only a person
    may approve: while it is not empty, no classifier and no mode but bypass may. `guards` says what
    is protected or would be destroyed, and whether the call is beside the workspace. `auto` is what the auto
    mode makes of an ask.
    """

    mode: PermissionMode
    parts: tuple[Part, ...]
    opaque: tuple[str, ...]
    human_only: tuple[str, ...]
    guards: tuple[tuple[HumanOnlyKind, str], ...]
    auto: str | None = None

    @property
    def verdict(self) -> Action:
        """The action."""
        return self.action

    @property
    def commands(self) -> tuple[Part, ...]:
        """The parts that are commands: the simple commands of a shell command."""
        return tuple(part for part in self.parts if part.kind == "command")


def parts_of(judgement: Judgement, chain: RuleChain, now: datetime) -> tuple[Part, ...]:
    """The parts of a judgement by the rules of `chain`, for people."""
    return tuple(
        Part(
            kind=part.kind,
            text=part.text,
            action=part.action,
            rule=None if part.ruling.rule is None else part.ruling.rule.rule.pattern,
            scope=part.ruling.scope,
            floor=part.ruling.floor,
            notes=(*part.notes, *(only.text for only in part.human_only if only.text not in part.notes)),
            matched=tuple(_matched(part, chain, now)),
        )
        for part in judgement.parts
    )


def _matched(part: JudgedPart, chain: RuleChain, now: datetime) -> Iterator[MatchedRule]:
    """Every rule that people wrote and that matches; the built-in ones only where one of them decides."""
    if part.subject is None:
        return
    ruling = part.ruling
    for rule in chain.matching(part.subject):
        decided = rule is ruling.rule
        if rule.scope != "default" or decided:
            yield MatchedRule(
                pattern=rule.rule.pattern,
                action=rule.action,
                scope=rule.scope,
                decided=decided,
                why=_why(rule, part, now),
            )


def _why(rule: CompiledRule, part: JudgedPart, now: datetime) -> str:
    ruling = part.ruling
    if not rule.in_force(now):
        return "it has expired"
    if rule is ruling.rule:
        if ruling.floor:
            return f"a rule of the {rule.scope} settings that forbids or asks holds whatever stands before it"
        return "it is the first that matches"
    if ruling.rule is None:
        return "it is not asked here"
    if rule.order > ruling.order:
        return f"{_place(ruling.rule)} comes first"
    return f"{_place(ruling.rule)} holds against it"


def _place(rule: CompiledRule) -> str:
    return f"{rule.action} {rule.rule.pattern} ({rule.scope})"
