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
    scored: list[tuple[int, int]] = []
    for place in places:
        total = 0
        for word in words:
            score = _score(texts[place], word)
            if score is None:
                break
            total += score
        else:
            scored.append((-total, place))
    scored.sort()
    return tuple(place for _, place in scored)


def _score(text: str, word: str) -> int | None:
    """How well `word` fits, `None` where it does not: whole at the start of a word is best."""
    at = text.find(word)
    if at >= 0:
        return 1000 + (200 if at == 0 or text[at - 1] in BOUNDARY else 0) - min(at, 99)
    score, at = 0, -1
    for letter in word:
        place = text.find(letter, at + 1)
        if place < 0:
            return None
        if place == at + 1:
            score += 5
        if place == 0 or text[place - 1] in BOUNDARY:
            score += 8
        at = place
    return score - min(at, 99) // 10
