"""A line of text that is being typed in a question or a list, as a value."""

from __future__ import annotations

from msgspec import Struct

from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText
from caliban_tui.width import graphemes


class TextField(Struct, frozen=True, kw_only=True):
    """The text, and the place in it, in characters."""

    text: str = ""
    cursor: int = 0

    @classmethod
    def of(cls, text: str) -> TextField:
        """`text` with the cursor behind it."""
        return cls(text=text, cursor=len(text))

    def key(self, name: str) -> TextField | None:
        """The field after a key; `None`: it means nothing in a field."""
        before, after = self.text[: self.cursor], self.text[self.cursor :]
        match name:
            case "backspace":
                return self._with(before[: -_last(before) or None] if before else "", after)
            case "delete":
                return self._with(before, after[_first(after) :])
            case "left" | "c-b":
                return self._at(self.cursor - _last(before))
            case "right" | "c-f":
                return self._at(self.cursor + _first(after))
            case "home" | "c-a":
                return self._at(0)
            case "end" | "c-e":
                return self._at(len(self.text))
            case "c-u":
                return self._with("", after)
            case "c-k":
                return self._with(before, "")
            case "c-w":
                return self._with(before.rstrip()[: len(before.rstrip()) - _word(before)], after)
            case _ if len(name) == 1 and name.isprintable():
                return self._with(before + name, after)
            case _:
                return None

    def typed(self, text: str) -> TextField:
        """The field with `text` at its cursor."""
        return self._with(self.text[: self.cursor] + text, self.text[self.cursor :])

    def _with(self, before: str, after: str) -> TextField:
        return TextField(text=before + after, cursor=len(before))

    def _at(self, cursor: int) -> TextField:
        return TextField(text=self.text, cursor=cursor)


def pasted_row(text: str, most: int) -> str:
    """The first `most` characters of what was pasted, in one row: a blank for all that parts its words."""
    return " ".join(neutral(text[: 8 * most]).split())[:most]


def field_segments(field: TextField, style: str = "") -> ScreenLine:
    """A field with a cell for its cursor."""
    before, after = field.text[: field.cursor], field.text[field.cursor :]
    return (
        StyledText(one_row(before, strip=False), style),
        StyledText(one_row(after[:1], strip=False) or " ", "selected"),
        StyledText(one_row(after[1:], strip=False), style),
    )


def one_row(text: str, *, strip: bool = True) -> str:
    """`text` in one row, without anything that a terminal would obey."""
    line = neutral(text).replace("\n", " ")
    return line.strip() if strip else line


def _first(text: str) -> int:
    return len(next(iter(graphemes(text)), ""))


def _last(text: str) -> int:
    return len(list(graphemes(text[-64:]))[-1]) if text else 0


def _word(text: str) -> int:
    """The length of the last word."""
    words = text.split()
    return len(words[-1]) if words else 0
