"""A list to choose from: search, preview, and letters that do something with the chosen row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from caliban_commands.answer import ShownChoice
from caliban_tui.draft.fuzzy import ranked
from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.overlay.overlay import (
    CLOSING,
    MAX_SEARCH,
    Choose,
    Close,
    OverlayStep,
    Stay,
    framed,
    key_name,
    page_of,
)
from caliban_tui.question.textfield import TextField, field_segments, one_row, pasted_row
from caliban_tui.screen import ScreenSize
from caliban_tui.width import cells, cut, line_cells, wrap

WIDE: Final = 100
"""From this width on the preview stands beside the list, below it otherwise."""

MAX_LINE: Final = 10_000
"""A paste of more characters is none for a line."""

SearchBy: TypeAlias = Literal["typing", "slash", "none"]
"""Whether every letter searches, only those behind `/`, or none: letters are keys, then, and `q` closes."""


class PickerRow(Struct, frozen=True, kw_only=True):
    """One row. `value` is what it stands for, `line` the slash command that choosing it runs.

    A row that `is_fixed` can be seen, not chosen.
    """

    label: str
    detail: str = ""
    value: str = ""
    line: str = ""
    is_current: bool = False
    is_fixed: bool = False


class PickerKey(Struct, frozen=True, kw_only=True):
    """What a key does with the row that is chosen; `does` gives the step."""

    help: str
    does: Callable[[PickerOverlay, PickerRow | None], OverlayStep]


class PickerOverlay(Struct, frozen=True, kw_only=True):
    """See `Overlay`. `matches` are the places of the rows that fit the search, `selected` is one of these.

    `preview` gives lines for a row, asked for the chosen one at each frame: it is quick. `chosen` is what
    Enter does; without it the row's `line` is run. `heading` stands above the rows. `renew` makes the list
    anew, once what it lists is another.
    """

    title: str
    rows: tuple[PickerRow, ...]
    matches: tuple[int, ...]
    texts: tuple[str, ...]
    selected: int = 0
    search: TextField = TextField()
    searches: bool = False
    by: SearchBy = "typing"
    heading: tuple[ScreenLine, ...] = ()
    empty: str = "nothing is here"
    keys: Mapping[str, PickerKey] = field(default_factory=lambda: MappingProxyType({}))
    preview: Callable[[PickerRow], tuple[ScreenLine, ...]] | None = None
    chosen: Callable[[PickerOverlay, PickerRow], OverlayStep] | None = None
    renew: Callable[[PickerOverlay], PickerOverlay] | None = None

    @property
    def row(self) -> PickerRow | None:
        """The row that is chosen."""
        return self.rows[self.matches[self.selected]] if self.matches else None

    def lines(self, size: ScreenSize) -> tuple[ScreenLine, ...]:
        """See `Overlay`."""
        is_searched = self.searches or bool(self.search.text)
        head = list(self.heading[: max(page_of(size) - 1 - is_searched, 0)])  # a row to choose is always seen
        if is_searched:
            head.append((StyledText("/ ", "prompt"), *field_segments(self.search)))
        shown = self._preview(size)
        beside = bool(shown) and size.columns >= WIDE
        columns = size.columns // 2 if beside else size.columns
        room = max(page_of(size) - len(head), 1)
        below = min(len(shown), room // 2) if shown and not beside else 0
        body = self._rows(columns, room - below)
        if beside:
            body = tuple(_joined(body, shown, columns, room))
        elif below:
            body = (*body, *shown[:below])
        return framed(self.title, (*head, *body), self._footer(), size)

    def key(self, name: str, size: ScreenSize) -> OverlayStep:
        """See `Overlay`."""
        name = key_name(name)
        step = self._moved(name, page_of(size) - len(self.heading) - 1)
        if step is not None:
            return Stay(step)
        if name == "enter":
            return self._enter()
        if name in CLOSING:
            was_searching = self.by == "slash" and (self.searches or self.search.text)
            return Stay(self.found(TextField(), searches=False)) if was_searching else Close()
        if name in self.keys and not (self.searches and len(name) == 1):
            return self.keys[name].does(self, self.row)
        if name == "q" and not self.searches:
            return Close()
        if name == "/" and self.by == "slash" and not self.searches:
            return Stay(replace(self, searches=True))
        typed = self.search.key(name) if self.searches else None
        return Stay(self if typed is None else self.found(typed, searches=True))

    def paste(self, text: str, size: ScreenSize) -> Stay | None:
        """See `Overlay`. It is searched for, also where the search has not begun."""
        if self.by == "none":
            return None
        row = pasted_row(text, max(MAX_SEARCH - len(self.search.text), 0))
        return Stay(self.found(self.search.typed(row), searches=True))

    def found(self, search: TextField, *, searches: bool) -> PickerOverlay:
        """The same with another search; a longer one looks only at what the shorter left."""
        narrows = bool(self.search.text) and search.text.startswith(self.search.text)
        same = search.text == self.search.text
        among = self.matches if narrows else None
        matches = self.matches if same else ranked(self.texts, search.text, among)
        return replace(
            self,
            search=search,
            searches=searches,
            matches=matches,
            selected=self.selected if same else 0,
        )

    def like(self, before: PickerOverlay) -> PickerOverlay:
        """The same with the search and the chosen row of `before`, as far as they are here."""
        shown = self.found(before.search, searches=before.searches)
        shown = replace(shown, selected=min(before.selected, max(len(shown.matches) - 1, 0)))
        return shown if before.row is None else shown.at(before.row.value)

    def at(self, value: str) -> PickerOverlay:
        """The same with the row of `value` chosen, where it is to be seen."""
        place = next((n for n, match in enumerate(self.matches) if self.rows[match].value == value), None)
        return self if place is None else replace(self, selected=place)

    def _moved(self, name: str, page: int) -> PickerOverlay | None:
        steps = {"up": -1, "down": 1, "pageup": -max(page, 1), "pagedown": max(page, 1)}
        last = max(len(self.matches) - 1, 0)
        if name in ("home", "end") and not self.search.text:
            return replace(self, selected=0 if name == "home" else last)
        if name not in steps:
            return None
        return replace(self, selected=min(max(self.selected + steps[name], 0), last))

    def _enter(self) -> OverlayStep:
        row = self.row
        if row is None or row.is_fixed:
            return Stay(self)
        if self.chosen is not None:
            return self.chosen(self, row)
        return Choose(row.line) if row.line else Close()

    def _rows(self, columns: int, room: int) -> tuple[ScreenLine, ...]:
        """The rows around the chosen one: of ten thousand only those that are seen are drawn."""
        if not self.matches:
            words = "nothing fits" if self.search.text else self.empty
            return tuple(plain(line, "dim") for line in wrap(words, columns))
        first = min(max(self.selected - room // 2, 0), max(len(self.matches) - room, 0))
        seen = range(first, min(first + room, len(self.matches)))
        return tuple(self._row(place, columns) for place in seen)

    def _row(self, place: int, columns: int) -> ScreenLine:
        row = self.rows[self.matches[place]]
        mark = "> " if place == self.selected else "  "
        current = "* " if row.is_current else ""
        label = mark + current + one_row(row.label)
        style = "selected" if place == self.selected else "dim" if row.is_fixed else ""
        detail = one_row(row.detail)
        room = columns - cells(label) - cells(detail)
        if detail and room >= 2:
            return (StyledText(label, style), StyledText(" " * min(room, 2) + detail, "dim"))
        return cut((StyledText(label, style), StyledText(f"  {detail}" if detail else "", "dim")), columns)

    def _preview(self, size: ScreenSize) -> tuple[ScreenLine, ...]:
        row = self.row
        if self.preview is None or row is None:
            return ()
        columns = size.columns - size.columns // 2 - 2 if size.columns >= WIDE else size.columns
        return tuple(cut(line, columns) for line in self.preview(row))

    def _footer(self) -> str:
        search = {"typing": ("type to search",), "slash": ("/ search",), "none": ()}[self.by]
        keys = [f"{key} {row.help}" for key, row in self.keys.items()]
        place = f"{self.selected + 1}/{len(self.matches)}" if self.matches else ""
        return " · ".join(part for part in (place, "enter", *keys, *search, "esc") if part)


def picker(
    title: str, rows: tuple[PickerRow, ...], *, by: SearchBy = "typing", empty: str = "nothing is here"
) -> PickerOverlay:
    """A list with every row to be seen, the current one chosen."""
    texts = tuple(f"{row.label} {row.detail}".lower() for row in rows)
    selected = next((place for place, row in enumerate(rows) if row.is_current), 0)
    return PickerOverlay(
        title=title,
        rows=rows,
        matches=tuple(range(len(rows))),
        texts=texts,
        selected=selected,
        searches=by == "typing",
        by=by,
        empty=empty,
    )


def choice_picker(choice: ShownChoice) -> PickerOverlay:
    """What a slash command lets choose, as a list; choosing runs the line of the row."""
    rows = tuple(
        PickerRow(
            label=row.line.partition(" ")[2] or row.line,
            detail=" · ".join(filter(None, (row.label, row.detail))),
            line=row.line,
            is_current=row.is_current,
        )
        for row in choice.rows
    )
    return picker(choice.title, rows)


class InputOverlay(Struct, frozen=True, kw_only=True):
    """One line to be typed; `done` says what becomes of it. See `Overlay`."""

    title: str
    done: Callable[[str], OverlayStep]
    before: PickerOverlay
    text: TextField = TextField()

    def lines(self, size: ScreenSize) -> tuple[ScreenLine, ...]:
        """See `Overlay`."""
        row = (StyledText("> ", "prompt"), *field_segments(self.text))
        return framed(self.title, (row,), "enter · esc back", size)

    def key(self, name: str, size: ScreenSize) -> OverlayStep:
        """See `Overlay`."""
        name = key_name(name)
        if name in CLOSING:
            return Stay(self.before)
        if name == "enter":
            text = self.text.text.strip()
            return self.done(text) if text else Stay(self)
        typed = self.text.key(name)
        return Stay(self if typed is None else replace(self, text=typed))

    def paste(self, text: str, size: ScreenSize) -> Stay | None:
        """See `Overlay`. What is too long to be meant for a line is not cut: it is none for this one."""
        if len(text) > MAX_LINE:
            return None
        return Stay(replace(self, text=self.text.typed(pasted_row(text, MAX_LINE))))


def confirmed(question: str, yes: Callable[[], OverlayStep], before: PickerOverlay) -> PickerOverlay:
    """A list of no and yes, for what cannot be taken back; no is chosen, and goes back to `before`."""
    rows = (PickerRow(label="no", value="no"), PickerRow(label="yes", value="yes"))
    chosen = partial(_confirmed, yes=yes, before=before)
    return replace(picker(question, rows, by="none"), chosen=chosen)


def _confirmed(
    overlay: PickerOverlay, row: PickerRow, *, yes: Callable[[], OverlayStep], before: PickerOverlay
) -> OverlayStep:
    return yes() if row.value == "yes" else Stay(before)


def _joined(
    left: tuple[ScreenLine, ...], right: tuple[ScreenLine, ...], columns: int, room: int
) -> list[ScreenLine]:
    """Two blocks of lines beside each other."""
    lines = []
    for place in range(min(max(len(left), len(right)), room)):
        first = left[place] if place < len(left) else ()
        second = right[place] if place < len(right) else ()
        gap = " " * (columns + 2 - line_cells(first)) if second else ""
        lines.append((*first, StyledText(gap), *second))
    return lines
