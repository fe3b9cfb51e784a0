"""A small terminal for what our painters send. It obeys nothing else: anything more is a fault of theirs."""

from __future__ import annotations

import re
from typing import NamedTuple

from wcwidth import wcwidth

from caliban_tui.width import cells, graphemes

_SEQUENCE = re.compile(
    r"\x1b\[(?P<mode>\?(?:2026|25|1049|7))(?P<set>[hl])"
    r"|\x1b\[(?P<count>[0-9]*)(?P<move>[ABCJKLM])"
    r"|\x1b\[(?P<sgr>[0-9;:]*)m"
    r"|(?P<home>\x1b\[H)"
    r"|(?P<keys>\x1b\[(?:>[0-9]+u|<u))"
    r"|\x1b\]8;;(?P<link>[!-~]*)\x1b\\"
    r"|(?P<image>\x1b7\x1b\[\d+A(?:\x1b_G[a-zA-Z0-9=,]*;[A-Za-z0-9+/=]*\x1b\\"
    r"|\x1b\]1337;File=[a-zA-Z0-9=;]*:[A-Za-z0-9+/=]*\x07|\x1bP0;1;0q[!-~]*\x1b\\)+\x1b8)"
    r"|(?P<control>[\r\n\x08])"
    r"|(?P<text>[^\x00-\x1f\x7f]+)"
)


