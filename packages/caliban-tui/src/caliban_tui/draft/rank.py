"""How well a name fits what was typed of it: characters in order, best in runs that begin words."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from caliban_common.lazy import lazy_pattern

BREAKS: Final = frozenset("/\\-_. :")
WORD_START: Final = lazy_pattern(r"(?:\A|[/\\\-_. :])([^/\\\-_. :])")
NO_FIT: Final = -1.0
SLICE: Final = 4000
"""Names that are looked at between two keys: 2 to 6 ms of work."""


def fit(query: str, name: str) -> float:
    """How well `name` fits `query`, more being better; `NO_FIT` where it does not. Case counts for nothing.

    The whole name is best, then its beginning, a run that begins a word, any run, and characters apart; of
    two that fit alike the shorter is the better one.
    """
    return fit_lower(query.lower(), name.lower())


def fit_lower(query: str, name: str) -> float:
    """`fit` of texts that are in lower case."""
    base = name.rfind("/", 0, len(name) - 1) + 1
    short = 40.0 / (40 + len(name))
    place = name.find(query, base)
    if place >= 0:
        if place == base:
            return (9.0 if len(name) - base == len(query) else 8.0) + short
        return (7.0 if name[place - 1] in BREAKS else 6.0) + short
    place = name.find(query)
    if place >= 0:
        return (5.0 if not place or name[place - 1] in BREAKS else 4.0) + short
    spread = _spread(query, name, base)
    if spread == NO_FIT:
        spread = _spread(query, name, 0)
        return spread if spread == NO_FIT else spread + short
    return 1.0 + spread + short


def _spread(query: str, name: str, start: int) -> float:
    """How well the characters of `query` lie in `name` behind `start`, from 0 to 2."""
    place, before, good = start, start - 2, 0.0
    for character in query:
        position = name.find(character, place)
        if position < 0:
            return NO_FIT
        if position != before + 1:
            word = _word_start(character, name, position)
            if word >= 0 and _follows(query, character, name, word):
                position = word
        if not position or name[position - 1] in BREAKS:
            good += 1.0
        elif position == before + 1:
            good += 0.7
        before = position
        place = position + 1
    return 2.0 * good / len(query)


def _word_start(character: str, name: str, place: int) -> int:
    """The next place from `place` on where `character` begins a word; -1 for none."""
    while place >= 0:
        if not place or name[place - 1] in BREAKS:
            return place
        place = name.find(character, place + 1)
    return -1


def _follows(query: str, character: str, name: str, place: int) -> bool:
    """Whether what comes behind the first `character` of `query` can still be found behind `place`."""
    rest = query[query.index(character) + 1 :]
    for wanted in rest:
        place = name.find(wanted, place + 1)
        if place < 0:
            return False
    return True


class RankedNames(Struct, frozen=True, kw_only=True):
    """Names to rank: as they are, in lower case, what is behind the last `/`, and how their words begin."""

    names: tuple[str, ...]
    lower: tuple[str, ...]
    bases: tuple[str, ...]
    initials: tuple[str, ...]
    sizes: tuple[int, ...]


def prepared(names: Sequence[str]) -> RankedNames:
    """`names`, ready to be ranked: 3 us for each, so a thread's work for many."""
    lower = tuple(name.lower() for name in names)
    return RankedNames(
        names=tuple(names),
        lower=lower,
        bases=tuple(name[name.rfind("/", 0, len(name) - 1) + 1 :] for name in lower),
        initials=tuple("".join(WORD_START.findall(name)) for name in lower),
        sizes=tuple(map(len, lower)),
    )


class NameRanking:
    """The best of many names for a text that grows: `step` works a slice off, so that keys come between.

    A name that did not fit is not looked at again while the text only grows, and one that did is searched
    from where the last character was found. Rough classes make a list of the best, which alone is weighed.
    """

    def __init__(self, names: RankedNames, *, keep: int = 50) -> None:
        self._names = names
        self._keep = keep
        everything = range(len(names.names))
        self._levels: list[tuple[str, Sequence[int], Sequence[int]]] = [
            ("", everything, [0] * len(everything))
        ]
        self._query = ""
        self._place = 0
        self._fitting: list[int] = []
        self._ends: list[int] = []
        self._classes: list[list[int]] = []
        self.is_done: bool = True

    @property
    def best(self) -> tuple[int, ...]:
        """The numbers of the best so far, the best first."""
        lower, query = self._names.lower, self._query
        numbers = [number for numbers in self._classes for number in numbers][: 2 * self._keep]
        if query:
            numbers.sort(key=lambda number: -fit_lower(query, lower[number]))
        return tuple(numbers[: self._keep])

    @property
    def fitting(self) -> int:
        """How many fit, so far."""
        return len(self._fitting)

    def ask(self, query: str) -> None:
        """Begin to rank for `query`, which is in lower case."""
        while len(self._levels) > 1 and not query.startswith(self._levels[-1][0]):
            self._levels.pop()
        self._query, self._place = query, 0
        self._fitting, self._ends = [], []
        self._classes = [[], [], [], [], []]
        self.is_done = False

    def step(self, size: int = SLICE) -> bool:
        """Look at the next `size` names; whether that were the last."""
        if self.is_done:
            return True
        known, todo, ends = self._levels[-1]
        numbers, places = todo[self._place : self._place + size], ends[self._place : self._place + size]
        self._place += size
        lower = self._names.lower
        for character in self._query[len(known) :]:
            hits = [lower[n].find(character, place) for n, place in zip(numbers, places, strict=True)]
            numbers = [n for n, place in zip(numbers, hits, strict=True) if place >= 0]
            places = [place + 1 for place in hits if place >= 0]
        self._fitting += numbers
        self._ends += places
        self._class(numbers)
        if self._place >= len(todo):
            self.is_done = True
            if self._query != known:
                self._levels.append((self._query, self._fitting, self._ends))
        return self.is_done

    def _class(self, numbers: Sequence[int]) -> None:
        """Put the shortest of each class where there is room: a class is looked for while better are few."""
        query, names = self._query, self._names
        tests: tuple[Callable[[Sequence[int]], list[int]], ...] = (
            lambda some: [n for n in some if names.bases[n].startswith(query)],
            lambda some: [n for n in some if query in names.bases[n]],
            lambda some: [n for n in some if query in names.initials[n]],
            lambda some: [n for n in some if query in names.lower[n]],
            list,
        )
        room = self._keep
        left = numbers
        for kept, test in zip(self._classes, tests, strict=True):
            if room <= 0:
                kept.clear()
                continue
            some = test(left)
            kept[:] = heapq.nsmallest(self._keep, (*kept, *some), key=names.sizes.__getitem__)
            room -= len(kept)
            if room > 0 and some:
                taken = set(some)
                left = [n for n in left if n not in taken]
