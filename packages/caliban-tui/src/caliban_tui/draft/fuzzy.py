"""Which of many texts are meant by a few letters: those that have them in order, the likeliest first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

BOUNDARY: Final = frozenset(" /-_.:(,")


def ranked(texts: Sequence[str], query: str, among: Iterable[int] | None = None) -> tuple[int, ...]:
    """The places of those of `texts`, in lower case, that have the letters of `query`; equals stay in order.

    `among` are the places that a shorter query left.
    """
    places = range(len(texts)) if among is None else among
    words = query.lower().split()
    if not words:
        return tuple(sorted(places))
    found: list[tuple[int, int]] = []
    for place in places:
        total = 0
        for word in words:
            score = _score(texts[place], word)
            if score is None:
                break
            total += score
        else:
            found.append((-total, place))
    found.sort()
    return tuple(place for _, place in found)


def _score(text: str, word: str) -> int | None:
    """How well `word` fits, `None` where it does not: whole at the start of a word is best."""
    at = text.find(word)
    if at >= 0:
        return 1000 + (200 if at == 0 or text[at - 1] in BOUNDARY else 0) - min(at, 99)
    score, at = 0, -1
    for letter in word:
        found = text.find(letter, at + 1)
        if found < 0:
            return None
        if found == at + 1:
            score += 5
        if found == 0 or text[found - 1] in BOUNDARY:
            score += 8
        at = found
    return score - min(at, 99) // 10
