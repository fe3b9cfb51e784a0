"""The walk over the rules: first match wins within the order, floors hold whatever comes before them.

Pure: rules and a subject in, a ruling out. What a subject is (a call, a simple command, a path that a command
writes) is its own business.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from msgspec import Struct
from msgspec.structs import replace

from caliban_common.permission import Action
from caliban_permissions.facts import JudgedTool
from caliban_permissions.names import EDITORS, READER
from caliban_permissions.paths import PathContext
from caliban_permissions.rules.compiled import CompiledRule
from caliban_permissions.rules.defaults import default_rules
from caliban_permissions.rules.rule import Rule, RuleSet, Scope

STRICTNESS: Mapping[Action, int] = {"allow": 0, "ask": 1, "deny": 2}


class Subject(Protocol):
    """What rules are asked about."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The tool names it goes by; allow rules look at the first only."""
        ...

    def covered_by(self, rule: CompiledRule) -> bool:
        """Whether an allow rule that names the tool covers all of it, narrowly."""
        ...

    def touched_by(self, rule: CompiledRule) -> bool:
        """Whether a deny or ask rule that names one of the tools means it, widely."""
        ...


class Ruling(Struct, frozen=True):
    """The outcome for one subject.

    `order` is the place of the rule in the order; `floor` says that it holds in spite of an earlier one.
    """

    action: Action
    rule: CompiledRule | None
    order: int
    floor: bool = False

    @property
    def scope(self) -> Scope:
        """Where the rule stands."""
        return "default" if self.rule is None else self.rule.scope

    @property
    def explicit(self) -> bool:
        """Whether a person wrote the rule."""
        return self.rule is not None and self.rule.scope != "default"


