"""What a router tells of its work: each switch of the route."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_model_router.route import Purpose, Route

Outcome: TypeAlias = Literal["answered", "left", "broken", "failed", "lost"]
"""How the call of a route ended: read to its end, given up by its reader, broken after content; before any
content failed, or behind another in a race.
"""


class Switch(Struct, frozen=True, kw_only=True):
    """A request goes to another route than the one before it, or with less effort: then both are one.

    `category` is the category of the error that caused it, or `capability`, `context`, `resting`, `hedge`,
    `budget`, `recovered` (back to an earlier choice).
    """

    purpose: Purpose
    source: Route
    target: Route
    reason: str
    category: str

    @property
    def message(self) -> str:
        """The switch in one line, for a person, who thinks of the main loop where nothing else is said."""
        purpose = "" if self.purpose == "main_loop" else f"{self.purpose}: "
        way = "" if self.source == self.target else f"{self.source.label} → "
        return f"{purpose}{way}{self.target.label}: {self.reason}"
