"""A rate card: what an operator says models cost. `rates` reads one from a file or from settings."""

from __future__ import annotations

from datetime import date

from msgspec import Struct

from caliban_telemetry.rate import Rate


class CardEntry(Struct, frozen=True, kw_only=True):
    """One line of a rate card: what a provider asks for the models of a glob, from a day on."""

    provider: str
    model_glob: str
    effective_from: date
    rate: Rate

    def fits(self, model: str) -> bool:
        """Whether the glob covers `model`; letters count the same in either case."""
        name, glob = model.lower(), self.model_glob.lower()
        head, star, tail = glob.partition("*")
        if not star:
            return name == glob
        return len(name) >= len(head) + len(tail) and name.startswith(head) and name.endswith(tail)


class RateCard(Struct, frozen=True, kw_only=True):
    """The rates of an operator; an empty card knows no price.

    Of the entries that fit a model, the one with the newest `effective_from` that is not in the future wins;
    among those of one day the more exact glob does, then the one that stands first.
    """

    entries: tuple[CardEntry, ...] = ()

    def rate(self, provider: str, model: str, day: date) -> Rate | None:
        """The rate in force for `model` on `day`, or `None`."""
        best: CardEntry | None = None
        for entry in self.entries:
            if entry.provider != provider or entry.effective_from > day or not entry.fits(model):
                continue
            if best is None or _rank(entry) > _rank(best):
                best = entry
        return best.rate if best is not None else None


def _rank(entry: CardEntry) -> tuple[date, bool, int]:
    return entry.effective_from, "*" not in entry.model_glob, len(entry.model_glob)
