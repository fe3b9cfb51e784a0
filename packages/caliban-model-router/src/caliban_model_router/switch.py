"""What a router tells of its work: each switch of the route, and what each call cost."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from caliban_common.usage import Usage
from caliban_model_router.route import Purpose, Route

Outcome: TypeAlias = Literal["answered", "left", "broken", "failed", "lost"]


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


class Spent(Struct, frozen=True, kw_only=True):
    """What one call of one route used, told once per call.

    `answered` was read to its end, `left` given up by its reader, `broken` after content. `failed` ended
    before any content, `lost` a race: the reader saw nothing of these two, nor of their usage.
    """

    purpose: Purpose
    route: Route
    usage: Usage
    outcome: Outcome

    @property
    def in_stream(self) -> bool:
        """Whether the reader of the stream has seen this usage, and so will count it."""
        return self.outcome in ("answered", "left", "broken")