class RuleChain:
    """All rules of an engine in the order of evaluation, with their floors.

    The last of them are made for the `tools` that somebody vouches for. What `before` has compiled is taken
    from there, where a chain differs from it by a few rules; the place and the tools are those of it.
    """

    def __init__(
        self,
        rules: RuleSet,
        place: PathContext,
        tools: Iterable[JudgedTool] = (),
        before: RuleChain | None = None,
    ) -> None:
        kept = {} if before is None else {(id(rule.rule), rule.scope): rule for rule in before.all}
        ordered: list[CompiledRule] = []
        for scope, layer in rules.layers():
            for rule in layer:
                if scope != "project" or rule.action != "allow" or rules.project_trusted:
                    known = kept.get((id(rule), scope))
                    ordered.append(
                        CompiledRule(rule, scope, len(ordered), place)
                        if known is None
                        else known.at(len(ordered))
                    )
        self.written: tuple[CompiledRule, ...] = tuple(ordered)
        self._denies_tools = any(rule.bare and rule.action == "deny" for rule in ordered)
        last = (
            (CompiledRule(rule, "default", 0, place) for rule in default_rules(tools))
            if before is None
            else before.defaults
        )
        self.defaults: tuple[CompiledRule, ...] = tuple(
            rule.at(len(ordered) + number) for number, rule in enumerate(last)
        )
        self.all: tuple[CompiledRule, ...] = (*self.written, *self.defaults)
        self.managed: tuple[CompiledRule, ...] = tuple(rule for rule in ordered if rule.scope == "managed")
        self.user: tuple[CompiledRule, ...] = tuple(rule for rule in ordered if rule.scope == "user")
        self.unreadable: tuple[CompiledRule, ...] = tuple(
            rule for rule in ordered if rule.pattern.problem is not None and rule.action != "allow"
        )

        binding = [rule for rule in ordered if rule.action != "allow" and not rule.bare]
        self._by_tools: dict[tuple[str, ...], tuple[CompiledRule, ...]] = {}
        self._guarding: dict[tuple[str, ...], tuple[CompiledRule, ...]] = {}
        self.guards_reads: bool = any(rule.names(READER) for rule in binding)
        self.guards_edits: bool = any(rule.names(tool) for rule in binding for tool in EDITORS)

    def guarding(self, tools: tuple[str, ...]) -> tuple[CompiledRule, ...]:
        """The deny and ask rules about some paths of these tools, in their order."""
        rules = self._guarding.get(tools)
        if rules is None:
            rules = self._guarding[tools] = tuple(
                rule
                for rule in self.written
                if rule.action != "allow"
                and not rule.bare
                and rule.pattern.problem is None
                and any(rule.names(tool) for tool in tools)
            )
        return rules

    def denies_all(self, tool: str, clock: Callable[[], datetime]) -> bool:
        """Whether no rule can allow a call of the tool before a bare deny is reached."""
        if not self._denies_tools:
            return False
        now = clock()
        for rule in self.written:
            if rule.names(tool) and rule.in_force(now):
                if rule.bare:
                    return rule.action == "deny"
                if rule.action != "deny":
                    return False
        return False

    def layers(self) -> tuple[tuple[Scope, tuple[Rule, ...]], ...]:
        """The rules that count, by scope, in the order of evaluation."""
        scopes = dict.fromkeys(rule.scope for rule in self.all)
        return tuple(
            (scope, tuple(rule.rule for rule in self.all if rule.scope == scope)) for scope in scopes
        )

    def decide(self, subject: Subject, now: datetime) -> Ruling:
        """The ruling for a subject: the first match, made stricter by the floors above its scope."""
        return self.raised(self.first(self.all, subject, now), subject, now)

    def matching(self, subject: Subject) -> tuple[CompiledRule, ...]:
        """Every rule that matches a subject, in the order of evaluation, in force or not."""
        tools = subject.tools
        return tuple(
            rule
            for rule in self.all
            if (
                rule.names(tools[0]) and subject.covered_by(rule)
                if rule.action == "allow"
                else means(rule, tools) and subject.touched_by(rule)
            )
        )

    def raised(self, ruling: Ruling, subject: Subject, now: datetime) -> Ruling:
        """The ruling after the floors: managed rules always, user rules against the project."""
        if ruling.scope == "project" and self.user:
            ruling = raised_to(ruling, self.first(self.user, subject, now))
        if ruling.scope != "managed" and self.managed:
            ruling = raised_to(ruling, self.first(self.managed, subject, now))
        return ruling

    def first(self, rules: Sequence[CompiledRule], subject: Subject, now: datetime) -> Ruling:
        """The first rule that matches; without one, an allow by no rule."""
        for rule in self._about(rules, subject.tools):
            if rule.action == "allow":
                if rule.in_force(now) and subject.covered_by(rule):
                    return Ruling("allow", rule, rule.order)
            elif subject.touched_by(rule):
                return Ruling(rule.action, rule, rule.order)
        return Ruling("allow", None, len(self.all))

    def _about(self, rules: Sequence[CompiledRule], tools: tuple[str, ...]) -> Iterable[CompiledRule]:
        """Those of `rules` that may decide about something that goes by these names, in their order."""
        if rules is not self.all:
            return (rule for rule in rules if _concerns(rule, tools))
        relevant = self._by_tools.get(tools)
        if relevant is None:
            relevant = self._by_tools[tools] = tuple(rule for rule in rules if _concerns(rule, tools))
        return relevant


def _concerns(rule: CompiledRule, tools: tuple[str, ...]) -> bool:
    return rule.names(tools[0]) if rule.action == "allow" else means(rule, tools)


def means(rule: CompiledRule, tools: tuple[str, ...]) -> bool:
    """Whether a deny or ask rule is about one of the names; about the tool by a bare one of its own only."""
    if rule.names(tools[0]):
        return True
    return not rule.bare and any(rule.names(tool) for tool in tools[1:])


def raised_to(ruling: Ruling, floor: Ruling) -> Ruling:
    """The ruling, or the floor where that is stricter; an ask of the policy counts beside another ask."""
    if floor.rule is None:
        return ruling
    stricter = STRICTNESS[floor.action] - STRICTNESS[ruling.action]
    if stricter > 0 or (stricter == 0 and floor.action == "ask" and floor.scope == "managed"):
        return replace(floor, floor=True)
    return ruling