_HIDDEN = re.compile("[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""C1 and what turns text round."""


class Refused(Exception):
    """Bytes that no painter may send."""


class Cell(NamedTuple):
    """What stands in a cell; the second one of a wide character is empty."""

    text: str = " "
    look: str = ""
    link: str = ""


BLANK = Cell()


class Row:
    """The cells of a row as far as they were written, and whether the text goes on in the next one."""

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.wraps = False

    @property
    def text(self) -> str:
        """Its words, without blanks at the end."""
        return "".join(cell.text for cell in self.cells).rstrip()

    @property
    def shown(self) -> tuple[Cell, ...]:
        """Its cells, without blanks at the end that look like nothing."""
        cells = list(self.cells)
        while cells and cells[-1].text == " " and cells[-1].look == cells[-1].link == "":
            cells.pop()
        return tuple(cells)


class Emulator:
    """A screen, what has left it at the top (`gone`), and the cursor. `joins` says that graphemes are known:
    else each character has cells of its own. `reflows` is what a narrower screen does to long lines."""

    def __init__(self, columns: int, rows: int, *, joins: bool = True, reflows: bool = True) -> None:
        self.columns, self.rows = columns, rows
        self.joins, self.reflows = joins, reflows
        self.gone: list[Row] = []
        self.screen = [Row() for _ in range(rows)]
        self.y = self.x = 0
        self.behind = False
        self.is_hidden = False
        self.wraps = True
        self.look = self.link = ""
        self.images = 0
        self.highest: int | None = None
        self._main: tuple[list[Row], int, int] | None = None

    @property
    def is_alternate(self) -> bool:
        """Whether the other screen is shown."""
        return self._main is not None

    @property
    def top(self) -> int:
        """How many rows are above the screen."""
        return len(self.gone)

    @property
    def all(self) -> list[Row]:
        """Every row, without empty ones at the end."""
        rows = [*self.gone, *self.screen]
        while rows and not rows[-1].shown:
            rows.pop()
        return rows

    @property
    def lines(self) -> list[str]:
        """The lines as they were written, those that were wrapped in one."""
        lines, line = [], ""
        for row in self.all:
            line += "".join(cell.text for cell in row.cells) if row.wraps else row.text
            if not row.wraps:
                lines.append(line.rstrip())
                line = ""
        return [*lines, line.rstrip()] if line else lines

    def touched(self) -> int | None:
        """The highest row, counted from the first that there ever was, that changed since the last call."""
        highest, self.highest = self.highest, None
        return highest

    def feed(self, data: bytes) -> None:
        """Obey. Raises `Refused`."""
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            raise Refused(f"no UTF-8: {error}") from error
        place = 0
        while place < len(text):
            match = _SEQUENCE.match(text, place)
            if match is None:
                raise Refused(f"{text[place : place + 40]!r}")
            self._obey(match)
            place = match.end()

    def resize(self, columns: int, rows: int) -> None:
        """Another size: what is seen moves up where there are fewer rows, and lines are wrapped anew."""
        if self._main is not None:
            self.screen = [Row() for _ in range(rows)]
            main, y, x = self._main
            other = Emulator(self.columns, self.rows, joins=self.joins, reflows=self.reflows)
            other.gone, other.screen, other.y, other.x = self.gone, main, y, x
            other.resize(columns, rows)
            self.gone, self._main = other.gone, (other.screen, other.y, other.x)
            self.y, self.x = min(self.y, rows - 1), min(self.x, columns - 1)
        elif self.reflows and columns != self.columns:
            self._reflow(columns, rows)
        else:
            for row in self.screen:
                del row.cells[columns:]
            self.x = min(self.x, columns - 1)
            self._keep(self.screen, self.y, rows)
        self.columns, self.rows, self.behind = columns, rows, False

    def _keep(self, rows: list[Row], y: int, count: int) -> None:
        """Show so many rows, the cursor among them; first those below it that are empty go."""
        while len(rows) > count and len(rows) - 1 > y and not rows[-1].cells:
            rows.pop()
        gone = max(len(rows) - count, 0)
        self.gone += rows[:gone]
        rows = rows[gone:]
        self.y = max(y - gone, 0)
        self.screen = [*rows, *(Row() for _ in range(count - len(rows)))]

    def _reflow(self, columns: int, rows: int) -> None:
        made: list[Row] = []
        place = 0
        start = 0
        while start < len(self.screen):
            end = start
            while self.screen[end].wraps and end + 1 < len(self.screen):
                end += 1
            line: list[Cell] = []
            at = None
            for number in range(start, end + 1):
                if number == self.y:
                    at = len(line) + self.x
                line += self.screen[number].cells
            first = len(made)
            where = self._laid(line, columns, made, at)
            if where is not None:
                place, self.x = first + where[0], where[1]
            start = end + 1
        self._keep(made, place, rows)

    @staticmethod
    def _laid(cells: list[Cell], columns: int, made: list[Row], at: int | None) -> tuple[int, int] | None:
        row, first, where = Row(), len(made), None
        made.append(row)
        place = 0
        while place < len(cells):
            size = 2 if place + 1 < len(cells) and cells[place + 1].text == "" else 1
            if len(row.cells) + size > columns and row.cells:
                row.wraps = True
                row = Row()
                made.append(row)
            if at is not None and place <= at < place + size:
                where = (len(made) - 1 - first, len(row.cells) + at - place)
            row.cells += cells[place : place + size]
            place += size
        if at is not None and where is None:
            column = len(row.cells) + at - len(cells)
            where = (len(made) - 1 - first + column // columns, column % columns)
            made += [Row() for _ in range(column // columns)]
        return where

    def _obey(self, match: re.Match[str]) -> None:
        kind = match.lastgroup
        if kind == "text":
            self._write(match[0])
        elif kind == "control":
            self._control(match[0])
        elif kind == "set":
            self._mode(match["mode"], match["set"] == "h")
        elif kind == "sgr":
            self._style(match["sgr"])
        elif kind == "link":
            self.link = match["link"]
        elif kind == "home":
            self._go(0, 0)
        elif kind == "image":
            self.images += 1
        elif kind == "move":
            self._move(match["move"], int(match["count"] or 0))

    def _style(self, parameters: str) -> None:
        if parameters in ("", "0"):
            self.look = ""
        elif parameters.startswith("0;"):
            self.look = parameters[2:]
        else:
            self.look = f"{self.look};{parameters}" if self.look else parameters

    def _control(self, sign: str) -> None:
        if sign == "\n":
            self.screen[self.y].wraps = False
            self._down()
        elif sign == "\r":
            self.x = 0
        else:
            self.x = max(self.x - 1, 0)
        self.behind = False

    def _mode(self, mode: str, on: bool) -> None:
        if mode == "?25":
            self.is_hidden = not on
        elif mode == "?7":
            self.wraps = on
        elif mode == "?1049" and on and self._main is None:
            self._main = (self.screen, self.y, self.x)
            self.screen = [Row() for _ in range(self.rows)]
        elif mode == "?1049" and not on and self._main is not None:
            (self.screen, self.y, self.x), self._main = self._main, None
        self.behind = False

    def _move(self, move: str, count: int) -> None:
        many = max(count, 1)
        if move == "A":
            self._go(max(self.y - many, 0), self.x)
        elif move == "B":
            self._go(min(self.y + many, self.rows - 1), self.x)
        elif move == "C":
            self._go(self.y, min(self.x + many, self.columns - 1))
        elif move == "J":
            if count:
                raise Refused(f"CSI {count} J")
            self._erase(self.y, self.x)
            for row in range(self.y + 1, self.rows):
                self._erase(row, 0)
        elif move == "K":
            if count:
                raise Refused(f"CSI {count} K")
            self._erase(self.y, self.x)
        elif move == "L":
            self._mark(self.y)
            self.screen[self.y : self.y] = [Row() for _ in range(min(many, self.rows - self.y))]
            for row in self.screen[self.rows :]:
                if row.shown:
                    raise Refused("a line was pushed off the bottom")
            del self.screen[self.rows :]
            self.x, self.behind = 0, False
        else:
            self._mark(self.y)
            del self.screen[self.y : self.y + many]
            self.screen += [Row() for _ in range(self.rows - len(self.screen))]
            self.x, self.behind = 0, False

    def _go(self, y: int, x: int) -> None:
        self.y, self.x, self.behind = y, x, False

    def _mark(self, row: int) -> None:
        place = row + self.top
        if self._main is None and (self.highest is None or place < self.highest):
            self.highest = place

    def _down(self) -> None:
        if self.y + 1 < self.rows:
            self.y += 1
            return
        if self._main is None:
            self.gone.append(self.screen[0])
        del self.screen[0]
        self.screen.append(Row())

    def _erase(self, y: int, x: int) -> None:
        row = self.screen[y]
        if row.cells or row.wraps:
            self._mark(y)
        self._split(row, x)
        del row.cells[x:]
        row.wraps = False
        if x == 0 and y + self.top:  # what went on here does so no more
            (self.screen[y - 1] if y else self.gone[-1]).wraps = False

    @staticmethod
    def _split(row: Row, x: int) -> None:
        """A wide character one of whose cells is written over is gone."""
        if 0 < x < len(row.cells) and row.cells[x].text == "":
            row.cells[x - 1] = row.cells[x] = BLANK

    def _write(self, text: str) -> None:
        if _HIDDEN.search(text):
            raise Refused(f"hidden characters: {text!r}")
        if not self.joins:
            for char in text:
                self._put(char, max(wcwidth(char), 0))
            return
        for grapheme in graphemes(text):
            self._put(grapheme, cells(grapheme))

    def _put(self, text: str, size: int) -> None:
        if size == 0:
            self._join(text)
            return
        size = min(size, self.columns)
        if self.behind or self.x + size > self.columns:
            if self.wraps:
                self.screen[self.y].wraps = True
                self._down()
                self.x = 0
            else:
                self.x = self.columns - size
            self.behind = False
        row = self.screen[self.y]
        self._mark(self.y)
        row.cells += [BLANK] * (self.x - len(row.cells))
        self._split(row, self.x)
        if self.x + size < len(row.cells):
            self._split(row, self.x + size)
        look, link = self.look, self.link
        row.cells[self.x : self.x + size] = [Cell(text, look, link), *[Cell("", look, link)] * (size - 1)]
        self.x += size
        if self.x >= self.columns:
            self.x, self.behind = self.columns - 1, True

    def _join(self, text: str) -> None:
        """What takes no cell joins the character before it."""
        place = self.x if self.behind else self.x - 1
        row = self.screen[self.y]
        while 0 < place < len(row.cells) and row.cells[place].text == "":
            place -= 1
        if 0 <= place < len(row.cells):
            cell = row.cells[place]
            row.cells[place] = cell._replace(text=cell.text + text)
            self._mark(self.y)
