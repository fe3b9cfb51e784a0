"""What the rules say about a call, before the mode and the face have their word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from msgspec import Struct

from caliban_common.permission import Action, JudgedPaths, RuleMatch
from caliban_permissions.rules.chain import STRICTNESS, Ruling, Subject
from caliban_permissions.subjects import PathSubject

if TYPE_CHECKING:
    from caliban_permissions.commands.command import ShellCommand

HumanOnlyKind: TypeAlias = Literal[
    "protected", "catastrophic", "may match", "managed", "plan", "uncertain", "rule", "outside"
]
"""Why an ask may not be answered by a mode: the kind decides in which modes. `outside` (the workspace) only
keeps acceptEdits out."""

PartKind: TypeAlias = Literal["call", "command", "line", "write", "read"]


class HumanOnly(Struct, frozen=True):
    """A reason for which only a person may say yes."""

    kind: HumanOnlyKind
    text: str


class JudgedPart(Struct, frozen=True):
    """One thing that was decided: the call itself, a simple command in it, or a file that it names.

    `subject` is what rules were asked about, where they were. `notes` are doubts and warnings for people;
    `human_only` is filled where the action is an ask.
    """

    kind: PartKind
    text: str
    action: Action
    ruling: Ruling
    notes: tuple[str, ...] = ()
    human_only: tuple[HumanOnly, ...] = ()
    subject: Subject | None = None


class Judgement(Struct, frozen=True):
    """The strictest of the parts, with all of them. `reason` is empty for an allow; `command` is for Bash."""

    action: Action
    reason: str
    parts: tuple[JudgedPart, ...]
    rule: str | None = None
    command: ShellCommand | None = None

    @property
    def match(self) -> RuleMatch | None:
        """The rule that decided, and where it stands."""
        rule = strictest(self.parts).ruling.rule if self.rule is not None else None
        if rule is None:
            return None
        return RuleMatch(pattern=rule.rule.pattern, action=rule.action, source=rule.scope)

    @property
    def opaque(self) -> tuple[str, ...]:
        """What in a shell command cannot be read off its text."""
        return () if self.command is None else tuple(map(str, dict.fromkeys(self.command.opaque)))

    @property
    def human_only(self) -> tuple[HumanOnly, ...]:
        """Why only a person may approve: the reasons of every part that is asked about."""
        return tuple(dict.fromkeys(only for part in self.parts for only in part.human_only))

    @property
    def asked_reason(self) -> str:
        """Why it is asked about, with what only a person may approve in any part: the file behind a link."""
        others = dict.fromkeys(only.text for only in self.human_only if only.text not in self.reason)
        return f"{self.reason} ({'; '.join(others)})" if others and self.action == "ask" else self.reason

    @property
    def human_only_reason(self) -> str:
        """What only a person can approve, as the end of a sentence."""
        reasons = dict.fromkeys(only.text for only in self.human_only if only.kind != "outside")
        return f"only a person can approve it: {'; '.join(reasons)}"

    @property
    def paths(self) -> JudgedPaths | None:
        """What the paths that the call itself names were; `None` where it names none."""
        subjects = [part.subject for part in self.parts if part.kind == "call"]
        paths = [subject.names for subject in subjects if isinstance(subject, PathSubject)]
        return {names.given: names.canonicals for names in paths} or None

    @property
    def explicit(self) -> bool:
        """Whether a rule that a person wrote asks."""
        return any(part.action == "ask" and part.ruling.explicit for part in self.parts)


def refusal(text: str, reason: str) -> Judgement:
    """The judgement for an input that no tool can be given."""
    part = JudgedPart("call", text, "deny", Ruling("deny", None, 0), (reason,))
    return Judgement("deny", reason, (part,))


def strictest(parts: tuple[JudgedPart, ...]) -> JudgedPart:
    """The part that decides: the first among the strictest."""
    return max(parts, key=lambda part: STRICTNESS[part.action])
