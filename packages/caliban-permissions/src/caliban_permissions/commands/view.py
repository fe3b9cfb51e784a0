"""A simple command as text for allow rules."""

from __future__ import annotations

from msgspec import Struct

from caliban_permissions.side_effects import Evidence


class View(Struct, frozen=True, kw_only=True):
    """A simple command as text for allow rules, with where each word starts in it."""

    text: str
    starts: tuple[int, ...]
    words: tuple[str, ...]

    def reaches(self, item: Evidence, *, canonical: bool) -> int:
        """How much of the text a rule must spell out to name the evidence."""
        return self.starts[item.word] + (item.size if canonical else len(self.words[item.word]))


def view_of(words: tuple[str, ...]) -> View:
    """The words as one text."""
    starts, position = [], 0
    for word in words:
        starts.append(position)
        position += len(word) + 1
    return View(text=" ".join(words), starts=tuple(starts), words=words)
