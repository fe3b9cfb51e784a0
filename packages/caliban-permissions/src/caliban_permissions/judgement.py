"""What the rules say about a call, before the mode and the face have their word."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from caliban_common.permission import Action
from caliban_permissions.rules.chain import STRICTNESS, Hit

if TYPE_CHECKING:
    from caliban_permissions.commands.command import Command

FloorKind: TypeAlias = Literal[
    "protected", "catastrophic", "may match", "managed", "plan", "uncertain", "rule", "outside"
]
"""Why an ask may not be answered by a mode: the kind decides in which modes. `outside` (the workspace) only
keeps acceptEdits out."""

UnitKind: TypeAlias = Literal["call", "command", "line", "write", "read"]


class HumanOnly(NamedTuple):
    """A reason for which only a person may say yes."""

    kind: FloorKind
    text: str


class Unit(NamedTuple):
    """One thing that was decided: the call itself, a leaf of a command, or a file that a command names.

    `notes` are doubts and warnings for people; `floors` are filled where the action is an ask.
    """

    kind: UnitKind
    text: str
    action: Action
    hit: Hit
    notes: tuple[str, ...] = ()
    floors: tuple[HumanOnly, ...] = ()


class Outcome(NamedTuple):
    """The strictest of the units, with all of them. `reason` is empty for an allow; `command` is for Bash."""

    action: Action
    reason: str
    units: tuple[Unit, ...]
    rule: str | None = None
    command: Command | None = None

    @property
    def opaque(self) -> tuple[str, ...]:
        """What in a shell command cannot be read off its text."""
        return () if self.command is None else tuple(str(opacity) for opacity in self.command.opaque)

    @property
    def floors(self) -> tuple[HumanOnly, ...]:
        """The floors of every unit that is asked about."""
        return tuple(dict.fromkeys(floor for unit in self.units for floor in unit.floors))

    @property
    def person_only(self) -> str:
        """What only a person can approve, as the end of a sentence."""
        reasons = dict.fromkeys(floor.text for floor in self.floors if floor.kind != "outside")
        return f"only a person can approve it: {'; '.join(reasons)}"

    @property
    def explicit(self) -> bool:
        """Whether a rule that a person wrote asks."""
        return any(unit.action == "ask" and unit.hit.explicit for unit in self.units)


def refusal(text: str, reason: str) -> Outcome:
    """The outcome for an input that no tool can be given."""
    unit = Unit("call", text, "deny", Hit("deny", None, 0), (reason,))
    return Outcome("deny", reason, (unit,))


def strictest(units: tuple[Unit, ...]) -> Unit:
    """The unit that decides: the first among the strictest."""
    return max(units, key=lambda unit: STRICTNESS[unit.action])
