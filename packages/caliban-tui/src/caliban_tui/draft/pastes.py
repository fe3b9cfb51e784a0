"""What was pasted and is too long to look at: a placeholder in the draft, the text aside."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from caliban_common.lazy import lazy_pattern
from caliban_tui.width import graphemes

PASTE_CHARS: Final = 2048
PASTE_LINES: Final = 12
"""A longer paste is kept aside."""

PLACEHOLDER: Final = lazy_pattern(r"\[pasted text #\d+, [\d,]+ (?:lines|characters)\]")


class PastedTexts:
    """The pastes of a process, by their placeholders; numbers are never given twice."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._count = 0

    def shown(self, text: str, *, most: int | None = None) -> str:
        """What stands in the draft for a paste: the text, or a placeholder; `most` characters, if given."""
        lines = text.count("\n") + 1
        if len(text) <= (most or PASTE_CHARS) and (most or lines <= PASTE_LINES):
            return text
        self._count += 1
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        placeholder = f"[pasted text #{self._count}, {size}]"
        self._texts[placeholder] = text
        return placeholder

    def whole(self, text: str) -> str:
        """`text` with what its placeholders stand for."""
        if not self._texts or "[pasted text #" not in text:
            return text
        return PLACEHOLDER.sub(lambda match: self._texts.get(match[0], match[0]), text)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """What of `text` goes as one, from and up to which character.

        Placeholders, and what a person calls a character where it is several: an accent, a family.
        """
        spans = list(_joined(text))
        if self._texts and "[pasted text #" in text:
            matches = PLACEHOLDER.finditer(text)
            spans += [match.span() for match in matches if match[0] in self._texts]
        return spans

    def mended(self, before: str, after: str, cursor: int) -> tuple[str, int] | None:
        """What `after` a deletion is left of `before`, with the placeholders gone that lost a part.

        `cursor` is the place of the deletion. `None` where nothing is to be mended.
        """
        spans = self.spans(before)
        size = len(before) - len(after)
        if not spans or size <= 0 or before[:cursor] + before[cursor + size :] != after:
            return None
        start, end = cursor, cursor + size
        for first, last in spans:
            if first < end and last > start and not (start <= first and last <= end):
                start, end = min(start, first), max(end, last)
        if (start, end) == (cursor, cursor + size):
            return None
        return before[:start] + before[end:], start

    def outside(self, text: str, cursor: int, before: int) -> int:
        """`cursor`, moved out of a placeholder that it came into from `before`."""
        for first, last in self.spans(text):
            if first < cursor < last:
                return last if before <= first else first
        return cursor


def _joined(text: str) -> Iterator[tuple[int, int]]:
    """The graphemes of several characters. ASCII, and text without anything that joins, has none."""
    if text.isascii():
        return
    place = 0
    for grapheme in graphemes(text):
        if len(grapheme) > 1:
            yield place, place + len(grapheme)
        place += len(grapheme)
