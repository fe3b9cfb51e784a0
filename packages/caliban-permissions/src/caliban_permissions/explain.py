"""A decision taken apart, as values: for `perms explain`, the approval modal and the audit log."""

from __future__ import annotations

from msgspec import Struct

from caliban_common.permission import Action, PermissionMode
from caliban_permissions.judgement import Judgement, PartKind
from caliban_permissions.rules.rule import Rule, Scope


class Part(Struct, frozen=True, kw_only=True):
    """One thing that was decided: a call, a simple command in it, or a file that it names.

    `rule` is the pattern that decided and `scope` where it stands; `floor` is set when it holds in spite of
    an earlier rule. `notes` say what is in doubt.
    """

    kind: PartKind
    text: str
    action: Action
    rule: str | None
    scope: Scope
    floor: bool
    notes: tuple[str, ...]


class Explanation(Struct, frozen=True, kw_only=True):
    """Everything behind a decision.

    `verdict` is the action after rules and mode, before a face without a person turns an ask into a deny.
    `layers` are the rules that were asked, in the order of evaluation, the built-in ones last.
    `opaque` names what in a shell command cannot be read off its text. `human_only` lists why only a person
    may approve: while it is not empty, no classifier and no mode but bypass may. `suggestions` are the rules
    that "always allow" would write.
    """

    verdict: Action
    reason: str
    rule: str | None
    mode: PermissionMode
    parts: tuple[Part, ...]
    opaque: tuple[str, ...]
    human_only: tuple[str, ...]
    suggestions: tuple[str, ...]
    layers: tuple[tuple[Scope, tuple[Rule, ...]], ...]

    @property
    def commands(self) -> tuple[Part, ...]:
        """The parts that are commands: the simple commands of a shell command."""
        return tuple(part for part in self.parts if part.kind == "command")


def parts_of(judgement: Judgement) -> tuple[Part, ...]:
    """The parts of a judgement, for people."""
    return tuple(
        Part(
            kind=part.kind,
            text=part.text,
            action=part.action,
            rule=None if part.ruling.rule is None else part.ruling.rule.rule.pattern,
            scope=part.ruling.scope,
            floor=part.ruling.floor,
            notes=(*part.notes, *(only.text for only in part.human_only if only.text not in part.notes)),
        )
        for part in judgement.parts
    )
