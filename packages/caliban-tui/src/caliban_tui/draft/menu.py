"""A menu below the draft: what could be taken, and which of it is chosen."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from caliban_tui.clean import neutral
from caliban_tui.line import ScreenLine, StyledText, plain
from caliban_tui.width import cells, cut

MENU_ROWS: Final = 8


class MenuRow(Struct, frozen=True, kw_only=True):
    """One row; a `heading` stands above it."""

    label: str
    detail: str = ""
    heading: str = ""


class MenuView(Struct, frozen=True, kw_only=True):
    """The rows that are shown, which of them is `selected` (-1: none), and how many more there are.

    `title` is a line above them, `hint` one below.
    """

    rows: tuple[MenuRow, ...] = ()
    selected: int = -1
    more: int = 0
    title: str = ""
    hint: str = ""


def menu_lines(menu: MenuView, columns: int, max_rows: int = 2 * MENU_ROWS) -> list[ScreenLine]:
    """The menu as it is drawn, in at most `max_rows` lines; the chosen row is among them."""
    lines: list[ScreenLine] = []
    chosen = 0
    width = min(max((cells(_shown(row.label)) for row in menu.rows), default=0), max(columns // 2, 12))
    if menu.title:
        lines.append(cut(plain(_shown(menu.title), "dim"), columns))
    for number, row in enumerate(menu.rows):
        if row.heading:
            lines.append(cut(plain(_shown(row.heading), "dim"), columns))
        if number == menu.selected:
            chosen = len(lines)
        lines.append(_row(row, number == menu.selected, width, columns))
    below = " · ".join(filter(None, (f"{menu.more:,} more" if menu.more else "", _shown(menu.hint))))
    if below:
        lines.append(cut(plain(f"  {below}", "dim"), columns))
    top = min(max(chosen - max_rows + 1, 0), max(len(lines) - max_rows, 0))
    return lines[top : top + max(max_rows, 1)]


def _row(row: MenuRow, is_selected: bool, width: int, columns: int) -> ScreenLine:
    label = _shown(row.label)
    mark = "› " if is_selected else "  "
    detail = _shown(row.detail)
    room = columns - cells(mark) - width - 2
    line = [StyledText(mark, "selected" if is_selected else ""), *_label(label, is_selected)]
    if detail and room >= 8:
        gap = " " * max(width - cells(label) + 2, 2)
        line += [StyledText(gap), StyledText(detail, "dim")]
    return cut(tuple(line), columns)


def _label(label: str, is_selected: bool) -> list[StyledText]:
    return [StyledText(label, "selected" if is_selected else "")]


def _shown(text: str) -> str:
    return " ".join(neutral(text).split())
