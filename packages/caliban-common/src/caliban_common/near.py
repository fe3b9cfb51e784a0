"""The name that was probably meant: of those that exist, the one that a mistyped word is nearest to."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The one of `names` that `word` resembles, case and punctuation aside; `None` where none does."""
    import difflib

    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(_plain(name), name)
    wanted = _plain(word[:60])
    if wanted in plain:
        return plain[wanted]
    close = [name for name in plain if distance(wanted, name) <= min(2, len(wanted) - 2)]
    if close:
        return plain[min(close, key=lambda name: distance(wanted, name))]
    similar = difflib.get_close_matches(wanted, plain, 1, 0.7)
    return plain[similar[0]] if similar else None


def did_you_mean(word: str, names: Iterable[str], *, sign: str = "") -> str:
    """`did you mean X?` for the nearest name, else nothing; `sign` stands before it where it is typed."""
    near = nearest(word, names)
    return f"did you mean {sign}{near}?" if near is not None and near != word else ""


def distance(first: str, second: str) -> int:
    """How many letters must be added, left out, exchanged or swapped with their neighbour."""
    before: list[int] = []
    row = list(range(len(second) + 1))
    for index, letter in enumerate(first, 1):
        previous, row = row, [index]
        for place, other in enumerate(second, 1):
            cost = min(previous[place] + 1, row[-1] + 1, previous[place - 1] + (letter != other))
            if index > 1 and place > 1 and letter == second[place - 2] and first[index - 2] == other:
                cost = min(cost, before[place - 2] + 1)
            row.append(cost)
        before = previous
    return row[-1]


def _plain(text: str) -> str:
    return text.lower().replace("-", "").replace("_", "").replace(" ", "")
