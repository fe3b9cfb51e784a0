"""The words of a command sorted into options and operands, leniently: what is not known is a flag."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct


class SortedWords(Struct, frozen=True):
    """`letters` are the short options, `options` the long ones and all that have a value, with it."""

    letters: str
    options: tuple[tuple[str, str], ...]
    operands: tuple[str, ...]

    def has(self, letters: str, *names: str) -> bool:
        """Whether one of the short or of the long options stands there, also shortened."""
        return not set(letters).isdisjoint(self.letters) or any(
            _shortens(given, name) for given, _ in self.options for name in names
        )

    def values(self, letters: str, *names: str) -> tuple[str, ...]:
        """The values of a short option or of the long ones that mean the same."""
        return tuple(
            value
            for given, value in self.options
            if (len(given) == 1 and given in letters) or any(_shortens(given, name) for name in names)
        )


def sort_words(words: Sequence[str], takes: str = "", long_takes: str = "") -> SortedWords:
    """Sort them as getopt does; `takes` and `long_takes` are the options that have a value."""
    letters: list[str] = []
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    long = tuple(long_takes.split())
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word == "--":
            operands += words[at:]
            break
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            if not equals and any(_shortens(name, known) for known in long) and at < len(words):
                value = words[at]
                at += 1
            options.append((name, value))
        elif word.startswith("-") and word != "-":
            for place, letter in enumerate(word[1:], start=2):
                letters.append(letter)
                if letter in takes:
                    value = word[place:]
                    if not value and at < len(words):
                        value = words[at]
                        at += 1
                    options.append((letter, value))
                    break
        else:
            operands.append(word)
    return SortedWords("".join(letters), tuple(options), tuple(operands))


def _shortens(given: str, name: str) -> bool:
    return given == name or (len(given) > 2 and name.startswith(given))
