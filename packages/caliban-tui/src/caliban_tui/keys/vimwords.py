"""Words as vim has them: where the next one begins or ends, and the one around a place."""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Final, NamedTuple

BLANK: Final = 0
OTHER: Final = 1
LETTERS: Final = 2
PICTURE: Final = 3

SCRIPTS: Final = (
    (0x2070, 0x207F),
    (0x2080, 0x2094),
    (0x2800, 0x28FF),
    (0x3040, 0x309F),
    (0x30A0, 0x30FF),
    (0x3300, 0x9FFF),
    (0xAC00, 0xD7A3),
    (0xF900, 0xFAFF),
    (0x20000, 0x2FA1F),
)
"""Characters that are a word of their own beside those of another script, though no blank is between."""


@lru_cache(maxsize=4096)
def character_class(character: str) -> int:
    """Characters of one class beside each other are one word; `BLANK` is none."""
    if character in " \t\n\xa0":
        return BLANK
    if character == "_" or (character.isascii() and character.isalnum()):
        return LETTERS
    kind, code = unicodedata.category(character), ord(character)
    if kind.startswith("Z"):
        return BLANK
    script = next((first for first, last in SCRIPTS if first <= code <= last), 0)
    if script:
        return script
    if kind == "So" and code >= 0x1F000:
        return PICTURE
    if code <= 0xFF:
        return LETTERS if code >= 0xC0 or character in "ªµº" else OTHER
    return LETTERS if kind[0] in "LMN" or kind in ("Co", "Cn") else OTHER


class VimSpan(NamedTuple):
    """From and up to which place; `has_end` where the character at the end belongs to it.

    With `is_lines` it is the whole lines from one place to the other.
    """

    start: int
    end: int
    has_end: bool = True
    is_lines: bool = False


class WordCursor:
    """A place in `text` that goes from word to word; a `big` one is all between blanks.

    A step that cannot be done gives false, the place being as far as it came. Behind the last character of a
    line is a place, too, and an empty line is a word.
    """

    def __init__(self, text: str, place: int, *, big: bool = False) -> None:
        self.place = place
        self.text = text
        self._big = big

    def next_start(self, count: int, *, stops: bool) -> bool:
        """To where a word begins; with `stops` the last step ends behind its line."""
        for left in reversed(range(count)):
            kind, is_last_line = self._kind, self.text.find("\n", self.place) < 0
            ended = self._line_ended()
            if ended is None or (ended and is_last_line):
                return False
            if ended and stops and not left:
                return True
            while kind != BLANK and self._kind == kind:
                ended = self._line_ended()
                if ended is None or (ended and stops and not left):
                    return True
            while self._kind == BLANK and not self._is_empty_line:
                ended = self._line_ended()
                if ended is None or (ended and (is_last_line or (stops and not left))):
                    return True
        return True

    def next_end(self, count: int, *, stays: bool = False, at_empty: bool = False) -> bool:
        """To where a word ends; with `stays` one that ends here counts, with `at_empty` an empty line."""
        for _ in range(count):
            kind = self._kind
            if not self._forward():
                return False
            if kind != BLANK and self._kind == kind:
                if not self._skip(kind):
                    return False
            elif not stays or kind == BLANK:
                while self._kind == BLANK:
                    if at_empty and self._is_empty_line:
                        return True
                    if not self._forward():
                        return False
                if not self._skip(self._kind):
                    return False
            stays = False
            self._back()
        return True

    def last_start(self, count: int) -> bool:
        """Back to where a word begins."""
        for _ in range(count):
            if not self._back():
                return False
            while self._kind == BLANK and not self._is_empty_line:
                if not self._back():
                    return True
            if self._is_empty_line:
                continue
            kind = self._kind
            while self.place and self._kind_at(self.place - 1) == kind:
                self._back()
        return True

    def last_end(self, count: int) -> bool:
        """Back to where a word ends."""
        for _ in range(count):
            kind = self._kind
            if not self._back():
                return False
            while kind != BLANK and self._kind == kind:
                if not self._back():
                    return True
            while self._kind == BLANK and not self._is_empty_line:
                if not self._back():
                    return True
        return True

    def around(self, count: int, *, with_blanks: bool) -> VimSpan | None:
        """The word or the blanks here, and as many more; `None` where there are not so many."""
        self._to_span_start()
        start, takes_blanks = self.place, False
        if (self._kind == BLANK) == with_blanks:
            if not self.next_end(1, stays=True, at_empty=True):
                return None
        else:
            self.next_start(1, stops=True)
            if self._is_line_start:
                self._back_over_end()
            else:
                self.place -= 1
            takes_blanks = with_blanks
        has_end = True
        for left in reversed(range(count - 1)):
            if not self._over_end():
                return None
            has_end = True
            if (self._kind == BLANK) == with_blanks:
                if not self.next_end(1, stays=True, at_empty=True):
                    return None
            else:
                if not self.next_start(1, stops=True) and left:
                    return None
                has_end = not self._is_line_start
                self.place -= has_end
        if takes_blanks and (self._kind != BLANK or (self._is_line_start and not has_end)):
            start = self._with_blanks_before(start)
        return VimSpan(start, self.place, has_end)

    @property
    def _kind(self) -> int:
        return self._kind_at(self.place)

    def _kind_at(self, place: int) -> int:
        if place >= len(self.text):
            return BLANK
        kind = character_class(self.text[place])
        return min(kind, OTHER) if self._big else kind

    @property
    def _is_line_end(self) -> bool:
        return self.place >= len(self.text) or self.text[self.place] == "\n"

    @property
    def _is_line_start(self) -> bool:
        return not self.place or self.text[self.place - 1] == "\n"

    @property
    def _is_empty_line(self) -> bool:
        return self._is_line_start and self._is_line_end

    def _forward(self) -> bool:
        if self.place >= len(self.text):
            return False
        self.place += 1
        return True

    def _line_ended(self) -> bool | None:
        """Go a character on; whether that left a line or came behind its last one, `None` at the end."""
        was_end = self._is_line_end
        return (was_end or self._is_line_end) if self._forward() else None

    def _back(self) -> bool:
        if not self.place:
            return False
        self.place -= 1
        return True

    def _over_end(self) -> bool:
        """A character on, or to the next line from the last one of a line."""
        if not self._forward():
            return False
        return not self._is_line_end or self._is_line_start or self._forward()

    def _back_over_end(self) -> None:
        if self._back() and self._is_line_end and not self._is_line_start:
            self._back()

    def _skip(self, kind: int) -> bool:
        while self._kind == kind:
            if not self._forward():
                return False
        return True

    def _to_span_start(self) -> None:
        kind = self._kind
        while not self._is_line_start and self._kind_at(self.place - 1) == kind:
            self.place -= 1

    def _with_blanks_before(self, start: int) -> int:
        """`start`, or where the blanks before it begin unless those begin their line."""
        before = WordCursor(self.text, start, big=self._big)
        if before._is_line_start:
            return start
        before.place -= 1
        before._to_span_start()
        return start if before._kind != BLANK or before._is_line_start else before.place
