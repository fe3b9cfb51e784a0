"""Notices: what a person should know beside the answer, and the one road that they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from caliban_common.event import Warned
from caliban_common.remedy import Remedy


class Notice(Struct, frozen=True, kw_only=True):
    """Something to know that ends nothing: `subtype` for programs, `message` and `hint` for people.

    `remedy` is what the hint describes, for a face that has flags for it.
    """

    subtype: str
    message: str
    hint: str | None = None
    remedy: Remedy | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


Report: TypeAlias = Callable[[Notice], None]
"""How anything below a face speaks to a person; it must not fail and must not wait."""


class Reporter:
    """The road of all notices: into the events of the prompt that runs, else to `show`, at once.

    Call it from the event loop's thread. Where several sessions share it, the prompt that began last hears
    what belongs to nobody's run.
    """

    def __init__(self, show: Report) -> None:
        self._show = show
        self._listeners: list[Report] = []
        self._held: list[Notice] = []

    def __call__(self, notice: Notice) -> None:
        """Report `notice`."""
        listener = self._listeners[-1] if self._listeners else self._show
        listener(notice)

    def tell(self, notice: Notice) -> bool:
        """Report `notice` into the prompt that runs; false, and nothing is said, where none runs."""
        if not self._listeners:
            return False
        self._listeners[-1](notice)
        return True

    def hold(self, notice: Notice) -> None:
        """Report `notice` into the prompt that runs, else into the next one, unless `held` gives it first."""
        self._held.append(notice)
        self._give_held()

    def held(self) -> Notice | None:
        """The next that was held and no prompt has heard; it is held no more."""
        return self._held.pop(0) if self._held else None

    def listen(self, listener: Report) -> None:
        """From now on `listener` is told, until it leaves."""
        self._listeners.append(listener)
        self._give_held()

    def leave(self, listener: Report) -> None:
        """Tell `listener` no more; once is enough."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def _give_held(self) -> None:
        while self._listeners and self._held:
            self._listeners[-1](self._held.pop(0))


def as_event(notice: Notice) -> Warned:
    """`notice` as an event of a run."""
    details = notice.details if notice.hint is None else {**notice.details, "hint": notice.hint}
    return Warned(subtype=notice.subtype, message=notice.message, details=details)


def as_notice(event: Warned) -> Notice:
    """What a provider, a meter or a store warns of, as a notice."""
    return Notice(subtype=event.subtype, message=event.message, details=event.details)


def drop(notice: Notice) -> None:
    """Show nothing: for embedders who read the events."""
