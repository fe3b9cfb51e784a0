"""What was wrong with a server and could be borne: told once each, with how often."""

from __future__ import annotations

_MOST = 100


class Oddities:
    """Sentences with a count, the first hundred kinds of them."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._samples: dict[str, str] = {}

    def add(self, words: str, sample: str = "") -> None:
        """It has happened once more; the first sample is kept."""
        if words not in self._counts and len(self._counts) >= _MOST:
            words, sample = "more that is odd", ""
        self._counts[words] = self._counts.get(words, 0) + 1
        if sample:
            self._samples.setdefault(words, sample)

    def count(self, words: str) -> int:
        """How often it has happened."""
        return self._counts.get(words, 0)

    def lines(self) -> tuple[str, ...]:
        """All of them as sentences, the first first."""
        return tuple(
            words
            + (f" ({count} times)" if count > 1 else "")
            + (f": {self._samples[words]}" if words in self._samples else "")
            for words, count in self._counts.items()
        )
