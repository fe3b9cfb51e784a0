"""The cells of an emulated terminal as SVG: text that can be read, searched and diffed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from itertools import groupby
from types import MappingProxyType
from typing import Any, NamedTuple

CELL_WIDTH, CELL_HEIGHT, FONT_SIZE = 8.4, 18, 14
MARGIN = 14
COLOURS: Mapping[str, str] = MappingProxyType(
    {
        "black": "#000000",
        "red": "#cd3131",
        "green": "#0dbc79",
        "brown": "#c5a332",
        "blue": "#4a8ade",
        "magenta": "#bc6fbc",
        "cyan": "#11a8cd",
        "white": "#e5e5e5",
    }
)
"""What pyte calls the first eight colours."""


class Paper(NamedTuple):
    """The colours of a terminal that nobody asked for others."""

    ground: str
    ink: str


DARK = Paper("#1e1e1e", "#d4d4d4")
LIGHT = Paper("#ffffff", "#24292e")


class CellStyle(NamedTuple):
    """How a run of cells looks: colours, and attributes of the text."""

    ink: str
    ground: str
    attributes: str


def drawn(screen: Any, title: str, paper: Paper) -> str:
    """The screen of a `pyte.Screen`, down to its last row that has anything."""
    rows = screen.lines
    while rows > 1 and not screen.display[rows - 1].strip():
        rows -= 1
    width, height = screen.columns * CELL_WIDTH + 2 * MARGIN, rows * CELL_HEIGHT + 2 * MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.1f} {height}" role="img"'
        f' font-family="ui-monospace, Menlo, Consolas, monospace" font-size="{FONT_SIZE}">',
        f"<title>{escape(title)}</title>",
        f'<rect width="100%" height="100%" rx="8" fill="{paper.ground}"/>',
    ]
    for number in range(rows):
        lines += _row(screen, number, paper)
    cursor = screen.cursor
    if not cursor.hidden and cursor.y < rows:
        place = f'x="{MARGIN + cursor.x * CELL_WIDTH:.1f}" y="{MARGIN + cursor.y * CELL_HEIGHT}"'
        lines.append(f'<rect {place} width="2" height="{CELL_HEIGHT}" fill="{paper.ink}"/>')
    return "\n".join([*lines, "</svg>", ""])


def _row(screen: Any, number: int, paper: Paper) -> Iterator[str]:
    row = screen.buffer[number]
    cells = [(column, row[column]) for column in range(screen.columns)]
    y = MARGIN + number * CELL_HEIGHT
    for style, group in groupby(cells, key=lambda cell: _style(cell[1], paper)):
        run = list(group)
        text = "".join(cell.data for _, cell in run)
        x, width = MARGIN + run[0][0] * CELL_WIDTH, len(run) * CELL_WIDTH
        if style.ground != paper.ground:
            place = f'x="{x:.1f}" y="{y}" width="{width:.1f}" height="{CELL_HEIGHT}"'
            yield f'<rect {place} fill="{style.ground}"/>'
        if text.strip():
            shown = text.rstrip()
            length = f'textLength="{len(shown) * CELL_WIDTH:.1f}" lengthAdjust="spacing"'
            yield (
                f'<text x="{x:.1f}" y="{y + FONT_SIZE}" fill="{style.ink}"{style.attributes} {length}'
                f' xml:space="preserve">{escape(shown)}</text>'
            )


def _style(cell: Any, paper: Paper) -> CellStyle:
    ink = paper.ink if cell.fg == "default" else _colour(cell.fg)
    ground = paper.ground if cell.bg == "default" else _colour(cell.bg)
    if cell.reverse:
        ink, ground = ground, ink
    attributes = ' font-weight="bold"' if cell.bold else ""
    attributes += ' font-style="italic"' if cell.italics else ""
    attributes += ' text-decoration="underline"' if cell.underscore else ""
    return CellStyle(ink, ground, attributes)


def _colour(name: str) -> str:
    return COLOURS.get(name.removeprefix("bright"), f"#{name}" if len(name) == 6 else "#808080")
