"""Which deferred tools an agent is shown."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from caliban_common.text import plural

MAX_ACTIVE = 24
"""Schemas of deferred tools that are shown at a time (ADR 0046 of the guide)."""


class Deferral(Struct, frozen=True, kw_only=True):
    """When deferred tools are held back, and how many are shown all the same.

    They are held back where their schemas come to more than `over_tokens` (estimated; 0 is always); at most
    `max_active` (≥ 1) of those that were found are shown at a time.
    """

    max_active: int = MAX_ACTIVE
    over_tokens: int = 0


class ActiveTools:
    """The deferred tools that one agent is shown; of too many the one goes that was not used for longest.

    `names` are in the order in which they were found: using one moves nothing in the prompt. `changes` counts
    how often they became others. It is forgotten with the session.
    """

    def __init__(self, deferral: Deferral, names: Iterable[str] = ()) -> None:
        self.deferral = deferral
        self.names: tuple[str, ...] = ()
        self.changes: int = 0
        self._recent: dict[str, None] = {}  # least recently used first
        self.use(*names)

    def use(self, *names: str) -> tuple[str, ...]:
        """Show the tools of these `names`, the last of them being the latest used; which had to go for it."""
        for name in names:
            self._recent.pop(name, None)
            self._recent[name] = None
        gone = tuple(self._recent)[: -self.deferral.max_active]
        for name in gone:
            del self._recent[name]
        shown = tuple(dict.fromkeys(name for name in (*self.names, *names) if name in self._recent))
        gone = tuple(name for name in gone if name in self.names)
        if shown != self.names:
            self.names = shown
            self.changes += 1
        return gone

    def copy(self, kept: Iterable[str]) -> ActiveTools:
        """The same for another agent, as far as they are among the `kept`; from here on each goes its way."""
        kept = frozenset(kept)
        other = ActiveTools(self.deferral, (name for name in self.names if name in kept))
        other.use(*(name for name in self._recent if name in kept))
        return other


def gone_words(gone: tuple[str, ...], active: ActiveTools) -> str:
    """Which schemas are not shown any more, and why."""
    room = active.deferral.max_active
    return f"no longer shown, for at most {plural(room, 'schema')} can be: {', '.join(gone)}"
